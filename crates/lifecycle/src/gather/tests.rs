//! No secret gets out, and a cluster that never came up is no obstacle.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use slipway_config::install_config::PayloadType;

use super::{Bundle, has_cluster, of_cluster, of_directory};
use crate::create::Request;
use crate::environment::Environment;
use crate::wait::WaitTarget;
use slipway_assets::random::OsRandom;

const PASSWORD: &str = "hunter22-of-the-vcenter";
const CONFIG: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: harbour}
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpzd29yZGZpc2g="}}}'
proxy: {httpProxy: "http://pxuser:pr0xy%40Pw@127.0.0.1:3128"}
payload: {releaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"}
platform:
  vsphere:
    clusterOSImage: "https://osuser:0simgPw@h.example.com/x.ova?X-Amz-Signature=s1gnedUrl"
    apiVIPs: [10.0.0.10]
    ingressVIPs: [10.0.0.11]
    vcenters:
    - {server: vc.example.com, user: admin@vsphere.local, password: hunter22-of-the-vcenter, datacenters: [dc]}
    failureDomains:
    - name: one
      region: r
      zone: z
      server: vc.example.com
      topology: {datacenter: dc, computeCluster: /dc/host/c, networks: [net], datastore: /dc/datastore/d}
"#;

fn gathered(directory: &Path) -> Bundle {
    let request = Request {
        directory,
        force: false,
        now: Timestamp::now(),
        random: &OsRandom,
        environment: &Environment::of_process(),
        command: "slipway gather",
    };
    let mut bundle = Bundle::default();
    of_directory(&request, &mut bundle);
    bundle
}

#[tokio::test]
async fn secrets_stay_and_a_dead_cluster_is_said_to_be_dead() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("install-config.yaml", CONFIG);
    write(
        ".slipway/journal.jsonl",
        &format!(
            "{{\"failed\": \"login with {PASSWORD}, pr0xy@Pw, 0simgPw, Bearer abc123, abcdef.0123456789abcdef\"}}\n"
        ),
    );
    write("auth/kubeconfig", "client-key-data: c2VjcmV0\n");
    write(
        "cluster-api/machines/10_machine_a.yaml",
        &format!("kind: Machine\nmetadata: {{name: a-master-0, note: {PASSWORD}}}\n"),
    );
    write("cluster-api/01_vsphere-creds-0.yaml", &format!("stringData: {{password: {PASSWORD}}}\n"));
    let mut bundle = gathered(folder.path());
    let findings = slipway_config::install_config::load(CONFIG).report.findings;
    let unread = bundle.gaps().iter().find(|gap| gap.starts_with("install-config"));
    assert_eq!(unread, None, "{findings:?}");
    // No server listens there.
    let kubeconfig = folder.path().join("dead.kubeconfig");
    let server = "https://127.0.0.1:1";
    write(
        "dead.kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\nusers: []\n\
             contexts: [{{name: a, context: {{cluster: a, user: ''}}}}]\ncurrent-context: a\n"
        ),
    );
    let subject = WaitTarget::of_kubeconfig(&kubeconfig, PayloadType::Kubernetes, 3);
    of_cluster(&subject, &std::collections::BTreeMap::new(), &mut bundle).await;
    assert!(bundle.gaps().iter().any(|gap| gap.starts_with("the API: ")), "{:?}", bundle.gaps());

    let archive = folder.path().join("a.tar.gz");
    bundle.write(&archive, "a", Timestamp::now()).unwrap();
    assert!(bundle.write(&archive, "a", Timestamp::now()).is_err(), "what is there is not replaced");
    let mut all = String::new();
    let mut names = Vec::new();
    let mut tar = tar::Archive::new(GzDecoder::new(std::fs::File::open(&archive).unwrap()));
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        names.push(entry.path().unwrap().display().to_string());
        entry.read_to_string(&mut all).unwrap();
    }
    assert!(names.contains(&"a/directory/journal.jsonl".to_owned()), "{names:?}");
    assert!(names.contains(&"a/directory/install-config.json".to_owned()), "{names:?}");
    assert!(names.contains(&"a/directory/cluster-api/machines/10_machine_a.json".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("creds")), "{names:?}");
    assert!(all.contains("a-master-0"), "{all}");
    assert!(all.contains("vc.example.com"), "what is not a secret is there: {all}");
    assert!(all.contains("What could not be had:\n"), "{all}");
    assert!(all.contains("<removed>"));
    for secret in [
        PASSWORD,
        "swordfish",
        "dXNlcjpzd29yZGZpc2g",
        "abc123",
        "0123456789abcdef",
        "c2VjcmV0",
        "pr0xy",
        "0simg",
        "s1gned",
        "pxuser",
        "osuser",
    ] {
        assert!(!all.contains(secret), "{secret} got out: {all}");
    }
}

/// The password of the vCenter is nowhere to be had; what else is secret in the install-config is known all the same.
#[test]
fn without_credentials_the_secrets_of_urls_stay() {
    let folder = tempfile::tempdir().unwrap();
    let config = CONFIG.replace(&format!("password: {PASSWORD}"), "passwordEnv: SLIPWAY_TEST_NOT_SET");
    std::fs::write(folder.path().join("install-config.yaml"), config).unwrap();
    std::fs::create_dir(folder.path().join(".slipway")).unwrap();
    let log = "CONNECT with pr0xy@Pw was refused; 0simgPw and s1gnedUrl too, by the proxy\n";
    std::fs::write(folder.path().join(".slipway/slipway.log"), log).unwrap();
    let bundle = gathered(folder.path());
    assert!(bundle.gaps().iter().any(|gap| gap.starts_with("install-config")), "{:?}", bundle.gaps());
    let found = bundle.files().find(|(path, _)| *path == "directory/slipway.log");
    let (_, text) = found.expect("the log");
    let text = String::from_utf8_lossy(text);
    assert!(text.contains("by the proxy"), "{text}");
    for secret in ["pr0xy", "0simg", "s1gned"] {
        assert!(!text.contains(secret), "{secret} got out: {text}");
    }
}

#[test]
fn a_directory_without_a_cluster_is_known() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert!(!has_cluster(folder.path()));
    std::fs::write(folder.path().join("install-config.yaml"), "").unwrap();
    assert!(has_cluster(folder.path()));
}

/// Which files say what machines are like is the platform's to say; beside them are Secrets.
#[test]
fn machines_of_other_platforms_are_gathered_from_their_files() {
    for platform in ["ovirt", "kubevirt"] {
        let folder = tempfile::tempdir().unwrap();
        let example = format!("{}/../../examples/{platform}.yaml", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(example, folder.path().join("install-config.yaml")).unwrap();
        std::fs::create_dir(folder.path().join("openshift")).unwrap();
        for name in ["master-machines-0", "master-user-data-secret"] {
            let path = folder.path().join(format!("openshift/99_openshift-cluster-api_{name}.yaml"));
            std::fs::write(path, "kind: Machine\n").unwrap();
        }
        let bundle = gathered(folder.path());
        let files: Vec<&str> =
            bundle.files().map(|(path, _)| path).filter(|path| path.contains("openshift/")).collect();
        assert_eq!(
            files,
            ["directory/openshift/99_openshift-cluster-api_master-machines-0.json"],
            "{platform}"
        );
        assert!(!bundle.gaps().iter().any(|gap| gap.contains("cluster-api/machines")), "{:?}", bundle.gaps());
    }
}
