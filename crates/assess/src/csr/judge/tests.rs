//! Every rule, and what attackers may try.

mod requests;

use rstest::rstest;

use self::requests::{Ask, BOOTSTRAPPER, cluster, cluster_with_tokens, machine, time};
use super::{Decision, Ground, judge};
use crate::csr::{Cluster, Refusal};

/// The name of the verdict.
fn reason(ask: &Ask, cluster: &Cluster) -> &'static str {
    match judge(&ask.csr(), cluster) {
        Decision::Approve(ground) => ground.reason(),
        Decision::Refuse(refusal) => refusal.reason(),
    }
}

#[test]
fn the_good_ones() {
    let approved = |ask: Ask| match judge(&ask.csr(), &cluster()) {
        Decision::Approve(ground) => ground,
        Decision::Refuse(refusal) => panic!("{refusal}"),
    };
    let (machine, node) = ("harbour-worker-0".to_owned(), "harbour-worker-0".to_owned());
    assert_eq!(approved(Ask::first()), Ground::FirstCertificate { machine, node });
    assert_eq!(approved(Ask::renewal()), Ground::Renewal { node: "harbour-master-0".to_owned() });
    let (machine, node) = ("harbour-master-0".to_owned(), "harbour-master-0".to_owned());
    assert_eq!(approved(Ask::serving()), Ground::Serving { machine, node });
}

/// Client certificates: one change each.
#[rstest]
#[case::two_usages(|ask: &mut Ask| ask.usages = vec!["digital signature", "client auth"], "FirstCertificate")]
#[case::server(|ask: &mut Ask| ask.usages.push("server auth"), "WrongUsages")]
#[case::serves_only(|ask: &mut Ask| ask.usages = vec!["digital signature", "server auth"], "WrongUsages")]
#[case::signs(|ask: &mut Ask| ask.usages.push("cert sign"), "WrongUsages")]
#[case::twice(|ask: &mut Ask| ask.usages.push("client auth"), "WrongUsages")]
#[case::none(|ask: &mut Ask| ask.usages.clear(), "WrongUsages")]
#[case::masters(|ask: &mut Ask| ask.organizations = vec!["system:masters"], "WrongOrganizations")]
#[case::masters_too(|ask: &mut Ask| ask.organizations.push("system:masters"), "WrongOrganizations")]
#[case::no_group(|ask: &mut Ask| ask.organizations.clear(), "WrongOrganizations")]
#[case::admin(|ask: &mut Ask| ask.common_name = "system:admin".to_owned(), "NotANode")]
#[case::nameless(|ask: &mut Ask| ask.common_name = "system:node:".to_owned(), "NotANode")]
#[case::strange_name(|ask: &mut Ask| ask.common_name = "system:node:a/b".to_owned(), "NotANode")]
#[case::upper_case(|ask: &mut Ask| ask.common_name = "system:node:Harbour-worker-0".to_owned(), "NotANode")]
#[case::existing_node(|ask: &mut Ask| ask.common_name = "system:node:harbour-master-0".to_owned(), "NodeExists")]
#[case::unknown_machine(|ask: &mut Ask| ask.common_name = "system:node:pirate".to_owned(), "NoSuchMachine")]
#[case::external_name(|ask: &mut Ask| ask.common_name = "system:node:worker-0.example.com".to_owned(), "NoSuchMachine")]
#[case::machine_with_node(|ask: &mut Ask| ask.common_name = "system:node:harbour-taken".to_owned(), "MachineHasNode")]
#[case::ambiguous(|ask: &mut Ask| ask.common_name = "system:node:harbour-twin".to_owned(), "AmbiguousMachine")]
#[case::leaving(|ask: &mut Ask| ask.common_name = "system:node:harbour-leaving".to_owned(), "MachineLeaving")]
#[case::dns_name(|ask: &mut Ask| ask.names = vec!["harbour-worker-0"], "NamesInClientCertificate")]
#[case::address(|ask: &mut Ask| ask.names = vec!["10.0.0.20"], "NamesInClientCertificate")]
#[case::stranger(|ask: &mut Ask| ask.username = "pirate".to_owned(), "AskedByStranger")]
#[case::another_account(|ask: &mut Ask| ask.username = "system:serviceaccount:default:node-bootstrapper".to_owned(), "AskedByStranger")]
#[case::another_node(|ask: &mut Ask| ask.username = "system:node:harbour-master-0".to_owned(), "AskedByStranger")]
#[case::powerful(|ask: &mut Ask| ask.groups.push("system:masters"), "WrongGroups")]
#[case::groupless(|ask: &mut Ask| ask.groups.clear(), "WrongGroups")]
#[case::clocks_differ(|ask: &mut Ask| ask.created = time("2026-11-16T11:59:51Z"), "FirstCertificate")]
#[case::too_early(|ask: &mut Ask| ask.created = time("2026-11-16T11:59:50Z"), "OutsideWindow")]
#[case::last_moment(|ask: &mut Ask| ask.created = time("2026-11-16T13:59:59Z"), "FirstCertificate")]
#[case::too_late(|ask: &mut Ask| ask.created = time("2026-11-16T14:00:00Z"), "OutsideWindow")]
#[case::mail(|ask: &mut Ask| ask.mail = Some("a@example.com"), "NamesInClientCertificate")]
#[case::no_request(|ask: &mut Ask| ask.pem = Some("pirate".to_owned()), "Malformed")]
#[case::weak_key(|ask: &mut Ask| ask.pem = Some(include_str!("weak.csr").to_owned()), "Malformed")]
#[case::weak_signature(|ask: &mut Ask| ask.pem = Some(include_str!("sha1.csr").to_owned()), "Malformed")]
#[case::odd_curve(|ask: &mut Ask| ask.pem = Some(include_str!("p521.csr").to_owned()), "Malformed")]
#[case::rsa(|ask: &mut Ask| ask.pem = Some(include_str!("rsa.csr").to_owned()), "FirstCertificate")]
fn first_certificate(#[case] change: fn(&mut Ask), #[case] expected: &str) {
    let mut ask = Ask::first();
    change(&mut ask);
    assert_eq!(reason(&ask, &cluster()), expected);
}

#[rstest]
#[case::unknown(|ask: &mut Ask| ask.of_node("pirate"), "NoSuchNode")]
#[case::without_machine(|ask: &mut Ask| ask.of_node("stowaway"), "NodeWithoutMachine")]
#[case::of_another(|ask: &mut Ask| ask.common_name = "system:node:harbour-master-1".to_owned(), "AskedByStranger")]
#[case::by_the_bootstrapper(|ask: &mut Ask| BOOTSTRAPPER.clone_into(&mut ask.username), "WrongGroups")]
#[case::in_other_groups(|ask: &mut Ask| ask.groups.push("system:masters"), "WrongGroups")]
#[case::as_master(|ask: &mut Ask| ask.organizations = vec!["system:masters"], "WrongOrganizations")]
#[case::much_later(|ask: &mut Ask| ask.created = time("2027-11-16T12:00:00Z"), "Renewal")]
fn renewal(#[case] change: fn(&mut Ask), #[case] expected: &str) {
    let mut ask = Ask::renewal();
    change(&mut ask);
    assert_eq!(reason(&ask, &cluster()), expected);
}

#[rstest]
#[case::only_an_address(|ask: &mut Ask| ask.names = vec!["10.0.0.10"], "Serving")]
#[case::all_of_them(|ask: &mut Ask| ask.names = vec!["harbour-master-0", "master-0.example.com", "10.0.0.10", "fd00::10"], "Serving")]
#[case::api_vip(|ask: &mut Ask| ask.names.push("10.0.0.2"), "VirtualAddress")]
#[case::vip_of_ipv6(|ask: &mut Ask| ask.names.push("fd00::2"), "VirtualAddress")]
#[case::vip_in_disguise(|ask: &mut Ask| ask.names.push("::ffff:10.0.0.2"), "VirtualAddress")]
#[case::vip_that_a_machine_claims(|ask: &mut Ask| ask.names.push("10.0.0.3"), "VirtualAddress")]
#[case::foreign_address(|ask: &mut Ask| ask.names.push("10.0.0.11"), "ForeignAddress")]
#[case::loopback(|ask: &mut Ask| ask.names.push("127.0.0.1"), "ForeignAddress")]
#[case::foreign_name(|ask: &mut Ask| ask.names.push("harbour-master-1"), "ForeignName")]
#[case::api_name(|ask: &mut Ask| ask.names.push("api.harbour.example.com"), "ForeignName")]
#[case::kubernetes(|ask: &mut Ask| ask.names.push("kubernetes.default.svc"), "ForeignName")]
#[case::wildcard(|ask: &mut Ask| ask.names.push("*.example.com"), "Wildcard")]
#[case::wildcard_that_a_machine_claims(|ask: &mut Ask| ask.names.push("*.harbour.example.com"), "Wildcard")]
#[case::nothing(|ask: &mut Ask| ask.names.clear(), "NoNames")]
#[case::mail(|ask: &mut Ask| ask.mail = Some("a@example.com"), "OtherNames")]
#[case::stranger(|ask: &mut Ask| ask.username = "pirate".to_owned(), "NotTheNode")]
#[case::bootstrapper(|ask: &mut Ask| BOOTSTRAPPER.clone_into(&mut ask.username), "NotTheNode")]
#[case::another_node(|ask: &mut Ask| ask.username = "system:node:harbour-master-1".to_owned(), "NotTheNode")]
#[case::groups(|ask: &mut Ask| ask.groups = vec!["system:authenticated"], "WrongGroups")]
#[case::masters(|ask: &mut Ask| ask.organizations = vec!["system:nodes", "system:masters"], "WrongOrganizations")]
#[case::client_too(|ask: &mut Ask| ask.usages.push("client auth"), "WrongUsages")]
#[case::no_machine(|ask: &mut Ask| ask.of_node("stowaway"), "NodeWithoutMachine")]
#[case::unit(|ask: &mut Ask| ask.unit = Some("engineering"), "Malformed")]
#[case::authority(|ask: &mut Ask| ask.authority = true, "Malformed")]
fn serving(#[case] change: fn(&mut Ask), #[case] expected: &str) {
    let mut ask = Ask::serving();
    change(&mut ask);
    assert_eq!(reason(&ask, &cluster()), expected);
}

/// What two parsers might see differently.
#[rstest]
#[case::two_blocks(|pem: &str| format!("{pem}{pem}"))]
#[case::text_before(|pem: &str| format!("pirate\n{pem}"))]
#[case::text_after(|pem: &str| format!("{pem}pirate"))]
#[case::header(|pem: &str| pem.replacen("REQUEST-----\n", "REQUEST-----\nProc-Type: 4\n\n", 1))]
#[case::another_kind(|pem: &str| pem.replace("CERTIFICATE REQUEST", "CERTIFICATE"))]
#[case::old_kind(|pem: &str| pem.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"))]
#[case::changed(|pem: &str| pem.replacen("MII", "MIJ", 1))]
#[case::huge(|pem: &str| format!("{}{pem}", "\n".repeat(70_000)))]
fn oddities(#[case] change: fn(&str) -> String) {
    let pem = include_str!("rsa.csr");
    assert_eq!(reason(&Ask { pem: Some(pem.to_owned()), ..Ask::first() }, &cluster()), "FirstCertificate");
    assert_eq!(reason(&Ask { pem: Some(change(pem)), ..Ask::first() }, &cluster()), "Malformed");
}

/// A second list of extensions, which a parser that stops after the first would not see.
#[test]
fn hidden_names() {
    let mut ask = Ask::serving();
    ask.hidden = true;
    assert_eq!(reason(&ask, &cluster()), "Malformed");
}

#[test]
fn a_thousand_at_once() {
    let pirate = Ask { common_name: "system:node:pirate".to_owned(), ..Ask::first() }.csr();
    let good = Ask::first().csr();
    let now = time("2026-11-16T12:30:00Z");
    // Six machines and two nodes more than those: 106 may be pending.
    let many = |count: usize| cluster().with_requests(std::iter::repeat_n(&pirate, count), now);
    assert!(matches!(judge(&good, &many(106)), Decision::Approve(_)));
    let Decision::Refuse(Refusal::Flood { pending, limit, .. }) = judge(&good, &many(1000)) else {
        panic!("approved")
    };
    assert_eq!((pending, limit), (1000, 106));
    // Nodes go on.
    assert_eq!(reason(&Ask::renewal(), &many(1000)), "Renewal");
    assert_eq!(reason(&Ask::serving(), &many(1000)), "Serving");
    assert!(matches!(judge(&pirate, &many(1000)), Decision::Refuse(Refusal::NoSuchMachine { .. })));
    // Those of yesterday do not count.
    let later = cluster().with_requests(std::iter::repeat_n(&pirate, 1000), time("2026-11-16T13:30:00Z"));
    assert!(matches!(judge(&good, &later), Decision::Approve(_)));
}

/// A kubelet that asks without end stops itself, and neither other nodes nor new machines.
#[test]
fn one_kubelet_does_not_stop_the_others() {
    let (pirate, now) = (Ask::serving().csr(), time("2026-11-16T12:30:00Z"));
    let many = |count: usize| cluster().with_requests(std::iter::repeat_n(&pirate, count), now);
    assert_eq!(reason(&Ask::renewal(), &many(20)), "Renewal");
    assert_eq!(reason(&Ask::renewal(), &many(21)), "Flood");
    assert_eq!(reason(&Ask::first(), &many(1000)), "FirstCertificate");
    let another = machine("harbour-master-1", Some("harbour-master-1"));
    let mut ask = Ask::renewal();
    ask.of_node("harbour-master-1");
    assert_eq!(reason(&ask, &many(1000).with_machines([another])), "Renewal");
}

/// A token of one role opens no machine of the other, and a machine comes with one key.
#[rstest]
#[case::worker("harbour-worker-0", "bbbbbb", true, "FirstCertificate")]
#[case::another_key("harbour-worker-0", "bbbbbb", false, "AnotherKey")]
#[case::worker_as_master("harbour-master-0", "bbbbbb", true, "WrongRole")]
#[case::master("harbour-master-0", "aaaaaa", false, "FirstCertificate")]
#[case::master_as_worker("harbour-worker-0", "aaaaaa", true, "WrongRole")]
#[case::unknown_role("harbour-strange", "bbbbbb", true, "WrongRole")]
#[case::stranger("harbour-worker-0", "cccccc", true, "AskedByStranger")]
fn tokens(#[case] machine: &str, #[case] token: &str, #[case] same_key: bool, #[case] expected: &str) {
    let mut ask = Ask::with_token(machine, token);
    // However late it comes: these are waited for.
    ask.created = time("2026-11-18T12:00:00Z");
    let key = ask.csr().content.unwrap().fingerprint;
    let cluster = cluster_with_tokens(if same_key { &key } else { "sha256:00" });
    assert_eq!(reason(&ask, &cluster), expected);
}

#[test]
fn larger_clusters_have_more_requests() {
    let machines = (0..500).map(|number| machine(&format!("m-{number}"), None));
    let cluster = cluster().with_machines(machines);
    let csr = Ask::first().csr();
    let busy = cluster.with_requests(std::iter::repeat_n(&csr, 600), csr.created);
    assert!(matches!(judge(&csr, &busy), Decision::Approve(_)));
}

/// Every refusal names what it is about.
#[test]
fn refusals_say_why() {
    let text = |change: fn(&mut Ask)| {
        let mut ask = Ask::serving();
        change(&mut ask);
        match judge(&ask.csr(), &cluster()) {
            Decision::Refuse(refusal) => format!("{}: {refusal}", refusal.reason()),
            Decision::Approve(ground) => panic!("{ground}"),
        }
    };
    insta::assert_snapshot!([
        text(|ask| ask.names.extend(["10.0.0.2", "fd00::2"])),
        text(|ask| ask.names.extend(["10.0.0.11", "10.9.9.9"])),
        text(|ask| ask.names.push("harbour-master-1")),
        text(|ask| ask.usages.push("client auth")),
        text(|ask| ask.username = "pirate".to_owned()),
        text(|ask| ask.organizations.push("system:masters")),
        text(|ask| ask.of_node("stowaway")),
    ].join("\n"), @r"
    VirtualAddress: it asks for virtual IPs of the cluster: 10.0.0.2, fd00::2
    ForeignAddress: it asks for addresses that the machine `harbour-master-0` does not have: 10.0.0.11, 10.9.9.9
    ForeignName: it asks for names that the machine `harbour-master-0` does not have: harbour-master-1
    WrongUsages: it asks for the usages client auth, digital signature, server auth; a serving certificate has exactly digital signature, server auth and perhaps key encipherment
    NotTheNode: `pirate` requests a serving certificate that only the node `harbour-master-0` itself may ask for
    WrongOrganizations: its organizations are [system:nodes, system:masters], not exactly [system:nodes]
    NodeWithoutMachine: no Machine belongs to the node `stowaway`
    ");
}
