use std::os::unix::fs::PermissionsExt;

use rstest::rstest;
use slipway_config::install_config::load;

use super::{
    Answers, Error, FailureDomainAnswers, OvirtAnswers, PasswordAt, PlatformKind, VCenterAnswers,
    VSphereAnswers, VSphereTopology, compose, write,
};

const PULL_SECRET: &str = "{\"auths\":{\"registry.example.com\":{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}\n";

fn vsphere() -> Answers {
    let text = |text: &str| Some(text.to_owned());
    Answers {
        platform: Some(PlatformKind::VSphere),
        name: text("harbour"),
        base_domain: text("example.com"),
        pull_secret: Some(PULL_SECRET.into()),
        machine_networks: vec!["10.20.0.0/16".into()],
        api_vips: vec!["10.20.0.10".into()],
        ingress_vips: vec!["10.20.0.11".into()],
        network: text("cluster-net"),
        compute_replicas: Some(5),
        vsphere: VSphereAnswers {
            server: text("vcenter.example.com"),
            user: text("slipway@vsphere.local"),
            password: Some(PasswordAt::File("/run/secrets/vcenter".into())),
            datacenter: text("north"),
            cluster: text("compute"),
            datastore: text("/north/datastore/vsan"),
            ..VSphereAnswers::default()
        },
        ..Answers::default()
    }
}

#[test]
fn answers_become_a_file() {
    insta::assert_snapshot!(compose(&vsphere(), None).unwrap().text);
}

fn two_vcenters() -> Answers {
    let vcenter = |server: &str, password: PasswordAt, thumbprint: Option<String>| VCenterAnswers {
        server: server.into(),
        port: (server == "south.example.com").then_some(8443),
        user: "slipway@vsphere.local".into(),
        password,
        thumbprint,
        datacenters: vec!["dc".into()],
    };
    let domain = |name: &str, server: &str| FailureDomainAnswers {
        names: Some([name.into(), format!("region-{name}"), format!("zone-{name}")]),
        server: server.into(),
        datacenter: "dc".into(),
        cluster: "compute".into(),
        datastore: "/dc/datastore/pod/vsan".into(),
        network: "cluster-net".into(),
    };
    let topology = VSphereTopology {
        vcenters: vec![
            vcenter("north.example.com", PasswordAt::Env("NORTH".into()), None),
            vcenter("south.example.com", PasswordAt::Inline("hunter2".into()), Some("ab".repeat(32))),
        ],
        failure_domains: vec![domain("north", "north.example.com"), domain("south", "south.example.com")],
    };
    let vsphere = VSphereAnswers { topology: Some(topology), ..VSphereAnswers::default() };
    Answers { vsphere, network: None, ..self::vsphere() }
}

#[test]
fn several_vcenters_become_a_file() {
    let composed = compose(&two_vcenters(), None).unwrap();
    assert!(composed.text.contains("password: hunter2\n"), "{}", composed.text);
    insta::assert_snapshot!(composed.text.replace("hunter2", "<typed>"));
    assert!(!composed.report.source.contains("hunter2"), "{}", composed.report.source);
}

#[test]
fn another_server_does_not_keep_the_port() {
    let with_port = VSphereAnswers { port: Some(8443), ..vsphere().vsphere };
    let text = compose(&Answers { vsphere: with_port, ..vsphere() }, None).unwrap().text;
    assert!(text.contains("port: 8443\n"), "{text}");
    let server = VSphereAnswers { server: Some("other.example.com".into()), ..VSphereAnswers::default() };
    let changed = compose(&Answers { vsphere: server, ..Answers::default() }, Some(&text)).unwrap().text;
    assert!(changed.contains("server: other.example.com\n") && !changed.contains("port:"), "{changed}");
}

#[test]
fn a_file_without_flags_is_taken_as_it_is() {
    let text = format!("# mine\n{}", compose(&vsphere(), None).unwrap().text);
    assert_eq!(compose(&Answers::default(), Some(&text)).unwrap().text, text);
}

#[test]
fn flags_change_a_file() {
    let text = format!("# mine\n{}", compose(&vsphere(), None).unwrap().text);
    let answers = Answers {
        name: Some("raft".into()),
        vsphere: VSphereAnswers {
            password: Some(PasswordAt::Env("VCENTER_PASSWORD".into())),
            datastore: Some("nfs".into()),
            ..VSphereAnswers::default()
        },
        ..Answers::default()
    };
    let changed = compose(&answers, Some(&text)).unwrap().text;
    assert!(
        changed.contains("name: raft\n") && changed.contains("datastore: /north/datastore/nfs\n"),
        "{changed}"
    );
    assert!(
        changed.contains("passwordEnv: VCENTER_PASSWORD\n") && !changed.contains("passwordFile"),
        "{changed}"
    );
}

#[test]
fn everything_that_is_missing_is_named() {
    let error = compose(&Answers::default(), None).unwrap_err().to_string();
    assert_eq!(error, "--platform, --name, --base-domain, --pull-secret-file are missing");
    let answers =
        Answers { platform: Some(PlatformKind::Ovirt), name: Some("a".into()), ..Answers::default() };
    let error = compose(&answers, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "--base-domain, --pull-secret-file, --ovirt-cluster-id, --ovirt-storage-domain-id, --vnic-profile-id, \
         --api-vip, --ingress-vip are missing"
    );
}

#[test]
fn answers_for_another_platform_are_refused() {
    let ovirt = OvirtAnswers { cluster_id: Some("x".into()), ..OvirtAnswers::default() };
    let error = compose(&Answers { ovirt, ..vsphere() }, None).unwrap_err().to_string();
    assert_eq!(error, "--ovirt-cluster-id is for another platform than vsphere");
    let text = compose(&vsphere(), None).unwrap().text;
    let answers = Answers { platform: Some(PlatformKind::KubeVirt), ..Answers::default() };
    let error = compose(&answers, Some(&text)).unwrap_err().to_string();
    assert_eq!(error, "--platform is kubevirt, but the file is for vsphere");
}

#[test]
fn flags_do_not_guess() {
    let two = "platform: {vsphere: {vcenters: [{server: a}, {server: b}]}}\n";
    let error = compose(&Answers { platform: None, ..vsphere() }, Some(two)).unwrap_err().to_string();
    assert_eq!(error, "the file has 2 vCenters, and the flags do not say which one they mean");
    let odd = "platform: {vsphere: {vcenters: [a]}}\n";
    let error = compose(&vsphere(), Some(odd)).unwrap_err().to_string();
    assert_eq!(error, "`platform.vsphere.vcenters[0]` in the file is not a mapping");
}

/// Pods and services have the families of the machines, in the same order.
#[rstest]
#[case::dual("10.20.0.0/16 fd65::/64", "10.20.0.10 fd65::10", "172.30.0.0/16 fd02::/112")]
#[case::six_first("fd65::/64 10.20.0.0/16", "fd65::10 10.20.0.10", "fd02::/112 172.30.0.0/16")]
#[case::six("fd65::/64", "fd65::10", "fd02::/112")]
#[case::four("10.20.0.0/16 10.21.0.0/16", "10.20.0.10", "172.30.0.0/16")]
fn networks_inside_follow_those_of_machines(
    #[case] machine: &str,
    #[case] vips: &str,
    #[case] services: &str,
) {
    let list = |texts: &str| -> Vec<String> { texts.split(' ').map(str::to_owned).collect() };
    let answers = Answers {
        machine_networks: list(machine),
        api_vips: list(vips),
        ingress_vips: list(&vips.replace(".10", ".11").replace("::10", "::11")),
        ..vsphere()
    };
    let text = compose(&answers, None).unwrap().text;
    let networking = load(&text).config.unwrap().networking;
    let inner: Vec<String> = networking.service.iter().map(ToString::to_string).collect();
    assert_eq!(inner.join(" "), services);
    assert_eq!(networking.cluster.len(), networking.service.len());
    assert_eq!(text.contains("serviceNetwork"), machine.contains(':'), "defaults need no words:\n{text}");
}

#[test]
fn what_would_not_be_valid_is_not_made() {
    let answers = Answers { api_vips: vec!["10.99.0.1".into(), "x".into()], ..vsphere() };
    assert!(matches!(compose(&answers, None), Err(Error::Invalid { source_file: false, .. })));
    assert!(matches!(compose(&vsphere(), Some("a: [")), Err(Error::Invalid { source_file: true, .. })));
    assert!(matches!(
        compose(&Answers::default(), Some("a: 1\n")),
        Err(Error::Invalid { source_file: true, .. })
    ));
}

#[test]
fn is_written_once_and_for_the_owner() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("new");
    let path = write(&below, "text").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(write(&below, "other"), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
}
