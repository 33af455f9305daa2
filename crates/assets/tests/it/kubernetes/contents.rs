//! What is in the files.

use rstest::rstest;
use serde_json::Value;
use slipway_assets::kubernetes::{ClusterFacts, JOIN_FILE, JOIN_TOKEN_FILE, machine_config};
use slipway_assets::names::Role;
use slipway_assets::pki::bootstrap_token;
use slipway_assets::{Error, Tree};
use slipway_config::install_config::{LoadBalancer, Platform};

use super::{bootstrap, clusters, files, served};
use crate::fixtures::{self, KUBERNETES};
use crate::ignition::assert_accepted;

#[test]
fn ignition_accepts_everything() {
    for (name, cluster) in clusters() {
        let tree = files(&cluster);
        let paths: Vec<&str> = tree.iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["auth/kubeconfig", "bootstrap.ign", "master.ign", "metadata.json", "worker.ign"]);
        for path in ["bootstrap.ign", "master.ign", "worker.ign"] {
            assert_accepted(&format!("{name} {path}"), &tree.get(path).unwrap().contents);
        }
        for role in Role::ALL {
            let config = machine_config(&cluster, role).unwrap();
            assert_accepted(&format!("{name} {}", role.as_str()), &config);
            let carried =
                bootstrap(&cluster).contents(&format!("/etc/slipway/machine-config/{}.ign", role.as_str()));
            assert_eq!(carried.unwrap().as_bytes(), config, "{name}");
        }
    }
}

/// A client that reaches the machine-config server may read these: they hold no signing key and no login.
#[test]
fn what_is_served_holds_no_signing_keys() {
    for (name, cluster) in clusters() {
        for role in Role::ALL {
            let ign = served(&cluster, role);
            for file in ign.files() {
                let path = file["path"].as_str().unwrap();
                let text = ign.contents(path).unwrap();
                assert!(
                    !text.contains("PRIVATE KEY") && !text.contains(fixtures::PASSWORD),
                    "{name}: {path}"
                );
                // What leaks from one role does not open the other.
                let has = |of: Role| text.contains(cluster.pki.pem(&bootstrap_token(of)));
                let token = has(role);
                assert_eq!(token, path == JOIN_TOKEN_FILE, "{name}: {path}");
                let others = Role::ALL.into_iter().filter(|other| *other != role);
                assert!(!others.into_iter().any(has), "{name}: {path}");
                let key = text.contains(cluster.pki.pem("certificate-key"));
                assert_eq!(key, path == JOIN_FILE && role == Role::Master, "{name}: {path}");
                if token || key {
                    assert_eq!(file["mode"], 0o600);
                }
            }
        }
    }
}

#[test]
fn keys_are_for_root_alone() {
    for (name, cluster) in clusters() {
        let ign = bootstrap(&cluster);
        for file in ign.files() {
            let path = file["path"].as_str().unwrap();
            let text = ign.contents(path).unwrap();
            let tokens = Role::ALL.map(|role| cluster.pki.pem(&bootstrap_token(role)));
            let secrets = ["PRIVATE KEY", fixtures::PASSWORD];
            if secrets.iter().chain(&tokens).any(|secret| text.contains(secret)) {
                assert_eq!(file["mode"], 0o600, "{name}: {path}");
            }
        }
        assert!(ign.contents("/etc/slipway/network/cni.yaml").unwrap().contains("---"), "carried as it is");
        let facts: ClusterFacts =
            serde_json::from_str(&ign.contents("/etc/slipway/cluster.json").unwrap()).unwrap();
        assert_eq!(facts.onprem.is_some(), name != "none");
    }
}

/// A load balancer of the user's leaves nothing of ours on the machines.
#[test]
fn without_virtual_addresses_of_ours() {
    let paths = |load_balancer: LoadBalancer| -> Vec<String> {
        let mut config = fixtures::config(KUBERNETES);
        let Platform::VSphere(platform) = &mut config.platform else { panic!("not vSphere") };
        platform.load_balancer = load_balancer;
        let cluster = fixtures::cluster_with(config, &fixtures::Repeating::default());
        let ign = served(&cluster, Role::Master);
        ign.files().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let theirs = paths(LoadBalancer::UserManaged);
    let ours: Vec<String> = paths(LoadBalancer::OpenShiftManagedDefault)
        .into_iter()
        .filter(|path| !theirs.contains(path))
        .collect();
    insta::assert_snapshot!(ours.join("\n"), @r"
    /etc/NetworkManager/conf.d/99-slipway.conf
    /etc/NetworkManager/dispatcher.d/30-slipway-dns
    /etc/hosts
    /etc/slipway/onprem/pods/slipway-coredns.yaml
    /etc/slipway/onprem/pods/slipway-haproxy.yaml
    /etc/slipway/onprem/pods/slipway-keepalived.yaml
    /etc/systemd/resolved.conf.d/60-slipway.conf
    ");
}

/// The objects are those Kubernetes has.
#[test]
fn nothing_is_for_openshift_only() {
    let cluster = fixtures::cluster(KUBERNETES);
    let tree = slipway_assets::manifests(&cluster).unwrap();
    let mut kinds: Vec<String> = tree
        .iter()
        .map(|(path, _)| {
            let object: Value = fixtures::value(&tree, path);
            format!("{} {}", object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap())
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    insta::assert_snapshot!(kinds.join("\n"), @r"
    apiextensions.k8s.io/v1 CustomResourceDefinition
    apps/v1 DaemonSet
    apps/v1 Deployment
    cluster.x-k8s.io/v1beta1 Cluster
    cluster.x-k8s.io/v1beta1 Machine
    coordination.k8s.io/v1 Lease
    infrastructure.cluster.x-k8s.io/v1beta1 VSphereCluster
    infrastructure.cluster.x-k8s.io/v1beta1 VSphereMachine
    ipam.cluster.x-k8s.io/v1beta1 IPAddress
    ipam.cluster.x-k8s.io/v1beta1 IPAddressClaim
    machine.openshift.io/v1beta1 Machine
    machine.openshift.io/v1beta1 MachineSet
    policy/v1 PodDisruptionBudget
    rbac.authorization.k8s.io/v1 ClusterRole
    rbac.authorization.k8s.io/v1 ClusterRoleBinding
    rbac.authorization.k8s.io/v1 Role
    rbac.authorization.k8s.io/v1 RoleBinding
    scheduling.k8s.io/v1 PriorityClass
    slipway.dev/v1alpha1 VDOConfig
    slipway.dev/v1alpha1 VSphereConnection
    v1 ConfigMap
    v1 Namespace
    v1 Secret
    v1 ServiceAccount
    ");
}

#[rstest]
#[case("version: v1.34.4", "version: v1.30.9", "`payload.version` v1.30.9 is too old")]
#[case(
    "compute:\n- replicas: 1",
    "compute:\n- replicas: 1\n  hyperthreading: Disabled",
    "`compute[0].hyperthreading: Disabled`"
)]
#[case(
    "baseDomain:",
    "imageDigestSources: [{source: quay.io/a, mirrors: [b.example.com/a]}]\nfips: true\nbaseDomain:",
    "`fips` is for OpenShift"
)]
#[case("  slipwayImage: registry.example.com/slipway/slipway:v0.1.0\n", "", "set `payload.slipwayImage`")]
fn what_is_not_carried_out_is_refused(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    assert!(KUBERNETES.contains(from));
    let cluster = fixtures::cluster(&KUBERNETES.replacen(from, to, 1));
    let error = slipway_assets::manifests(&cluster).unwrap_err();
    assert!(error.to_string().contains(says), "{error}");
}

/// The keys of another payload are of no use.
#[test]
fn keys_of_the_other_payload_are_missed() {
    let mut cluster = fixtures::cluster(KUBERNETES);
    cluster.pki = fixtures::cluster(fixtures::VSPHERE).pki;
    let error = slipway_assets::manifests(&cluster).unwrap_err();
    assert!(matches!(&error, Error::Missing { .. }), "{error}");
    let error = slipway_assets::ignition(&cluster, &Tree::default()).unwrap_err();
    assert!(matches!(&error, Error::Missing { .. }), "{error}");
}
