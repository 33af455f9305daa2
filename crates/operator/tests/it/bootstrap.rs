//! The agent's stages on a real control plane, with kubeadm and etcd left out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use slipway_assess::csr::{Bootstrapper, Machine, Roster};
use slipway_assets::kubernetes::record::{Record, Stage};
use slipway_assets::kubernetes::{ClusterFacts, JOIN_TOKEN_FILE, NAMESPACE, RECORD_FILE};
use slipway_operator::agents::bootstrap::{Agent, Ledger, Steps, publish};
use slipway_operator::controllers::csr::controller::{Settings, run};
use slipway_operator::controllers::csr::metrics;
use slipway_operator::runtime::host::{Files, ProgramError, Programs};
use slipway_operator::runtime::watches::Watches;
use slipway_operator::server::machine_config::cluster::ClusterSource;
use slipway_operator::server::machine_config::role::Role;
use slipway_operator::server::machine_config::rotate::{Rotated, rotate};
use slipway_operator::server::machine_config::source::Source;
use slipway_operator::server::machine_config::token::{Admission, Tokens};
use slipway_providers::cluster::connect;
use slipway_testkit::control_plane::{Beside, ControlPlane, Options};
use slipway_testkit::process::eventually;
use tokio::sync::watch;

use crate::approver::{CLIENT, ask, events, request};
use crate::served::{MASTER_TOKEN, SECRET, ignition, tokens};

const TIMEOUT: Duration = Duration::from_mins(1);

/// Notes what it is asked to run.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Programs for Noted {
    async fn run(&self, program: &str, arguments: &[&str], _: Duration) -> Result<(), ProgramError> {
        self.0.lock().unwrap().push(format!("{program} {}", arguments.join(" ")));
        Ok(())
    }
}

fn facts() -> ClusterFacts {
    serde_json::from_value(json!({
        "name": "harbour", "infraId": "harbour-x", "domain": "harbour.example.com", "platform": "vsphere",
        "version": "v1.34.4", "controlPlaneReplicas": 3, "computeReplicas": 0, "bootstrapTokens": {"master": "ghijkl", "worker": "abcdef"},
    }))
    .unwrap()
}

/// What Ignition would have written.
fn machine(files: &Files) {
    let write = |path: &str, text: &str| files.write(format!("/etc/slipway/{path}"), 0o600, text).unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Boat", "plural": "boats", "singular": "boat"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    // An object before its definition, and both before their namespace.
    write(
        "manifests/10.yaml",
        "{apiVersion: example.com/v1, kind: Boat, metadata: {name: dinghy, namespace: slipway-system}}",
    );
    write("manifests/20.json", &definition.to_string());
    write("openshift/30.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: slipway-system}}");
    write(
        "network/cni.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cni, namespace: kube-system}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: cni}\n",
    );
    for role in ["master", "worker"] {
        write(&format!("machine-config/{role}.ign"), &ignition("3.2.0"));
        write(&format!("machine-config/{role}.tokens"), &tokens(MASTER_TOKEN));
    }
    let joins = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{"path": JOIN_TOKEN_FILE, "contents": {"source": "data:,abcdef.0000000000000000"}}]},
    });
    write("machine-config/worker.ign", &joins.to_string());
    write("tls/machine-config-server.crt", "certificate");
    write("tls/machine-config-server.key", "key");
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_can_be_run_again_and_machines_come_in_one_by_one() {
    let plane = tokio::task::block_in_place(|| {
        ControlPlane::start(Options { beside: &[Beside::Controllers], ..Options::default() }).unwrap()
    });
    let kubectl = plane.kubectl();
    let folder = tempfile::tempdir().unwrap();
    let files = Files::below(folder.path());
    machine(&files);
    tokio::task::block_in_place(|| {
        let role = "--clusterrole=view";
        let binding = "kubeadm:node-autoapprove-bootstrap";
        kubectl.run(&["create", "clusterrolebinding", binding, role, "--group=a"]).unwrap();
        let role = "--clusterrole=system:node-bootstrapper";
        kubectl.run(&["create", "clusterrolebinding", "ask", role, "--group=system:authenticated"]).unwrap();
    });
    let client = connect(Some(plane.kubeconfig()), None).await.unwrap();
    let ledger = Arc::new(Ledger::open(files.clone(), Timestamp::now()).unwrap());
    let programs = Noted::default();
    let agent = Agent::new(
        "/etc/slipway",
        files.clone(),
        programs.clone(),
        facts(),
        Arc::clone(&ledger),
        metrics::Metrics::default(),
    )
    .with_client(client.clone());

    // As after a power cut: each stage once more than it needs.
    for stage in [Stage::Api, Stage::NetworkPlugin, Stage::Manifests, Stage::Complete] {
        for _ in 0..2 {
            ledger.begin(stage, Timestamp::now()).unwrap();
            agent.perform(stage).await.unwrap_or_else(|error| panic!("{stage:?}: {error}"));
            ledger.end(stage, Ok(()), Timestamp::now()).unwrap();
        }
    }
    tokio::task::block_in_place(|| {
        let get = |arguments: &[&str]| kubectl.json(&[&["get"], arguments].concat());
        assert!(get(&["clusterrolebinding", "kubeadm:node-autoapprove-bootstrap"]).is_err());
        get(&["namespace", "cni"]).unwrap();
        get(&["configmap", "cni", "--namespace", "kube-system"]).unwrap();
        get(&["boat", "dinghy", "--namespace", "slipway-system"]).unwrap();
        let completion = get(&["configmap", "bootstrap", "--namespace", "kube-system"]).unwrap();
        assert_eq!(completion["data"]["status"], "complete");
    });
    assert!(programs.0.lock().unwrap().is_empty(), "nothing of this is a program's work");

    publish::publish(&client, &ledger.record()).await.unwrap();
    let published = tokio::task::block_in_place(|| {
        let map =
            kubectl.json(&["get", "configmap", "slipway-bootstrap", "--namespace", "kube-system"]).unwrap();
        serde_json::from_str::<Record>(map["data"]["record"].as_str().unwrap()).unwrap()
    });
    assert_eq!(published, ledger.record());
    assert_eq!(published, serde_json::from_str(&files.read(RECORD_FILE).unwrap()).unwrap());

    let roles = ["master", "worker"].map(|role| role.parse().unwrap());
    let source = ClusterSource::new(client.clone(), "a", roles);
    configurations_come_from_the_cluster(&plane, client.clone(), source).await;
    one_by_one(&plane, client).await;
}

async fn configurations_come_from_the_cluster(
    plane: &ControlPlane,
    client: kube::Client,
    source: ClusterSource,
) {
    let role = |name: &str| name.parse::<Role>().unwrap();
    let bearer = format!("Bearer {MASTER_TOKEN}");
    let admission = async || {
        let offer = source.offer(&role("master")).await.unwrap().unwrap();
        let text = offer.render(offer.version()).unwrap();
        assert!(String::from_utf8_lossy(&text).contains(SECRET));
        offer.tokens().admit(Some(bearer.as_bytes()), Timestamp::now())
    };
    assert!(source.is_ready().await);
    assert_eq!(source.tls().await.unwrap(), (b"certificate".to_vec(), b"key".to_vec()));
    assert_eq!(admission().await, Admission::Admitted);
    // All machines of the control plane are there: their token ends.
    let tokens_of = |role: &str| {
        let secret = format!("machine-config-{role}");
        let secret = tokio::task::block_in_place(|| {
            plane.kubectl().json(&["get", "secret", &secret, "--namespace", "kube-system"]).unwrap()
        });
        let text = STANDARD.decode(secret["data"]["tokens"].as_str().unwrap()).unwrap();
        Tokens::parse(&String::from_utf8(text).unwrap()).unwrap()
    };
    let admits = |role: &str, token: &str, hours: i64| {
        let at = Timestamp::now() + SignedDuration::from_hours(hours);
        tokens_of(role).admit(Some(format!("Bearer {token}").as_bytes()), at)
    };
    assert_eq!(admits("master", MASTER_TOKEN, 25), Admission::Expired);
    assert_eq!(admits("worker", MASTER_TOKEN, 25), Admission::Admitted);
    assert!(source.offer(&role("infra")).await.unwrap().is_none());
    // Whoever is let in gets a token that is good: the first one is not there any more.
    let stored = source.offer(&role("worker")).await.unwrap().unwrap();
    let [one, other] = [
        source.hand_out(&role("worker"), Arc::clone(&stored)).await.unwrap(),
        source.hand_out(&role("worker"), Arc::clone(&stored)).await.unwrap(),
    ];
    let text = one.config().text(JOIN_TOKEN_FILE).unwrap();
    assert!(text.starts_with("abcdef.") && text.trim() != "abcdef.0000000000000000", "{text}");
    assert!(Arc::ptr_eq(&one, &other), "it is created once");
    let master = source.offer(&role("master")).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&master, &source.hand_out(&role("master"), Arc::clone(&master)).await.unwrap()));
    // A token is rotated in the running cluster, and new machines get the new one.
    let pointer = |token: &str| {
        let headers = json!([{"name": "Authorization", "value": format!("Bearer {token}")}]);
        let server = json!({"source": "https://10.0.0.2:22623/config/worker", "httpHeaders": headers});
        json!({"ignition": {"version": "3.2.0", "config": {"merge": [server]}}})
    };
    let user_data = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"userData": pointer(MASTER_TOKEN).to_string()},
        "metadata": {"name": "worker-user-data", "namespace": "openshift-machine-api"},
    });
    tokio::task::block_in_place(|| {
        plane.kubectl().run(&["create", "namespace", "openshift-machine-api"]).unwrap();
        plane.kubectl().apply_value(&user_data).unwrap();
    });
    let keep = SignedDuration::from_hours(2);
    let Rotated { token, pointer: rewritten } =
        rotate(&client, &role("worker"), Timestamp::now(), keep, None).await.unwrap();
    assert_eq!(rewritten.as_deref(), Some("worker-user-data"));
    let secret = tokio::task::block_in_place(|| {
        let place = ["--namespace", "openshift-machine-api"];
        plane.kubectl().json(&[&["get", "secret", "worker-user-data"], &place[..]].concat()).unwrap()
    });
    let text = STANDARD.decode(secret["data"]["userData"].as_str().unwrap()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), pointer(token.expose_secret()));
    assert_eq!(admits("worker", token.expose_secret(), 25), Admission::Admitted);
    assert_eq!(admits("worker", MASTER_TOKEN, 1), Admission::Admitted, "machines are on their way");
    assert_eq!(admits("worker", MASTER_TOKEN, 3), Admission::Expired);
    let unknown = rotate(&client, &role("infra"), Timestamp::now(), keep, None).await.unwrap_err();
    assert!(unknown.to_string().contains("no Secret `machine-config-infra`"), "{unknown}");
    let patch = |patch: Value| {
        tokio::task::block_in_place(|| {
            let patch = patch.to_string();
            let place = ["--namespace", "kube-system", "--type", "merge", "--patch", &patch];
            plane
                .kubectl()
                .run(&[&["patch", "secret", "machine-config-master"], &place[..]].concat())
                .unwrap();
        });
    };
    patch(json!({"stringData": {"tokens": tokens("another")}}));
    let withdrawn = async {
        while admission().await != Admission::Wrong {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, withdrawn).await.unwrap();
    patch(json!({"stringData": {"config.ign": "half a file"}}));
    let broken = async {
        while source.offer(&role("master")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, broken).await.unwrap();
}

async fn one_by_one(plane: &ControlPlane, client: kube::Client) {
    let machine = |name: &str| Machine {
        name: name.to_owned(),
        internal_names: [name.to_owned()].into(),
        names: [name.to_owned()].into(),
        addresses: ["10.0.0.10".parse().unwrap()].into(),
        ..Machine::default()
    };
    let roster = Roster {
        named_alike: true,
        expected: ["harbour-x-master-0", "harbour-x-master-1"].map(machine).into(),
        held: [("harbour-x-master-1".to_owned(), "it is the turn of another".to_owned())].into(),
        ..Roster::default()
    };
    let roster = watch::Sender::new(roster);
    let (stop, stopped) = watch::channel(false);
    let bootstrapper = Bootstrapper::of("system:bootstrap:abcdef").unwrap();
    let settings = Settings {
        bootstrappers: vec![bootstrapper],
        namespace: NAMESPACE.to_owned(),
        vips: Vec::new(),
        roster: roster.subscribe(),
        refused: watch::Sender::default(),
    };
    let task = tokio::spawn(run(Watches::new(client), settings, metrics::Metrics::default(), stopped));
    let approved = |name: &str| {
        eventually("a certificate", TIMEOUT, || {
            Ok(request(plane, name)["status"]["certificate"].as_str().map(|_| ()))
        })
        .unwrap_or_else(|error| panic!("{name}: {error}: {:?}", events(plane, name)));
    };
    tokio::task::block_in_place(|| {
        let groups = ["system:bootstrappers", "system:bootstrappers:slipway", "system:authenticated"];
        for (name, node) in [("first", "harbour-x-master-0"), ("second", "harbour-x-master-1")] {
            let subject = format!("system:node:{node}");
            ask(plane, name, CLIENT, "system:bootstrap:abcdef", &groups, ("system:nodes", &subject), &[]);
        }
        approved("first");
        let told = || Ok(Some(events(plane, "second")).filter(|events| !events.is_empty()));
        assert_eq!(eventually("an event", TIMEOUT, told).unwrap(), ["NotItsTurn"]);
        assert_eq!(request(plane, "second")["status"], json!({}));
        roster.send_modify(|roster| roster.held.clear());
        approved("second");
        // One that was given nobody's name.
        let stranger = ("system:nodes", "system:node:harbour-x-master-9");
        ask(plane, "stranger", CLIENT, "system:bootstrap:abcdef", &groups, stranger, &[]);
        let told = || Ok(Some(events(plane, "stranger")).filter(|events| !events.is_empty()));
        assert_eq!(eventually("an event", TIMEOUT, told).unwrap(), ["NoSuchMachine"]);
    });
    stop.send(true).unwrap();
    task.await.unwrap();
}
