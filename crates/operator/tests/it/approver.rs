//! The approver on a real control plane, whose controllers sign what is approved.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use rstest::rstest;
use serde_json::{Value, json};
use slipway_assess::csr::approve::survey;
use slipway_assess::csr::host::Host;
use slipway_assess::csr::{Bootstrapper, Decision, Refusal, Roster, hosts as confirmed};
use slipway_assets::kubernetes::{FIRST_KEYS, NAMESPACE, UNSEEN_APPROVAL};
use slipway_operator::controllers::csr::controller::{Settings, run};
use slipway_operator::controllers::csr::metrics::Metrics;
use slipway_operator::controllers::csr::{bindings, completion, hosts};
use slipway_operator::runtime::watches::Watches;
use slipway_providers::cluster::connect;
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::process::eventually;
use tokio::sync::watch;

use crate::shipped;

const TIMEOUT: Duration = Duration::from_mins(1);
pub(crate) const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const MASTERS: &str = "system:bootstrap:aaaaaa";
const WORKERS: &str = "system:bootstrap:bbbbbb";

/// Who approves: the cluster's own approver, or an operator that was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Approver,
    Operator,
}

fn plane(who: Who) -> ControlPlane {
    let plane =
        ControlPlane::start(Options { beside: &[Beside::Controllers], ..Options::default() }).unwrap();
    plane.install_definitions(&["openshift/machines.machine.openshift.io"]).unwrap();
    match who {
        Who::Approver => shipped::apply(&plane, &["slipway-csr-approver"]),
        Who::Operator => shipped::apply_operator(&plane),
    }
    plane
}

/// A Machine with names and addresses, and perhaps its node. Its role is in its name.
fn machine(plane: &ControlPlane, name: &str, address: &str, node: Option<&str>) {
    let kubectl = plane.kubectl();
    let role = if name.contains("-master-") { "master" } else { "worker" };
    let labels = json!({"machine.openshift.io/cluster-api-machine-role": role});
    let object = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "openshift-machine-api", "labels": labels},
        "spec": {"providerSpec": {}},
    });
    kubectl.apply_value(&object).unwrap();
    let mut status = json!({"addresses": [
        {"type": "InternalDNS", "address": name}, {"type": "Hostname", "address": name},
        {"type": "InternalIP", "address": address},
    ]});
    if let Some(node) = node {
        status["nodeRef"] = json!({"kind": "Node", "name": node});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        kubectl.apply_value(&node).unwrap();
    }
    let patch = json!({"status": status}).to_string();
    let place = ["--namespace", "openshift-machine-api", "--subresource", "status", "--type", "merge"];
    kubectl.run(&[&["patch", "machine", name], &place[..], &["--patch", &patch]].concat()).unwrap();
}

/// Asks for a certificate as somebody, by the access that somebody has.
pub(crate) fn ask(
    plane: &ControlPlane,
    name: &str,
    signer: &str,
    user: &str,
    groups: &[&str],
    subject: (&str, &str),
    names: &[&str],
) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, subject.0);
    params.distinguished_name.push(DnType::CommonName, subject.1);
    let alternative = |name: &&str| match name.parse::<IpAddr>() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName((*name).try_into().unwrap()),
    };
    params.subject_alt_names = names.iter().map(alternative).collect();
    let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    let purpose = if signer == CLIENT { "client auth" } else { "server auth" };
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": ["digital signature", purpose]},
    });
    let file = plane.scratch().write(&format!("{name}.json"), object.to_string()).unwrap();
    let file = format!("--filename={}", file.display());
    let impersonate: Vec<String> = groups.iter().map(|group| format!("--as-group={group}")).collect();
    let mut arguments = vec!["create", &file, "--as", user];
    arguments.extend(impersonate.iter().map(String::as_str));
    plane.kubectl().run(&arguments).unwrap();
}

pub(crate) fn request(plane: &ControlPlane, name: &str) -> Value {
    plane.kubectl().json(&["get", "csr", name]).unwrap()
}

/// Reasons of the events about a request.
pub(crate) fn events(plane: &ControlPlane, name: &str) -> Vec<String> {
    let list = plane.kubectl().json(&["get", "events.events.k8s.io", "--namespace", "default"]).unwrap();
    let about = |event: &&Value| event["regarding"]["name"] == name;
    let events = list["items"].as_array().unwrap().iter().filter(about);
    events.map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
}

/// As in a cluster: with the account that the manifests have for it.
async fn approver(
    who: Who,
    plane: &ControlPlane,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) -> tokio::task::JoinHandle<()> {
    let (client, known) = match who {
        Who::Approver => {
            let held_masters = Some(completion::WAITING.to_owned());
            let known = Roster { held_masters, ..Roster::named_alike() };
            (shipped::account(plane, "slipway-csr-approver").await, known)
        }
        Who::Operator => (shipped::operator(plane).await, Roster::default()),
    };
    let bootstrappers =
        [format!("master={MASTERS}"), format!("worker={WORKERS}")].map(|one| Bootstrapper::of(&one).unwrap());
    let (sender, roster) = watch::channel(known);
    let watches = Watches::new(client.clone());
    tokio::spawn(hosts::follow(watches.clone(), NAMESPACE.to_owned(), sender.clone(), stop.clone()));
    if who == Who::Approver {
        tokio::spawn(completion::follow(client.clone(), sender, stop.clone()));
        let unwanted = UNSEEN_APPROVAL.map(str::to_owned).into();
        tokio::spawn(bindings::keep_away(client.clone(), unwanted, stop.clone()));
    }
    let settings = Settings {
        bootstrappers: bootstrappers.into(),
        namespace: NAMESPACE.to_owned(),
        vips: vec!["10.0.0.2".parse().unwrap()],
        roster,
        refused: watch::Sender::default(),
    };
    tokio::spawn(run(watches, settings, metrics, stop))
}

#[rstest]
#[case::approver(Who::Approver)]
#[case::operator(Who::Operator)]
#[tokio::test(flavor = "multi_thread")]
async fn good_requests_become_certificates_and_bad_ones_stay(#[case] who: Who) {
    let plane = tokio::task::block_in_place(|| plane(who));
    let bootstrapper = ["system:bootstrappers", "system:bootstrappers:slipway", "system:authenticated"];
    let node = ["system:nodes", "system:authenticated"];
    // Whoever is in this group may create requests, and that is all.
    tokio::task::block_in_place(|| {
        let kubectl = plane.kubectl();
        let role = "--clusterrole=system:node-bootstrapper";
        kubectl.run(&["create", "clusterrolebinding", "ask", role, "--group=system:authenticated"]).unwrap();
        // As after an upgrade with kubeadm.
        for name in UNSEEN_APPROVAL {
            kubectl.run(&["create", "clusterrolebinding", name, "--clusterrole=view", "--group=a"]).unwrap();
        }
        machine(&plane, "harbour-worker-0", "10.0.0.20", None);
        machine(&plane, "harbour-master-1", "10.0.0.11", None);
        let elsewhere = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {"providerSpec": {}},
            "metadata": {"name": "pirate", "namespace": "default"},
        });
        kubectl.apply_value(&elsewhere).unwrap();
        machine(&plane, "harbour-master-0", "10.0.0.10", Some("harbour-master-0"));
        for name in ["metal-0", "metal-1", "metal-2"] {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            kubectl.apply_value(&node).unwrap();
        }
    });
    let metal = Host {
        name: "metal-0".to_owned(),
        names: ["metal-0.example.com".to_owned()].into(),
        addresses: ["10.0.0.50".parse().unwrap()].into(),
    };
    let admin = connect(Some(plane.kubeconfig()), None).await.unwrap();
    let before = [
        ("harbour-worker-9", r#"{"key": "sha256:aa", "machine": "1"}"#),
        ("metal-9", r#"{"key": "sha256:bb"}"#),
    ];
    let keys = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FIRST_KEYS, "namespace": NAMESPACE},
        "data": std::collections::BTreeMap::from(before),
    });
    tokio::task::block_in_place(|| plane.kubectl().apply_value(&keys).unwrap());
    confirmed::remember(&admin, NAMESPACE, &metal).await.unwrap();
    confirmed::remember_name(&admin, NAMESPACE, "metal-2").await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let mut registry = Registry::default();
    let task = approver(who, &plane, Metrics::register(&mut registry), stopped).await;
    tokio::task::block_in_place(|| {
        let nodes = |name: &'static str| ("system:nodes", name);
        let (worker, master) = ("system:node:harbour-worker-0", "system:node:harbour-master-0");
        ask(&plane, "first", CLIENT, WORKERS, &bootstrapper, nodes(worker), &[]);
        ask(&plane, "renewal", CLIENT, master, &node, nodes(master), &[]);
        ask(&plane, "serving", SERVING, master, &node, nodes(master), &["harbour-master-0", "10.0.0.10"]);
        // Hosts without a machine renew what their administrator confirmed.
        let (metal, other) = ("system:node:metal-0", "system:node:metal-1");
        let confirmed = ["metal-0", "metal-0.example.com", "10.0.0.50"];
        ask(&plane, "metal", SERVING, metal, &node, nodes(metal), &confirmed);
        ask(&plane, "metal-client", CLIENT, metal, &node, nodes(metal), &[]);
        let by_hand = "system:node:metal-2";
        ask(&plane, "by-hand", CLIENT, by_hand, &node, nodes(by_hand), &[]);
        ask(
            &plane,
            "first-master",
            CLIENT,
            MASTERS,
            &bootstrapper,
            nodes("system:node:harbour-master-1"),
            &[],
        );
        // As long as the bootstrap machine lets machines of the control plane in, nobody else does.
        if who == Who::Approver {
            let told = || Ok(Some(events(&plane, "first-master")).filter(|events| !events.is_empty()));
            assert_eq!(eventually("an event", TIMEOUT, told).unwrap(), ["NotItsTurn"]);
            assert_eq!(request(&plane, "first-master")["status"], json!({}));
            let complete = ["--namespace", "kube-system", "--from-literal", "status=complete"];
            plane.kubectl().run(&[&["create", "configmap", "bootstrap"], &complete[..]].concat()).unwrap();
        }
        for name in ["first", "first-master", "renewal", "serving", "metal", "metal-client", "by-hand"] {
            eventually("a certificate", TIMEOUT, || {
                Ok(request(&plane, name)["status"]["certificate"].as_str().map(|_| ()))
            })
            .unwrap_or_else(|error| {
                panic!("{name}: {error}: {}: {:?}", request(&plane, name)["status"], events(&plane, name))
            });
        }
        ask(&plane, "metal-else", SERVING, metal, &node, nodes(metal), &["metal-0", "10.0.0.51"]);
        ask(&plane, "metal-new", CLIENT, WORKERS, &bootstrapper, nodes(metal), &[]);
        ask(&plane, "unconfirmed", SERVING, other, &node, nodes(other), &["metal-1"]);
        ask(&plane, "vip", SERVING, master, &node, nodes(master), &["10.0.0.2"]);
        ask(&plane, "foreign", SERVING, master, &node, nodes(master), &["10.0.0.20"]);
        ask(&plane, "wildcard", SERVING, master, &node, nodes(master), &["*.example.com"]);
        ask(&plane, "late", SERVING, master, &node, nodes(master), &["10.0.0.99"]);
        let masters = ("system:masters", worker);
        ask(&plane, "masters", CLIENT, WORKERS, &bootstrapper, masters, &[]);
        ask(&plane, "existing", CLIENT, WORKERS, &bootstrapper, nodes(master), &[]);
        ask(&plane, "stranger", CLIENT, "pirate", &["system:authenticated"], nodes(worker), &[]);
        ask(&plane, "unknown", CLIENT, WORKERS, &bootstrapper, nodes("system:node:pirate"), &[]);
        // Somebody else for a machine that has been let in, and with a worker's token for the control plane.
        ask(&plane, "second", CLIENT, WORKERS, &bootstrapper, nodes(worker), &[]);
        ask(&plane, "as-master", CLIENT, WORKERS, &bootstrapper, nodes("system:node:harbour-master-1"), &[]);
        ask(&plane, "by-hand-serving", SERVING, by_hand, &node, nodes(by_hand), &["metal-2", "10.0.0.52"]);
        let refused = [
            ("second", "AnotherKey"),
            ("as-master", "WrongRole"),
            ("by-hand-serving", "ForeignAddress"),
            ("metal-else", "ForeignAddress"),
            ("metal-new", "NodeExists"),
            ("unconfirmed", "NodeWithoutMachine"),
            ("vip", "VirtualAddress"),
            ("foreign", "ForeignAddress"),
            ("wildcard", "Wildcard"),
            ("late", "ForeignAddress"),
            ("masters", "WrongOrganizations"),
            ("existing", "NodeExists"),
            ("stranger", "AskedByStranger"),
            ("unknown", "NoSuchMachine"),
        ];
        for (name, reason) in refused {
            let told = || Ok(Some(events(&plane, name)).filter(|events| !events.is_empty()));
            assert_eq!(eventually("an event", TIMEOUT, told).unwrap(), [reason], "{name}");
        }
        // Addresses that arrive late are judged when they do; everything else is judged again, and told once.
        machine(&plane, "harbour-master-0", "10.0.0.99", Some("harbour-master-0"));
        eventually("a certificate", TIMEOUT, || {
            Ok(request(&plane, "late")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
        for (name, reason) in refused.into_iter().filter(|(name, _)| *name != "late") {
            assert_eq!(request(&plane, name)["status"], json!({}), "{name} stays pending");
            assert_eq!(events(&plane, name), [reason], "{name}");
        }
    });
    let keys = tokio::task::block_in_place(|| {
        plane.kubectl().json(&["get", "configmap", FIRST_KEYS, "--namespace", NAMESPACE]).unwrap()
    });
    let known: Vec<&String> = keys["data"].as_object().unwrap().keys().collect();
    assert_eq!(
        known,
        ["harbour-master-1", "harbour-worker-0", "metal-9"],
        "that of a machine that is gone went"
    );
    another_key_is_for_an_administrator(&plane, &admin).await;
    if who == Who::Approver {
        unseen_approval_is_gone(&plane);
        flood(&plane, &registry, &bootstrapper).await;
    }
    stop.send(true).unwrap();
    task.await.unwrap();
}

/// What an administrator approves becomes the machine's key.
async fn another_key_is_for_an_administrator(plane: &ControlPlane, admin: &kube::Client) {
    let bootstrapper = Bootstrapper::of(&format!("worker={WORKERS}")).unwrap();
    let judged = survey(admin, vec![bootstrapper], &[], &Roster::default()).await.unwrap();
    let second = judged.iter().find(|one| one.csr.name == "second").unwrap();
    assert!(matches!(second.verdict, Decision::Refuse(Refusal::AnotherKey { .. })), "{:?}", second.verdict);
    second.remember(admin, NAMESPACE, None).await.unwrap();
    tokio::task::block_in_place(|| {
        // Whatever changes has everything judged again.
        machine(plane, "harbour-worker-0", "10.0.0.22", None);
        eventually("a certificate", TIMEOUT, || {
            Ok(request(plane, "second")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
    });
}

fn unseen_approval_is_gone(plane: &ControlPlane) {
    tokio::task::block_in_place(|| {
        for name in UNSEEN_APPROVAL {
            eventually("the binding is gone", TIMEOUT, || {
                Ok(plane.kubectl().json(&["get", "clusterrolebinding", name]).is_err().then_some(()))
            })
            .unwrap();
        }
    });
}

/// A thousand at once: they get nothing, neither does any other new machine as long as they are there, and all are counted.
/// Nodes go on.
async fn flood(plane: &ControlPlane, registry: &Registry, groups: &[&str]) {
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some(WORKERS.to_owned());
    config.auth_info.impersonate_groups = Some(groups.iter().map(|&group| group.to_owned()).collect());
    let requests: Api<CertificateSigningRequest> = Api::all(kube::Client::try_from(config).unwrap());
    let mut pirate: CertificateSigningRequest =
        serde_json::from_value(tokio::task::block_in_place(|| request(plane, "unknown"))).unwrap();
    pirate.metadata = ObjectMeta { generate_name: Some("pirate-".to_owned()), ..ObjectMeta::default() };
    pirate.status = None;
    let (post, pirate) = (PostParams::default(), &pirate);
    // A server that is short of time may have made one that it did not tell of.
    let make = async || match requests.create(&post, pirate).await {
        Ok(made) => Ok(made),
        Err(_) => requests.create(&post, pirate).await,
    };
    let made = futures_util::stream::iter(0..1000).map(|_| make()).buffer_unordered(32);
    assert_eq!(made.filter(|made| std::future::ready(made.is_ok())).count().await, 1000);
    let pirates = || -> Vec<Value> {
        let list = plane.kubectl().json(&["get", "csr"]).unwrap();
        let all = list["items"].as_array().unwrap().iter();
        all.filter(|one| one["metadata"]["generateName"] == "pirate-").cloned().collect()
    };
    let count = tokio::task::block_in_place(pirates).len();
    assert!(count >= 1000, "{count}");
    let counted = |reason: &str, count: &str| {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        let line = text.lines().find(|line| line.contains(reason)).unwrap_or_default();
        Ok(line.ends_with(count).then_some(()))
    };
    tokio::task::block_in_place(|| {
        let all = format!(" {}", count + 1);
        eventually("all are counted", TIMEOUT, || counted("NoSuchMachine", &all)).unwrap();
        machine(plane, "harbour-worker-1", "10.0.0.21", None);
        let subject = ("system:nodes", "system:node:harbour-worker-1");
        ask(plane, "in-between", CLIENT, WORKERS, groups, subject, &[]);
        eventually("the breaker is open", TIMEOUT, || counted("Flood", " 1")).unwrap();
        assert_eq!(pirates().iter().filter(|one| one["status"] == json!({})).count(), count);
        assert_eq!(request(plane, "in-between")["status"], json!({}));
        let (master, node) = ("system:node:harbour-master-0", ["system:nodes", "system:authenticated"]);
        ask(plane, "renewal-in-flood", CLIENT, master, &node, ("system:nodes", master), &[]);
        eventually("a certificate", TIMEOUT, || {
            Ok(request(plane, "renewal-in-flood")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
    });
}
