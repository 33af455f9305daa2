//! Scripts of the machines, run with programs that note how they are called.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use tempfile::TempDir;

use super::machines::{folder, write};

const IMAGE: &str = "registry.example.com/slipway:v1";

/// A machine as far as a script sees it: its files, and programs that write down arguments and what they know.
struct Stage(TempDir);

impl Stage {
    fn new(programs: &[(&str, &str)]) -> Self {
        let stage = Stage(tempfile::tempdir().unwrap());
        for name in ["bash", "grep", "install", "mkdir", "mv", "rm", "sed", "sync", "timeout", "touch", "tr"]
        {
            let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
            let real = real.iter().find(|path| path.exists()).unwrap();
            fs_err::create_dir_all(stage.at("bin")).unwrap();
            symlink(real, stage.at("bin").join(name)).unwrap();
        }
        for (name, text) in programs {
            let text =
                format!("#!/usr/bin/bash\necho \"{name} $*\" >> {}\n{text}\n", stage.at("said").display());
            write(stage.0.path(), &format!("bin/{name}"), &text, 0o755);
        }
        // Scripts that others call.
        let member = stage.placed("slipway-member.sh");
        write(stage.0.path(), "bin/slipway-member.sh", &member.replace("/usr/bin/env ", "/usr/bin/"), 0o755);
        stage
    }

    /// A script whose places are on this stage.
    fn placed(&self, script: &str) -> String {
        let mut text = fs_err::read_to_string(folder(&format!("bin/{script}"))).unwrap();
        // Sockets keep their places.
        for place in ["/opt/slipway", "/run/slipway", "/etc/slipway", "/etc/kubernetes", "/var/lib"] {
            text = text.replace(place, &format!("{}{place}", self.0.path().display()));
        }
        text
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, script: &str) -> Output {
        let text = self.placed(script);
        let mut command = Command::new("/usr/bin/bash");
        command.args(["-c", &text]).env_clear().env("PATH", self.at("bin")).env("SLIPWAY_IMAGE", IMAGE);
        command.output().unwrap()
    }

    fn said(&self) -> String {
        fs_err::read_to_string(self.at("said")).unwrap_or_default()
    }
}

const CTR: &str = "for last; do :; done\n\
    if [[ $* == *' mount '* ]]; then mkdir --parents \"$last/usr/bin\"; touch \"$last/usr/bin/slipway-operator\"; fi";
const CRICTL: &str = "echo \"knows $CRICTL_AUTH\" >> \"${0%/bin/*}/known\"";

#[rstest]
#[case::no_login(None, true, "ctr --namespace k8s.io images pull", None)]
#[case::login(Some("cm9ib3Q="), true, "crictl --image-endpoint", Some("knows cm9ib3Q=\n"))]
#[case::no_crictl(Some("cm9ib3Q="), false, "ctr --namespace k8s.io images pull", None)]
fn the_image_is_fetched_with_its_login(
    #[case] login: Option<&str>,
    #[case] has_crictl: bool,
    #[case] called: &str,
    #[case] known: Option<&str>,
) {
    let programs = [("ctr", CTR), ("crictl", CRICTL)];
    let stage = Stage::new(&programs[..=usize::from(has_crictl)]);
    if let Some(login) = login {
        write(stage.0.path(), "etc/slipway/image-login", login, 0o600);
    }
    let output = stage.run("slipway-agent.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = stage.said();
    let fetched: Vec<&str> = said.lines().filter(|line| line.contains(" pull ")).collect();
    assert!(matches!(fetched[..], [one] if one.starts_with(called) && one.ends_with(IMAGE)), "{said}");
    assert!(!said.contains("cm9ib3Q="), "every user can read arguments:\n{said}");
    assert_eq!(fs_err::read_to_string(stage.at("known")).ok().as_deref(), known);
    assert!(stage.at("opt/slipway/bin/slipway-operator").exists());
    // Once more: nothing is asked for again.
    assert!(stage.run("slipway-agent.sh").status.success());
    assert_eq!(stage.said(), said);
}

#[test]
fn an_image_that_cannot_be_fetched_says_what_is_missing() {
    let stage = Stage::new(&[("ctr", "if [[ $* == *' pull '* ]]; then exit 1; fi")]);
    write(stage.0.path(), "etc/slipway/image-login", "cm9ib3Q=", 0o600);
    let output = stage.run("slipway-agent.sh");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("which needs crictl"), "{said}");
}

#[test]
fn a_machine_joins_with_its_name_and_token() {
    let kubeadm = "for last; do :; done\ncp=$(< \"$last\"); echo \"$cp\" > \"${0%/bin/*}/config\"";
    let stage = Stage::new(&[("hostname", "echo Harbour-0"), ("kubeadm", kubeadm)]);
    let join = "name: slipway-machine-name\ntlsBootstrapToken: \"000000.0000000000000000\"\nother: slipway-machine-name\n";
    write(stage.0.path(), "etc/slipway/kubeadm-join.yaml", join, 0o600);
    write(stage.0.path(), "etc/slipway/bootstrap-token", "abcdef.0123456789abcdef\n", 0o600);
    let output = stage.run("slipway-join.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = fs_err::read_to_string(stage.at("config")).unwrap();
    assert_eq!(config, "name: harbour-0\ntlsBootstrapToken: \"abcdef.0123456789abcdef\"\nother: harbour-0\n");
    assert!(!stage.said().contains("abcdef"), "every user can read arguments:\n{}", stage.said());
    for secret in
        ["etc/slipway/kubeadm-join.yaml", "etc/slipway/bootstrap-token", "run/slipway/kubeadm-join.yaml"]
    {
        assert!(!stage.at(secret).exists(), "{secret} has done its work");
    }
    assert!(stage.at("var/lib/slipway/joined").exists());
}

/// The approver knows a machine by the key it came with first: one that was cut off comes again with the same.
#[rstest]
#[case::asking("kubelet-client.key.tmp", "")]
#[case::let_in(
    "kubelet-client-current.pem",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
)]
fn a_machine_that_was_cut_off_keeps_its_key(#[case] file: &str, #[case] certificate: &str) {
    const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n";
    let kubeadm = "top=${0%/bin/*}\n\
        if [[ $1 == reset ]]; then rm --recursive --force \"$top/var/lib/kubelet\" \"$top/etc/kubernetes\"; exit; fi\n\
        [[ -e $top/stays-on ]]";
    let stage = Stage::new(&[("hostname", "echo harbour-0"), ("kubeadm", kubeadm)]);
    write(stage.0.path(), "etc/slipway/kubeadm-join.yaml", "name: slipway-machine-name\n", 0o600);
    write(stage.0.path(), "etc/slipway/bootstrap-token", "abcdef.0123456789abcdef\n", 0o600);
    write(stage.0.path(), "etc/kubernetes/bootstrap-kubelet.conf", "", 0o600);
    write(stage.0.path(), &format!("var/lib/kubelet/pki/{file}"), &format!("{certificate}{KEY}"), 0o600);
    let kept = stage.at("var/lib/kubelet/pki/kubelet-client.key.tmp");
    // Cut off twice, the second time before the kubelet was there.
    for _ in 0..2 {
        assert!(!stage.run("slipway-join.sh").status.success());
        assert_eq!(fs_err::read_to_string(&kept).unwrap(), KEY);
        fs_err::remove_dir_all(stage.at("var/lib/kubelet")).unwrap();
        write(stage.0.path(), "etc/kubernetes/bootstrap-kubelet.conf", "", 0o600);
    }
    write(stage.0.path(), "stays-on", "", 0o600);
    let output = stage.run("slipway-join.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs_err::read_to_string(&kept).unwrap(), KEY);
    assert!(!stage.at("var/lib/slipway/first-key").exists(), "it has done its work");
}

/// The power went between joining and the mark: a member of etcd that works is not reset, and one that does not is.
#[rstest]
#[case::works(true)]
#[case::does_not(false)]
fn a_control_plane_that_works_is_not_reset(#[case] works: bool) {
    let kubeadm = "top=${0%/bin/*}\n\
        if [[ $1 == reset ]]; then rm --recursive --force \"$top/etc/kubernetes\"; fi\n\
        if [[ $1 == token ]]; then echo \"$(< \"$top/run/slipway/own.kubeconfig\")\" >> \"$top/asked\"; [[ -e $top/works ]]; fi";
    let stage = Stage::new(&[("hostname", "echo harbour-0"), ("kubeadm", kubeadm), ("sleep", "")]);
    write(
        stage.0.path(),
        "etc/slipway/kubeadm-join.yaml",
        "name: slipway-machine-name\ncontrolPlane:\n",
        0o600,
    );
    write(stage.0.path(), "etc/slipway/bootstrap-token", "abcdef.0123456789abcdef\n", 0o600);
    write(stage.0.path(), "etc/kubernetes/admin.conf", "    server: https://api-int.a:6443\n", 0o600);
    for file in ["kubelet.conf", "manifests/etcd.yaml"] {
        write(stage.0.path(), &format!("etc/kubernetes/{file}"), "", 0o600);
    }
    if works {
        write(stage.0.path(), "works", "", 0o600);
    }
    let output = stage.run("slipway-join.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = stage.said();
    assert_eq!(said.contains("kubeadm reset --force"), !works, "{said}");
    assert_eq!(said.contains("kubeadm join --config"), !works, "{said}");
    assert_eq!(
        said.contains("kubeadm join phase control-plane-join mark-control-plane --config"),
        works,
        "{said}"
    );
    let asked = fs_err::read_to_string(stage.at("asked")).unwrap();
    assert!(asked.starts_with("    server: https://127.0.0.1:6443\n"), "its own API server: {asked}");
    assert!(stage.at("var/lib/slipway/joined").exists());
    assert!(!stage.at("run/slipway/own.kubeconfig").exists());
}

/// The same for a compute machine: once its kubelet was let in it needs no token, which may have ended meanwhile.
#[rstest]
#[case::let_in(false)]
#[case::asking(true)]
fn a_compute_machine_that_was_let_in_is_not_reset(#[case] asking: bool) {
    let kubeadm =
        "top=${0%/bin/*}\nif [[ $1 == reset ]]; then rm --recursive --force \"$top/etc/kubernetes\"; fi";
    let stage = Stage::new(&[("hostname", "echo harbour-0"), ("kubeadm", kubeadm)]);
    write(stage.0.path(), "etc/slipway/kubeadm-join.yaml", "name: slipway-machine-name\n", 0o600);
    write(stage.0.path(), "etc/slipway/bootstrap-token", "abcdef.0123456789abcdef\n", 0o600);
    write(stage.0.path(), "etc/kubernetes/kubelet.conf", "", 0o600);
    if asking {
        write(stage.0.path(), "etc/kubernetes/bootstrap-kubelet.conf", "", 0o600);
    }
    let output = stage.run("slipway-join.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = stage.said();
    assert_eq!(said.contains("kubeadm reset --force"), asking, "{said}");
    assert_eq!(said.contains("kubeadm join --config"), asking, "{said}");
    assert!(stage.at("var/lib/slipway/joined").exists());
}
