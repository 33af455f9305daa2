//! What is said when another server answers in place of the API, or the clocks disagree: servers that really speak TLS,
//! by openssl.

mod openshift;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use slipway_config::install_config::PayloadType;
use slipway_testkit::network::free_port;
use slipway_testkit::pki::Authority;
use slipway_testkit::process::eventually;

use super::{WaitTarget, bootstrap};

/// A process that ends with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &Path, port: u16) -> Server {
    let mut command = Command::new("openssl");
    command.args(["s_server", "-quiet", "-www", "-cert", "tls.crt", "-key", "tls.key", "-accept"]);
    command.arg(format!("127.0.0.1:{port}")).current_dir(folder);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = Server(child.expect("openssl runs"));
    let listens = || Ok(TcpStream::connect(("127.0.0.1", port)).ok());
    eventually("openssl listens", Duration::from_secs(20), listens).unwrap();
    server
}

/// A clock that is two days off sees what a certificate of other days shows.
#[rstest]
#[case::another_cluster(false, [1975, 4096], "127.0.0.1", "was not signed by this cluster")]
#[case::a_clock_behind(true, [4000, 4096], "127.0.0.1", "is not valid yet by this machine's clock")]
#[case::expired(true, [1975, 1976], "127.0.0.1", "has expired by this machine's clock")]
#[case::another_name(true, [1975, 4096], "127.0.0.2", "is for another name")]
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_wrong_is_said_to_be(
    #[case] ours: bool,
    #[case] years: [i32; 2],
    #[case] address: &str,
    #[case] says: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let (own, other) = (Authority::new("kubernetes").unwrap(), Authority::new("kubernetes").unwrap());
    let signer = if ours { &own } else { &other };
    let identity = signer.issue_within("kube-apiserver", None, &[address], years).unwrap();
    write("tls.crt", &identity.certificate);
    write("tls.key", &identity.key);
    let port = free_port().unwrap();
    let authority = STANDARD.encode(own.certificate());
    write(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:{port}', \
             certificate-authority-data: {authority}}}}}]\nusers: []\n\
             contexts: [{{name: a, context: {{cluster: a, user: ''}}}}]\ncurrent-context: a\n"
        ),
    );
    let kubeconfig = folder.path().join("kubeconfig");
    let subject = WaitTarget::of_kubeconfig(&kubeconfig, PayloadType::OpenShift, 3);
    let nobody = BTreeMap::new();
    let before = bootstrap::look(&subject, &nobody).await;
    assert!(before.api.as_ref().is_err_and(|why| why.contains("nothing listens at")), "{:?}", before.api);
    let _server = tokio::task::block_in_place(|| serve(folder.path(), port));
    let seen = bootstrap::look(&subject, &nobody).await;
    let view = bootstrap::judge(&seen, &subject);
    assert!(view.cause.as_ref().is_some_and(|cause| cause.contains(says)), "{:?}", view.cause);
    assert!(view.waiting[0].starts_with("the API ("), "{:?}", view.waiting);
}
