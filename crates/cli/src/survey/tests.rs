//! Whole conversations, without a terminal and without a network.

mod drivers;
mod script;

use std::collections::VecDeque;

use jiff::Timestamp;
use slipway_lifecycle::install_config::{
    Answers, Composed, Error, FailureDomainAnswers, PasswordAt, PlatformKind, VCenterAnswers, VSphereAnswers,
    VSphereTopology,
};

use self::script::{Do, Fake, PASSWORD, Script, inventory};
use super::estate::Lists;
use super::{Setting, Stop, Survey};

const PULL_SECRET: &str = r#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#;
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0sT6Lw1m1zqzBd4d1p5vX3n0u9bqkVqkGm6m1m9h2Z core";

/// The questions after those about the platform.
const REST: [(&str, Do); 7] = [
    ("Machine network", Do::Enter),
    ("API", Do::Type("10.0.0.10")),
    ("ingress", Do::Type("10.0.0.11")),
    ("Base domain", Do::Type("example.com")),
    ("Cluster name", Do::Type("harbour")),
    ("Pull secret", Do::Type(PULL_SECRET)),
    ("Write", Do::Yes),
];

const LOGIN: [(&str, Do); 4] = [
    ("Platform", Do::Pick("vsphere")),
    ("vCenter", Do::Type("north.example.com")),
    ("User name", Do::Type("administrator@vsphere.local")),
    ("Password", Do::Type(PASSWORD)),
];

fn setting() -> Setting {
    Setting { path: "harbour/install-config.yaml".into(), now: Timestamp::UNIX_EPOCH, ..Setting::default() }
}

/// One vCenter with a choice of everything, and one where nothing needs to be chosen.
fn estate() -> Fake {
    let north = inventory("north", &["blue", "green"], &["fast", "slow"], &["cluster-net", "other-net"]);
    let south = inventory("south", &["blue"], &["fast"], &["cluster-net"]);
    fake([("north.example.com", vec![north]), ("south.example.com", vec![south])])
}

fn fake(vcenters: impl IntoIterator<Item = (&'static str, Vec<Lists>)>) -> Fake {
    let inventories = vcenters.into_iter().map(|(server, versions)| (server, VecDeque::from(versions)));
    Fake { inventories: inventories.collect(), ..Fake::default() }
}

fn steps(parts: &[&[(&'static str, Do)]]) -> Script {
    Script::new(parts.concat())
}

fn run(setting: Setting, script: &mut Script, estate: &mut Fake) -> Result<Composed, Stop> {
    let result = Survey::new(setting, script, estate).run();
    assert!(script.is_done(), "not everything was asked:\n{}", script.transcript);
    assert!(!script.transcript.contains(PASSWORD) && !script.transcript.contains("dXNlcjpwYXNzd29yZA"));
    result
}

fn written(setting: Setting, script: &mut Script, estate: &mut Fake) -> String {
    let text = run(setting, script, estate).expect("an install-config").text;
    text.replace(PASSWORD, "<typed>").replace("dXNlcjpwYXNzd29yZA==", "<pasted>")
}

#[test]
fn one_vcenter_asks_what_openshift_asks() {
    let places = [
        ("Compute cluster", Do::Pick("green")),
        ("Datastore", Do::Pick("slow")),
        ("Network", Do::Pick("other-net")),
        ("Another failure domain", Do::Enter),
        ("Another vCenter", Do::Enter),
    ];
    let key = [("SSH public key", Do::Pick("id_ed25519"))];
    let mut script = steps(&[&key, &LOGIN, &places, &REST]);
    let keys = [("/home/me/.ssh/id_ed25519.pub", KEY), ("/home/me/.ssh/odd.pub", "nonsense")];
    let ssh_keys = keys.map(|(path, key)| (path.to_owned(), key.to_owned())).to_vec();
    let text = written(Setting { ssh_keys, ..setting() }, &mut script, &mut estate());
    insta::assert_snapshot!(script.transcript);
    insta::assert_snapshot!(text);
}

#[test]
fn two_vcenters_and_three_failure_domains() {
    let places = [
        ("Compute cluster", Do::Pick("blue")),
        ("Datastore", Do::Pick("fast")),
        ("Network", Do::Pick("cluster-net")),
        ("Another failure domain", Do::Yes),
        ("Compute cluster", Do::Pick("green")),
        ("Datastore", Do::Pick("slow")),
        ("Network", Do::Pick("cluster-net")),
        ("Another vCenter", Do::Yes),
        ("vCenter 2", Do::Type("north.example.com")),
        ("vCenter 2", Do::Type("south.example.com")),
        ("User name", Do::Enter),
        ("Password", Do::Type(PASSWORD)),
        ("Another vCenter", Do::No),
        ("Name of the failure domain in /north/host/blue", Do::Enter),
        ("Region", Do::Enter),
        ("Zone", Do::Enter),
        ("Name of the failure domain in /north/host/green", Do::Type("north-blue")),
        ("Name of the failure domain in /north/host/green", Do::Enter),
        ("Region", Do::Enter),
        ("Zone", Do::Type("blue")),
        ("Zone", Do::Enter),
        ("Name of the failure domain in /south/host/blue", Do::Enter),
        ("Region", Do::Enter),
        ("Zone", Do::Enter),
    ];
    let mut script = steps(&[&LOGIN, &places, &REST]);
    let text = written(setting(), &mut script, &mut estate());
    insta::assert_snapshot!(script.transcript);
    insta::assert_snapshot!(text);
}

/// Both families: two networks, and two addresses each.
#[test]
fn dual_stack() {
    let places = [
        ("Compute cluster", Do::Pick("green")),
        ("Datastore", Do::Pick("slow")),
        ("Network", Do::Pick("other-net")),
        ("Another failure domain", Do::Enter),
        ("Another vCenter", Do::Enter),
    ];
    let rest = [
        ("Machine network", Do::Type(",")),
        ("Machine network", Do::Type("10.0.0.0/16, fd65::/640")),
        ("Machine network", Do::Type("10.0.0.0/16, fd65::/64")),
        ("API", Do::Type("10.0.0.10, 10.0.0.12")),
        ("API", Do::Type("fd65::10, 10.0.0.10")),
        ("API", Do::Type("10.0.0.10, fd66::10")),
        ("API", Do::Type("10.0.0.10, fd65::10")),
        ("ingress", Do::Type("10.0.0.11")),
        ("ingress", Do::Type("10.0.0.11,fd65::11")),
    ];
    let mut script = steps(&[&LOGIN, &places, &rest, &REST[3..]]);
    let text = written(setting(), &mut script, &mut estate());
    let from = script.transcript.find("? Machine network").expect("the question");
    insta::assert_snapshot!(&script.transcript[from..]);
    insta::assert_snapshot!(text);
}

#[test]
fn back_skips_what_answered_itself_and_offers_the_old_answers() {
    let vcenter = |server: &'static str| {
        [
            ("vCenter", Do::Type(server)),
            ("User name", Do::Type("administrator@vsphere.local")),
            ("Password", Do::Type(PASSWORD)),
        ]
    };
    let back = [
        // Nothing to choose: straight to the second vCenter, and from there to the password.
        ("Another vCenter", Do::Back),
        ("Password", Do::Back),
        ("User name", Do::Back),
        ("vCenter", Do::Enter),
        ("User name", Do::Enter),
        ("Password", Do::Type(PASSWORD)),
        ("Another vCenter", Do::No),
        ("Machine network", Do::Type("10.20.0.0/16")),
        ("API", Do::Type("10.0.0.10")),
        ("API", Do::Back),
        ("Machine network", Do::Enter),
        ("API", Do::Type("10.20.0.10")),
        ("ingress", Do::Type("10.20.0.10")),
        ("ingress", Do::Type("10.20.0.11")),
        ("Base domain", Do::Type("Example.com")),
        ("Base domain", Do::Type("example.com")),
        ("Cluster name", Do::Type("har.bour")),
        ("Cluster name", Do::Type("harbour")),
        ("Pull secret", Do::Type("{}")),
        ("Pull secret", Do::Type(PULL_SECRET)),
        ("Write", Do::Back),
        ("Pull secret", Do::Type(PULL_SECRET)),
        ("Write", Do::Yes),
    ];
    let platform = [("Platform", Do::Back), ("Platform", Do::Pick("vsphere"))];
    let mut script = steps(&[&platform, &vcenter("south.example.com"), &back]);
    let text = written(setting(), &mut script, &mut estate());
    insta::assert_snapshot!(script.transcript);
    assert!(text.contains("cidr: 10.20.0.0/16\n"), "{text}");
}

#[test]
fn three_wrong_passwords_are_the_end() {
    let wrong =
        [("Password", Do::Type("wrong")), ("Password", Do::Type("Wrong")), ("Password", Do::Type("WRONG"))];
    let mut script = steps(&[&LOGIN[..3], &wrong]);
    let mut estate = estate();
    let stop = run(setting(), &mut script, &mut estate).expect_err("no install-config");
    assert!(
        matches!(&stop, Stop::Failed { error, .. } if error.to_string().ends_with("3 times")),
        "{stop:?}"
    );
    assert_eq!(estate.logins.len(), 3);
}

#[test]
fn another_user_has_three_attempts_of_its_own() {
    let wrong = [
        ("Password", Do::Type("wrong")),
        ("Password", Do::Type("Wrong")),
        ("Password", Do::Back),
        ("User name", Do::Type("other@vsphere.local")),
        ("Password", Do::Type("wrong")),
        ("Password", Do::Type("wrong")),
        ("Password", Do::Abort),
    ];
    let mut script = steps(&[&LOGIN[..3], &wrong]);
    assert!(matches!(run(setting(), &mut script, &mut estate()), Err(Stop::Abort)));
}

#[test]
fn a_certificate_is_shown_and_pinned_by_consent() {
    let trust = [
        ("vCenter", Do::Type("nowhere.example.com")),
        ("vCenter", Do::Type("south.example.com")),
        ("Trust this certificate", Do::Enter),
        ("vCenter", Do::Type("south.example.com")),
        ("Trust this certificate", Do::Back),
        ("vCenter", Do::Enter),
        ("Trust this certificate", Do::Yes),
    ];
    let mut script = steps(&[&LOGIN[..1], &trust, &LOGIN[2..], &[("Another vCenter", Do::No)], &REST]);
    let mut estate = estate();
    estate.untrusted = vec!["south.example.com"];
    let text = written(setting(), &mut script, &mut estate);
    insta::assert_snapshot!(script.transcript);
    assert!(text.contains("thumbprint: AB:AB"), "{text}");
    assert!(estate.logins.iter().all(|(_, _, pinned)| pinned.is_some()), "{:?}", estate.logins);
}

#[test]
fn empty_lists_are_explained_and_read_again() {
    let versions = vec![
        Lists::default(),
        inventory("south", &[], &[], &[]),
        inventory("south", &["blue"], &[], &[]),
        inventory("south", &["blue"], &["fast"], &[]),
        inventory("south", &["blue"], &["fast"], &["cluster-net"]),
    ];
    let again = [("Read the lists again", Do::Yes); 4];
    let mut script = steps(&[&LOGIN, &again, &[("Another vCenter", Do::No)], &REST]);
    written(setting(), &mut script, &mut fake([("north.example.com", versions)]));
    insta::assert_snapshot!(script.transcript);
}

#[test]
fn an_empty_list_leads_back() {
    let back = [("Read the lists again", Do::No), ("Password", Do::Back), ("User name", Do::Abort)];
    let mut script = steps(&[&LOGIN, &back]);
    let mut estate = fake([("north.example.com", vec![Lists::default()])]);
    assert!(matches!(run(setting(), &mut script, &mut estate), Err(Stop::Abort)));
}

#[test]
fn flags_answer_questions() {
    let text = |text: &str| Some(text.to_owned());
    let vsphere = VSphereAnswers {
        server: text("north.example.com"),
        user: text("administrator@vsphere.local"),
        password: Some(PasswordAt::Inline(PASSWORD.into())),
        cluster: text("green"),
        datastore: text("missing"),
        ..VSphereAnswers::default()
    };
    let flags = Answers {
        platform: Some(PlatformKind::VSphere),
        name: text("Harbour"),
        base_domain: text("example.com"),
        ssh_key: text(KEY),
        pull_secret: Some(PULL_SECRET.into()),
        machine_networks: vec!["10.20.0.0/16".into()],
        api_vips: vec!["10.20.0.10".into()],
        ingress_vips: vec!["10.0.0.11".into()],
        compute_replicas: Some(5),
        network: text("other-net"),
        vsphere,
        ..Answers::default()
    };
    let mut script = steps(&[&[
        ("Datastore", Do::Pick("fast")),
        ("Another failure domain", Do::No),
        ("Another vCenter", Do::No),
        ("ingress", Do::Type("10.20.0.11")),
        ("Cluster name", Do::Type("harbour")),
        ("Write", Do::Yes),
    ]]);
    let text = written(Setting { flags, ..setting() }, &mut script, &mut estate());
    insta::assert_snapshot!(script.transcript);
    insta::assert_snapshot!(text);
}

#[test]
fn a_flag_that_means_two_things_is_asked_about() {
    let found = inventory("north", &["a/blue", "b/blue"], &["fast"], &["net"]);
    let cluster = Some("blue".to_owned());
    let flags = Answers {
        platform: Some(PlatformKind::VSphere),
        vsphere: VSphereAnswers { cluster, ..VSphereAnswers::default() },
        ..Answers::default()
    };
    let mut script =
        steps(&[&LOGIN[1..], &[("Compute cluster", Do::Pick("b/blue")), ("Another", Do::Abort)]]);
    let mut estate = fake([("north.example.com", vec![found])]);
    assert!(matches!(run(Setting { flags, ..setting() }, &mut script, &mut estate), Err(Stop::Abort)));
    assert!(script.transcript.contains("`blue` is the name of 2 of them"), "{}", script.transcript);
}

/// A script that names all vCenters, but not the pull secret.
#[test]
fn flags_tell_of_all_vcenters() {
    let topology = VSphereTopology {
        vcenters: vec![VCenterAnswers {
            server: "vcenter.example.com".into(),
            port: None,
            user: "administrator@vsphere.local".into(),
            password: PasswordAt::Env("PASSWORD".into()),
            thumbprint: None,
            datacenters: vec!["dc".into()],
        }],
        failure_domains: vec![FailureDomainAnswers {
            server: "vcenter.example.com".into(),
            datacenter: "dc".into(),
            cluster: "c".into(),
            datastore: "d".into(),
            network: "n".into(),
            names: None,
        }],
    };
    let vsphere = VSphereAnswers { topology: Some(topology), ..VSphereAnswers::default() };
    let flags = Answers { platform: Some(PlatformKind::VSphere), vsphere, ..Answers::default() };
    let text = written(Setting { flags, ..setting() }, &mut steps(&[&REST]), &mut Fake::default());
    assert!(text.contains("computeCluster: /dc/host/c\n"), "{text}");
}

/// What no question is about is found in the end, where going back would not help.
#[test]
fn a_flag_that_is_no_answer_ends_it() {
    let flags = Answers { release_image: Some("not an image".into()), ..Answers::default() };
    let mut script = steps(&[&[("Platform", Do::Pick("none"))], &REST[3..6]]);
    let stop = run(Setting { flags, ..setting() }, &mut script, &mut Fake::default()).expect_err("refused");
    assert!(matches!(stop, Stop::Refused(Error::Invalid { .. })), "{stop:?}");
}

#[test]
fn platforms_without_questions_name_their_flags() {
    let mut script = steps(&[
        &[
            ("Platform", Do::Pick("ovirt")),
            ("Platform", Do::Pick("kubevirt")),
            ("Platform", Do::Pick("none")),
        ],
        &REST[3..6],
        &[("Write", Do::No)],
    ]);
    assert!(matches!(run(setting(), &mut script, &mut Fake::default()), Err(Stop::Abort)));
    insta::assert_snapshot!(script.transcript);
}

#[test]
fn a_fourth_vcenter_is_not_offered() {
    let (mut parts, servers) = (Vec::new(), ["a.example.com", "b.example.com", "c.example.com"]);
    for (position, server) in servers.into_iter().enumerate() {
        if position > 0 {
            parts.push(("Another vCenter", Do::Yes));
        }
        parts.push(("vCenter", Do::Type(server)));
        parts.push(("User name", Do::Type("administrator@vsphere.local")));
        parts.push(("Password", Do::Type(PASSWORD)));
    }
    parts.extend(
        [("Name", Do::Enter), ("Region", Do::Enter), ("Zone", Do::Enter)].into_iter().cycle().take(9),
    );
    let mut script = steps(&[&LOGIN[..1], &parts, &REST]);
    // The same names everywhere: the suggestions are told apart.
    let same = || vec![inventory("dc", &["blue"], &["fast"], &["net"])];
    let text = written(setting(), &mut script, &mut fake(servers.map(|server| (server, same()))));
    assert!(script.transcript.contains("3 vCenters are the most"), "{}", script.transcript);
    for name in ["name: dc-blue\n", "name: dc-blue-2\n", "zone: blue-3\n"] {
        assert!(text.contains(name), "{text}");
    }
}
