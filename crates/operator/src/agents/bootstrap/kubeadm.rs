//! The first control plane, by kubeadm.

use std::time::Duration;

use crate::runtime::host::{Files, ProgramError, Programs};

/// kubeadm waits four minutes for an API server, and images may have to be fetched first.
const KUBEADM_TIMEOUT: Duration = Duration::from_mins(20);

/// What a run of kubeadm that was cut off leaves behind, and would complain about the next time. Everything in it is used
/// as it is: keys, certificates and the data of etcd stay.
const OWN_TRACES: &str = "DirAvailable--var-lib-etcd,\
    FileAvailable--etc-kubernetes-manifests-etcd.yaml,\
    FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml,\
    FileAvailable--etc-kubernetes-manifests-kube-controller-manager.yaml,\
    FileAvailable--etc-kubernetes-manifests-kube-scheduler.yaml,\
    Port-2379,Port-2380,Port-6443,Port-10250,Port-10257,Port-10259";

/// The administrator's access of this machine.
pub const ADMIN: &str = "/etc/kubernetes/admin.conf";
/// Further control-plane machines get the signers' keys from this Secret. kubeadm lets it live for two hours.
pub const CERTIFICATES_SECRET: &str = "kubeadm-certs";

/// Makes this machine the first of the control plane, or goes on where that was cut off.
pub async fn init(files: &Files, programs: &impl Programs, config: &str) -> Result<(), ProgramError> {
    let mut arguments = vec![
        "init",
        "--config",
        config,
        "--upload-certs",
        "--skip-token-print",
        "--skip-certificate-key-print",
    ];
    let ignored = format!("--ignore-preflight-errors={OWN_TRACES}");
    let traces = ["/etc/kubernetes/manifests/kube-apiserver.yaml", "/var/lib/etcd/member", ADMIN];
    if traces.iter().any(|path| files.exists(path)) {
        arguments.push(&ignored);
    }
    programs.run("kubeadm", &arguments, KUBEADM_TIMEOUT).await
}

/// Uploads the signers' keys again, encrypted with the same key.
pub async fn upload_certificates(programs: &impl Programs, config: &str) -> Result<(), ProgramError> {
    let arguments = [
        "init",
        "phase",
        "upload-certs",
        "--upload-certs",
        "--skip-certificate-key-print",
        "--config",
        config,
    ];
    programs.run("kubeadm", &arguments, KUBEADM_TIMEOUT).await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::init;
    use crate::runtime::host::{Files, ProgramError, Programs};

    /// Notes what is run, and leaves what kubeadm leaves.
    struct Toy<'a> {
        files: &'a Files,
        cut: bool,
        run: Mutex<Vec<String>>,
    }

    impl Programs for Toy<'static> {
        async fn run(&self, program: &str, arguments: &[&str], _: Duration) -> Result<(), ProgramError> {
            self.run.lock().unwrap().push(format!("{program} {}", arguments.join(" ")));
            self.files.write("/etc/kubernetes/manifests/kube-apiserver.yaml", 0o600, "kind: Pod").unwrap();
            if self.cut {
                return Err(ProgramError::Failed { program: program.to_owned(), said: "power".to_owned() });
            }
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_run_that_was_cut_off_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let files: &'static Files = Box::leak(Box::new(Files::below(folder.path())));
        let cut = Toy { files, cut: true, run: Mutex::default() };
        init(files, &cut, "/etc/slipway/kubeadm-init.yaml").await.unwrap_err();
        let again = Toy { files, cut: false, run: Mutex::default() };
        init(files, &again, "/etc/slipway/kubeadm-init.yaml").await.unwrap();
        let (first, second) = (cut.run.lock().unwrap()[0].clone(), again.run.lock().unwrap()[0].clone());
        assert_eq!(
            first,
            "kubeadm init --config /etc/slipway/kubeadm-init.yaml --upload-certs --skip-token-print \
             --skip-certificate-key-print"
        );
        assert!(second.starts_with(&first) && second.contains("DirAvailable--var-lib-etcd"), "{second}");
        assert!(!second.contains("all"), "only our own traces are overlooked");
    }
}
