//! A small stand-in for virt-controller, virt-handler and CDI: what moves objects on.
//!
//! It imports and clones volumes, makes an instance for every machine that is to run and lets it run once its disks and its
//! Secret are there, ends it when the machine is halted or deleted, and holds a deleted machine by a finalizer until then.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::kubectl::Kubectl;

const FINALIZER: &str = "kubevirt.io/virtualMachineControllerFinalize";
const TURN_INTERVAL: Duration = Duration::from_millis(50);

/// Plays in one namespace until it is dropped.
#[derive(Debug)]
pub struct StandIn {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    pub fn start(kubectl: &Kubectl, namespace: &str) -> Self {
        let (stop, stopped) = channel();
        let stage = Stage { kubectl: kubectl.clone(), namespace: namespace.to_owned() };
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(TURN_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // Another writer was first: the next turn sees it.
                if let Err(error) = stage.turn() {
                    eprintln!("the stand-in of KubeVirt: {error:#}");
                }
            }
        });
        StandIn { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Stage {
    kubectl: Kubectl,
    namespace: String,
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn find<'v>(objects: &'v [Value], kind: &str, called: &str) -> Option<&'v Value> {
    objects.iter().find(|object| object["kind"] == kind && name(object) == called)
}

/// What an object is removed with.
fn owner(object: &Value) -> Value {
    json!([{
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": name(object),
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

impl Stage {
    fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.kubectl.run(&[arguments, &["--namespace", &self.namespace]].concat())
    }

    fn turn(&self) -> anyhow::Result<()> {
        let kinds = "virtualmachines,virtualmachineinstances,datavolumes";
        let listed = self.run(&["get", kinds, "--output", "json"])?;
        let mut listed: Value = serde_json::from_str(&listed).context("a list")?;
        let objects: Vec<Value> = serde_json::from_value(listed["items"].take())?;
        for object in &objects {
            match text(object, "/kind") {
                "DataVolume" => self.fill(object, &objects)?,
                "VirtualMachine" => self.play(object, &objects)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn patch(&self, object: &Value, change: &Value, part: Option<&str>) -> anyhow::Result<()> {
        let kind = text(object, "/kind").to_lowercase();
        let change = change.to_string();
        let mut arguments = vec!["patch", &*kind, name(object), "--type=merge", "--patch", &*change];
        let part = part.map(|part| format!("--subresource={part}"));
        arguments.extend(part.as_deref());
        self.run(&arguments).map(drop)
    }

    /// Others have finalizers on it too, such as the one of a deletion in the foreground.
    fn hold(&self, machine: &Value, finalizers: &[Value]) -> anyhow::Result<()> {
        let version = &machine["metadata"]["resourceVersion"];
        self.patch(
            machine,
            &json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}}),
            None,
        )
    }

    /// A volume is imported in two turns, and cloned when its source is there.
    fn fill(&self, volume: &Value, objects: &[Value]) -> anyhow::Result<()> {
        if volume["metadata"]["deletionTimestamp"].is_string() {
            return Ok(());
        }
        let source = text(volume, "/spec/source/pvc/name");
        let is_ready = source.is_empty()
            || find(objects, "DataVolume", source)
                .is_some_and(|source| text(source, "/status/phase") == "Succeeded");
        let status = match text(volume, "/status/phase") {
            _ if !is_ready => return Ok(()),
            "" if source.is_empty() => json!({"phase": "ImportInProgress", "progress": "42.0%"}),
            "Succeeded" => return Ok(()),
            _ => {
                let claim = json!({"accessModes": ["ReadWriteMany"], "resources": volume["spec"]["pvc"]["resources"]});
                self.create("v1", "PersistentVolumeClaim", volume, &owner(volume), &claim)?;
                json!({"phase": "Succeeded", "progress": "100.0%"})
            }
        };
        self.patch(volume, &json!({"status": status}), Some("status"))
    }

    fn play(&self, machine: &Value, objects: &[Value]) -> anyhow::Result<()> {
        let called = name(machine);
        let instance = find(objects, "VirtualMachineInstance", called);
        let mut finalizers = machine["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let is_held = finalizers.iter().any(|one| one == FINALIZER);
        let is_leaving = machine["metadata"]["deletionTimestamp"].is_string();
        if is_leaving || text(machine, "/spec/runStrategy") == "Halted" {
            if instance.is_some() {
                self.run(&["delete", "virtualmachineinstance", called, "--wait=false"])?;
            } else if is_leaving && is_held {
                finalizers.retain(|one| one != FINALIZER);
                self.hold(machine, &finalizers)?;
            }
        }
        if is_leaving {
            return Ok(());
        }
        if !is_held {
            finalizers.push(json!(FINALIZER));
            self.hold(machine, &finalizers)?;
        }
        let owner = owner(machine);
        let mut disks_ready = true;
        for template in machine["spec"]["dataVolumeTemplates"].as_array().into_iter().flatten() {
            let volume = find(objects, "DataVolume", name(template));
            disks_ready &= volume.is_some_and(|volume| text(volume, "/status/phase") == "Succeeded");
            if volume.is_none() {
                self.create("cdi.kubevirt.io/v1beta1", "DataVolume", template, &owner, &template["spec"])?;
            }
        }
        if text(machine, "/spec/runStrategy") != "Always" {
            return Ok(());
        }
        let template = &machine["spec"]["template"];
        match instance.map(|instance| (instance, text(instance, "/status/phase"))) {
            None => {
                let mut template = template.clone();
                template["metadata"]["name"] = json!(called);
                self.create("kubevirt.io/v1", "VirtualMachineInstance", &template, &owner, &template["spec"])
            }
            Some((_, "Running")) => Ok(()),
            Some((instance, _)) if disks_ready && self.has_secrets(template) => {
                let address = format!("10.9.0.{}", 10 + called.bytes().map(u32::from).sum::<u32>() % 200);
                let interfaces = json!([{"name": "main", "ipAddress": address, "ipAddresses": [address]}]);
                let status = json!({"phase": "Running", "interfaces": interfaces, "nodeName": "node-0"});
                self.patch(instance, &json!({"status": status}), None)
            }
            Some((_, "Scheduling")) => Ok(()),
            Some((instance, _)) => self.patch(instance, &json!({"status": {"phase": "Scheduling"}}), None),
        }
    }

    /// Without its Secret a machine does not come up.
    fn has_secrets(&self, template: &Value) -> bool {
        let volumes = template["spec"]["volumes"].as_array();
        let mut secrets = volumes.into_iter().flatten().filter_map(|volume| {
            volume.pointer("/cloudInitConfigDrive/secretRef/name").and_then(Value::as_str)
        });
        secrets.all(|secret| self.run(&["get", "secret", secret, "--output=name"]).is_ok())
    }

    fn create(
        &self,
        version: &str,
        kind: &str,
        like: &Value,
        owner: &Value,
        spec: &Value,
    ) -> anyhow::Result<()> {
        let object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": {
                "name": name(like),
                "namespace": self.namespace,
                "labels": like["metadata"]["labels"],
                "ownerReferences": owner,
            },
            "spec": spec,
        });
        self.kubectl.apply_value(&object).map(drop)
    }
}
