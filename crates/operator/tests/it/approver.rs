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
use serde_json::{Value, json};
use slipway_assets::kubernetes::{NAMESPACE, UNSEEN_APPROVAL};
use slipway_lifecycle::access::connect;
use slipway_operator::csr::approve::survey;
use slipway_operator::csr::controller::{Settings, run};
use slipway_operator::csr::host::Host;
use slipway_operator::csr::metrics::Metrics;
use slipway_operator::csr::{Bootstrapper, Refusal, Roster, Verdict, bindings, hosts};
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::process::eventually;
use tokio::sync::watch;

use crate::shipped;

const PATIENCE: Duration = Duration::from_mins(1);
pub(crate) const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const MASTERS: &str = "system:bootstrap:aaaaaa";
const WORKERS: &str = "system:bootstrap:bbbbbb";

fn plane() -> ControlPlane {
    let plane =
        ControlPlane::start(Options { beside: &[Beside::Controllers], ..Options::default() }).unwrap();
    plane.install_definitions(&["openshift/machines.machine.openshift.io"]).unwrap();
    shipped::apply(&plane, &["slipway-csr-approver"]);
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

/// As `slipway-operator csr-approver` in a cluster: with the account that the manifests have for it.
async fn approver(
    plane: &ControlPlane,
    metrics: Metrics,
    stop: watch::Receiver<bool>,
) -> tokio::task::JoinHandle<()> {
    let client = shipped::account(plane, "slipway-csr-approver").await;
    let bootstrappers =
        [format!("master={MASTERS}"), format!("worker={WORKERS}")].map(|one| Bootstrapper::of(&one).unwrap());
    let (sender, roster) = watch::channel(Roster::named_alike());
    tokio::spawn(hosts::follow(client.clone(), NAMESPACE.to_owned(), sender, stop.clone()));
    let unwanted = UNSEEN_APPROVAL.map(str::to_owned).into();
    tokio::spawn(bindings::keep_away(client.clone(), unwanted, stop.clone()));
    let settings = Settings {
        bootstrappers: bootstrappers.into(),
        namespace: NAMESPACE.to_owned(),
        vips: vec!["10.0.0.2".parse().unwrap()],
        roster,
        refused: watch::Sender::default(),
    };
    tokio::spawn(run(client, settings, metrics, stop))
}

#[tokio::test(flavor = "multi_thread")]
async fn good_requests_become_certificates_and_bad_ones_stay() {
    let plane = tokio::task::block_in_place(plane);
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
    hosts::remember(&admin, NAMESPACE, &metal).await.unwrap();
    hosts::remember_name(&admin, NAMESPACE, "metal-2").await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let mut registry = Registry::default();
    let task = approver(&plane, Metrics::register(&mut registry), stopped).await;
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
        for name in ["first", "first-master", "renewal", "serving", "metal", "metal-client", "by-hand"] {
            eventually("a certificate", PATIENCE, || {
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
            assert_eq!(eventually("an event", PATIENCE, told).unwrap(), [reason], "{name}");
        }
        // Addresses that arrive late are judged when they do; everything else is judged again, and told once.
        machine(&plane, "harbour-master-0", "10.0.0.99", Some("harbour-master-0"));
        eventually("a certificate", PATIENCE, || {
            Ok(request(&plane, "late")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
        for (name, reason) in refused.into_iter().filter(|(name, _)| *name != "late") {
            assert_eq!(request(&plane, name)["status"], json!({}), "{name} stays pending");
            assert_eq!(events(&plane, name), [reason], "{name}");
        }
    });
    another_key_is_for_an_administrator(&plane, &admin).await;
    flood(&plane, &registry, &bootstrapper).await;
    stop.send(true).unwrap();
    task.await.unwrap();
}

/// What an administrator approves becomes the machine's key; what would let certificates be approved unseen is gone.
async fn another_key_is_for_an_administrator(plane: &ControlPlane, admin: &kube::Client) {
    let bootstrapper = Bootstrapper::of(&format!("worker={WORKERS}")).unwrap();
    let judged = survey(admin, vec![bootstrapper], &[], &Roster::default()).await.unwrap();
    let second = judged.iter().find(|one| one.csr.name == "second").unwrap();
    assert!(matches!(second.verdict, Verdict::Refuse(Refusal::AnotherKey { .. })), "{:?}", second.verdict);
    second.remember(admin, NAMESPACE, None).await.unwrap();
    tokio::task::block_in_place(|| {
        // Whatever changes has everything judged again.
        machine(plane, "harbour-worker-0", "10.0.0.22", None);
        eventually("a certificate", PATIENCE, || {
            Ok(request(plane, "second")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
        for name in UNSEEN_APPROVAL {
            eventually("the binding is gone", PATIENCE, || {
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
        eventually("all are counted", PATIENCE, || counted("NoSuchMachine", &all)).unwrap();
        machine(plane, "harbour-worker-1", "10.0.0.21", None);
        let subject = ("system:nodes", "system:node:harbour-worker-1");
        ask(plane, "in-between", CLIENT, WORKERS, groups, subject, &[]);
        eventually("the breaker is open", PATIENCE, || counted("Flood", " 1")).unwrap();
        assert_eq!(pirates().iter().filter(|one| one["status"] == json!({})).count(), count);
        assert_eq!(request(plane, "in-between")["status"], json!({}));
        let (master, node) = ("system:node:harbour-master-0", ["system:nodes", "system:authenticated"]);
        ask(plane, "renewal-in-flood", CLIENT, master, &node, ("system:nodes", master), &[]);
        eventually("a certificate", PATIENCE, || {
            Ok(request(plane, "renewal-in-flood")["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap();
    });
}
