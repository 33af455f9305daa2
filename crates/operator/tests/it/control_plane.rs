//! Machines of the control plane come in and leave etcd, under the rights that the manifests give. kubeadm and etcd are left out here;
//! the lab has them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_operator::agents::bootstrap::etcd::EtcdError;
use slipway_operator::controllers::control_plane::{Etcd, Member, run};
use slipway_operator::runtime::host::{Files, ProgramError, Programs};
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::process::eventually;
use tokio::sync::watch;

use crate::shipped;

const NAMESPACE: &str = "openshift-machine-api";
const TIMEOUT: Duration = Duration::from_mins(1);
const CONFIG: &str = "/var/lib/slipway/upload-certificates.yaml";

/// etcd, and the programs of a machine.
#[derive(Clone)]
struct Toy {
    files: Files,
    members: Arc<Mutex<Vec<Member>>>,
    run: Arc<Mutex<Vec<String>>>,
}

impl Etcd for Toy {
    async fn members(&self) -> Result<Vec<Member>, EtcdError> {
        Ok(self.members.lock().unwrap().clone())
    }

    async fn remove(&self, _: &[Member], id: &str) -> Result<(), EtcdError> {
        self.members.lock().unwrap().retain(|member| member.id != id);
        Ok(())
    }
}

impl Programs for Toy {
    async fn run(&self, program: &str, arguments: &[&str], _: Duration) -> Result<(), ProgramError> {
        let config = self.files.read(CONFIG).unwrap();
        assert!(
            config.contains("certificateKey: abc") && config.contains("kubernetesVersion: v1.34.4"),
            "{config}"
        );
        assert!(!arguments.iter().any(|argument| argument.contains("abc")), "keys are no arguments");
        self.run.lock().unwrap().push(format!("{program} {}", arguments[3..].join(" ")));
        Ok(())
    }
}

fn member(name: &str, is_healthy: bool) -> Member {
    let (id, name) = (format!("id-{name}"), name.to_owned());
    Member { id, name, addresses: Vec::new(), is_learner: false, is_healthy }
}

struct Place<'a> {
    plane: &'a ControlPlane,
}

impl Place<'_> {
    fn machine(&self, name: &str, annotations: &Value) {
        let metadata = json!({
            "name": name, "namespace": NAMESPACE, "annotations": annotations, "finalizers": ["test/keep"],
            "labels": {"machine.openshift.io/cluster-api-machine-role": "master"},
        });
        let machine = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata,
            "spec": {"providerSpec": {"value": {}}, "lifecycleHooks": {"preDrain": [{"name": "other", "owner": "team"}]}},
        });
        self.plane.kubectl().apply_value(&machine).unwrap();
    }

    fn hooks(&self, name: &str) -> Vec<String> {
        let machine = self.plane.kubectl().json(&["get", "machine", name, "--namespace", NAMESPACE]).unwrap();
        let hooks = machine["spec"]["lifecycleHooks"]["preDrain"].as_array().cloned().unwrap_or_default();
        hooks.iter().map(|hook| hook["name"].as_str().unwrap().to_owned()).collect()
    }

    fn events(&self) -> String {
        let all =
            self.plane.kubectl().json(&["get", "events.events.k8s.io", "--namespace", NAMESPACE]).unwrap();
        let events = all["items"].as_array().unwrap().iter();
        events.map(|event| format!("{} {}\n", event["reason"], event["note"])).collect()
    }

    fn userdata(&self) -> String {
        let place = ["get", "secret", "master-user-data", "--namespace", NAMESPACE];
        let secret = self.plane.kubectl().json(&place).unwrap();
        String::from_utf8(STANDARD.decode(secret["data"]["userData"].as_str().unwrap()).unwrap()).unwrap()
    }
}

/// What the cluster was made with.
fn secrets(plane: &ControlPlane) {
    let join = "kind: JoinConfiguration\ncontrolPlane:\n  certificateKey: abc\n";
    let source = format!("data:;base64,{}", STANDARD.encode(join));
    let config = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{"path": "/etc/slipway/kubeadm-join.yaml", "contents": {"source": source}}]},
    });
    let pointer = json!({"ignition": {"version": "3.2.0", "config": {"merge": [{
        "source": "https://10.0.0.2:22623/config/master",
        "httpHeaders": [{"name": "Authorization", "value": "Bearer old"}],
    }]}}});
    let secret = |name: &str, namespace: &str, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": data,
        })
    };
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
        "data": {"ClusterConfiguration": "kind: ClusterConfiguration\nkubernetesVersion: v1.34.4\n"},
    });
    let objects = [
        secret(
            "machine-config-master",
            "kube-system",
            json!({"config.ign": config.to_string(), "tokens": ""}),
        ),
        secret("master-user-data", NAMESPACE, json!({"userData": pointer.to_string()})),
        map,
    ];
    plane.kubectl().apply_all(&objects).unwrap();
}

/// Of a control plane that has the account.
pub(crate) async fn machines_leave_etcd_before_they_go(plane: &ControlPlane) {
    tokio::task::block_in_place(|| {
        plane.install_definitions(&["openshift/machines.machine.openshift.io"]).unwrap();
        secrets(plane);
    });
    let folder = tempfile::tempdir().unwrap();
    let toy = Toy {
        files: Files::below(folder.path()),
        members: Arc::new(Mutex::new(["a", "b", "c"].map(|name| member(name, true)).into())),
        run: Arc::default(),
    };
    let client = shipped::account(plane, "slipway-control-plane").await;
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn({
        let toy = toy.clone();
        async move { run(client, "a", toy.files.clone(), toy.clone(), toy, stopped).await }
    });
    tokio::task::block_in_place(|| {
        let place = Place { plane };
        for name in ["a", "b", "c"] {
            place.machine(name, &json!({}));
        }
        for name in ["a", "b", "c"] {
            wait("the hook, beside that of others", || place.hooks(name) == ["other", "EtcdMember"]);
        }
        // A new one, which joins with what lasts some hours only.
        place.machine("d", &json!({"cluster.x-k8s.io/paused": "slipway-control-plane"}));
        wait("it may be made", || {
            let found = plane.kubectl().json(&["get", "machine", "d", "--namespace", NAMESPACE]).unwrap();
            found["metadata"]["annotations"]["cluster.x-k8s.io/paused"].is_null()
        });
        let run = toy.run.lock().unwrap().clone();
        assert!(run.len() == 1 && run[0].starts_with("chroot kubeadm init phase upload-certs"), "{run:?}");
        assert!(!toy.files.exists(CONFIG), "the key stays on no disk");
        assert!(!place.userdata().contains("Bearer old"), "{}", place.userdata());

        // etcd keeps its majority, however Machines are deleted.
        *toy.members.lock().unwrap() =
            vec![member("a", true), member("b", false), member("c", true), member("d", true)];
        plane
            .kubectl()
            .run(&["delete", "machine", "a", "b", "--namespace", NAMESPACE, "--wait=false"])
            .unwrap();
        wait("the one that does not work may go", || place.hooks("b") == ["other"]);
        wait("then the other", || place.hooks("a") == ["other"]);
        let left: Vec<String> =
            toy.members.lock().unwrap().iter().map(|member| member.name.clone()).collect();
        assert_eq!(left, ["c", "d"]);
        *toy.members.lock().unwrap() = vec![member("c", true), member("d", false)];
        plane.kubectl().run(&["delete", "machine", "c", "--namespace", NAMESPACE, "--wait=false"]).unwrap();
        wait("told why", || {
            place.events().contains("of the 1 members of etcd that would be left 0 are healthy")
        });
        assert_eq!(place.hooks("c"), ["other", "EtcdMember"]);
        for name in ["a", "b", "c", "d"] {
            let patch = r#"{"metadata": {"finalizers": null}}"#;
            plane
                .kubectl()
                .run(&[
                    "patch",
                    "machine",
                    name,
                    "--namespace",
                    NAMESPACE,
                    "--type",
                    "merge",
                    "--patch",
                    patch,
                ])
                .unwrap();
        }
    });
    stop.send_replace(true);
    running.await.unwrap();
}

fn wait(what: &str, check: impl Fn() -> bool) {
    eventually(what, TIMEOUT, || Ok(check().then_some(()))).unwrap();
}
