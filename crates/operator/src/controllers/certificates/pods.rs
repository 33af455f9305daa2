//! The control plane's static pods. The kubelet starts one anew when its manifest changes, so a manifest says with which
//! certificates its pod was started.

use std::collections::BTreeSet;
use std::io;

use serde_json::{Value, json};
use slipway_config::yaml::{from_yaml, to_yaml};

use crate::agents::node::machine_files::MANIFESTS;
use crate::runtime::host::Files;

/// All that read a certificate of kubeadm's. Some read it again by themselves, and some do not.
const PODS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
/// Until when the certificates are good that a pod was started with.
const ANNOTATION: &str = "slipway.dev/certificates-until";
/// The kubelet has a folder for each pod here, with the id of the pod in its name; a changed manifest is another pod.
const LOGS: &str = "/var/log/pods";

/// Pods of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pods {
    pub all: Vec<&'static str>,
    /// Those whose manifests have just changed.
    pub changed: Vec<&'static str>,
}

/// Has the pods started anew, unless they say that they were started with these certificates.
pub fn restart(files: &Files, until: &str) -> io::Result<Pods> {
    let mut pods = Pods::default();
    for pod in PODS {
        let path = format!("{MANIFESTS}/{pod}.yaml");
        let Some(text) = files.read_if_there(&path)? else { continue };
        let broken =
            || io::Error::new(io::ErrorKind::InvalidData, format!("`{path}` is not a manifest of a pod"));
        let mut manifest: Value = from_yaml(&text).map_err(|_| broken())?;
        let metadata = manifest.get_mut("metadata").and_then(Value::as_object_mut).ok_or_else(broken)?;
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        let annotations = annotations.as_object_mut().ok_or_else(broken)?;
        pods.all.push(pod);
        if annotations.insert(ANNOTATION.to_owned(), json!(until)) == Some(json!(until)) {
            continue;
        }
        files.write(&path, 0o600, &to_yaml(&manifest))?;
        pods.changed.push(pod);
    }
    Ok(pods)
}

/// The pods that the kubelet of a node has had for one of ours.
pub fn seen(files: &Files, pod: &str, node: &str) -> io::Result<BTreeSet<String>> {
    let prefix = format!("kube-system_{pod}-{node}_");
    Ok(files.list(LOGS)?.into_iter().filter(|name| name.starts_with(&prefix)).collect())
}

/// The same for all of them.
pub fn all_seen(files: &Files, node: &str) -> io::Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for pod in PODS {
        all.extend(seen(files, pod, node)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{all_seen, restart};
    use crate::runtime::host::Files;

    #[test]
    fn a_pod_is_started_anew_once_for_each_renewal() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        let manifest = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: etcd\nspec:\n  containers:\n  - {name: etcd, image: etcd}\n";
        let path = "/etc/kubernetes/manifests/etcd.yaml";
        files.write(path, 0o600, manifest).unwrap();
        assert_eq!(restart(&files, "2027-11-17T12:00:00Z").unwrap().changed, ["etcd"]);
        let text = files.read(path).unwrap();
        assert!(text.contains("slipway.dev/certificates-until: \"2027-11-17T12:00:00Z\""), "{text}");
        assert!(text.contains("image: etcd"), "{text}");
        let again = restart(&files, "2027-11-17T12:00:00Z").unwrap();
        assert_eq!((again.all, again.changed), (vec!["etcd"], vec![]), "after a power cut");
        assert_eq!(restart(&files, "2028-08-17T12:00:00Z").unwrap().changed, ["etcd"]);
        files.write(path, 0o600, "garbage").unwrap();
        restart(&files, "2029-08-17T12:00:00Z").unwrap_err();
        for pod in ["kube-system_etcd-a_1", "kube-system_etcd-ab_2", "default_etcd-a_3"] {
            files.write(format!("/var/log/pods/{pod}/0.log"), 0o600, "").unwrap();
        }
        assert_eq!(all_seen(&files, "a").unwrap(), ["kube-system_etcd-a_1".to_owned()].into());
    }
}
