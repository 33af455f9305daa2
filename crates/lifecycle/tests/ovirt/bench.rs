//! A cluster on an engine of its own, and everything a test does to it.

use std::collections::BTreeSet;

use serde_json::Value;
use slipway_config::ids::InfraId;
use slipway_engine::Outcome;
use slipway_engine::progress::Nobody;
use slipway_lifecycle::create::Request;
use slipway_lifecycle::install::{Error, Purpose, Run};
use slipway_lifecycle::platform::ovirt::{self, OvirtSpec};
use slipway_lifecycle::workspace::Workspace;
use slipway_providers::connector::{Proxy, Trust};
use slipway_providers::ovirt::kinds::State;
use slipway_providers::ovirt::{Client, Server};
use slipway_testkit::engine::inventory::Template;
use slipway_testkit::engine::{ADMIN, Engine, Inventory};
use uuid::Uuid;

use crate::directory::{Directory, Subject, TIMEOUTS, process};

/// Everything that a cluster could leave something of: path and key.
const COLLECTIONS: [&str; 4] = ["vms", "templates", "tags", "disks"];

/// The template machines are made from, and the size of its disk.
pub(crate) const TEMPLATE: &str = "rhcos";
const TEMPLATE_DISK: u64 = 16 << 30;

/// An engine with a template.
pub(crate) fn inventory() -> Inventory {
    let mut inventory = Inventory::default();
    inventory.templates.push(Template {
        name: TEMPLATE.to_owned(),
        os: "rhcos_x64".to_owned(),
        id: None,
        cluster: "Default".to_owned(),
        disk: Some(TEMPLATE_DISK),
        storage_domain: "data1".to_owned(),
    });
    inventory
}

/// A cluster and its directory.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) directory: Directory,
    pub(crate) infra_id: String,
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        Self::on(Engine::start(&inventory()).unwrap(), name, ADMIN, |text| text)
    }

    /// On an engine that is there, as a user of it, with another install-config.
    pub(crate) fn on(
        engine: Engine,
        name: &str,
        (user, password): (&str, &str),
        edit: impl FnOnce(String) -> String,
    ) -> Self {
        let text = format!(
            "apiVersion: v1
baseDomain: example.com
metadata: {{name: {name}}}
controlPlane: {{name: master, replicas: 3, platform: {{ovirt: {{memoryMB: 16384}}}}}}
compute: [{{name: worker, replicas: 2}}]
networking: {{machineNetwork: [{{cidr: 127.30.0.0/16}}]}}
pullSecret: '{{\"auths\":{{\"registry.example.com\":{{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}}}}'
payload: {{releaseImage: \"quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64\"}}
platform:
  ovirt:
    ovirt_cluster_id: Default
    ovirt_storage_domain_id: data1
    ovirt_network_name: ovirtmgmt
    vnicProfileID: ovirtmgmt
    templateName: {TEMPLATE}
    api_vips: [127.30.0.10]
    ingress_vips: [127.30.0.11]
"
        );
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("ovirt-config.yaml");
        let login = serde_json::json!({
            "ovirt_url": engine.url(), "ovirt_username": user, "ovirt_password": password,
            "ovirt_ca_bundle": engine.ca(),
        });
        fs_err::write(&file, login.to_string()).unwrap();
        let environment = [("OVIRT_CONFIG", file.to_str().unwrap())].into_iter().collect();
        let directory = Directory::new(&edit(text), environment, scratch);
        let infra_id = directory.write_files().unwrap();
        Bench { engine, directory, infra_id }
    }

    /// An administrator at the same engine.
    pub(crate) fn by_hand<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, slipway_providers::ovirt::Error>,
    ) -> T {
        let admin = Client::new(Server {
            url: self.engine.url(),
            user: ADMIN.0.to_owned(),
            password: ADMIN.1.into(),
            trust: Trust::Authorities(self.engine.ca().to_owned()),
            proxy: Proxy::None,
            timeout: TIMEOUTS.call,
        });
        process(async {
            let admin = admin.unwrap();
            let done = work(&admin).await.unwrap();
            admin.log_out().await;
            done
        })
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.by_hand(async |admin| admin.post("a test", path, body, Uuid::nil()).await)
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Value {
        self.by_hand(async |admin| admin.put("a test", path, body, Uuid::nil()).await)
    }

    pub(crate) fn delete(&self, path: &str) {
        self.by_hand(async |admin| admin.delete("a test", path, Uuid::nil()).await);
    }

    pub(crate) fn name(&self, role: &str) -> String {
        format!("{}-{role}", self.infra_id)
    }

    /// A virtual machine as an administrator sees it.
    pub(crate) fn machine(&self, role: &str) -> Value {
        let search = format!("/vms?search=name%3D{}&follow=disk_attachments.disk,nics,tags", self.name(role));
        self.engine.list(&search).into_iter().next().unwrap_or_else(|| panic!("no {role}"))
    }

    /// The names of the machines in each affinity group.
    pub(crate) fn groups(&self) -> Vec<(Value, BTreeSet<String>)> {
        let cluster = self.engine.id("clusters", "Default").unwrap();
        let groups = self.engine.list(&format!("/clusters/{cluster}/affinitygroups?follow=vms"));
        let members = |group: &Value| {
            let all = group.pointer("/vms/vm").and_then(Value::as_array).cloned().unwrap_or_default();
            all.iter().map(|vm| vm["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        groups.iter().map(|group| (group.clone(), members(group))).collect()
    }

    /// The directory is lost; the id is known.
    pub(crate) fn destroy_by_id(&self, infra_id: &str) -> Result<Outcome<State>, Error> {
        let infra_id = InfraId::try_from(infra_id.to_owned()).unwrap();
        process(async {
            let open = |request: &Request<'_>| {
                ovirt::open_to_destroy(&mut Workspace::open(request)?, Some(infra_id), TIMEOUTS)
            };
            let mut run = self.directory.request(open)?;
            let planned = run.plan(Purpose::Destroy, &[]).await?;
            let end = std::future::pending();
            let outcome = run.apply(planned, &[], TIMEOUTS, &Nobody, end).await?;
            run.close().await;
            Ok(outcome)
        })
    }
}

impl Subject for Bench {
    type Spec = OvirtSpec;

    fn open(&self, purpose: Purpose) -> Result<Run<OvirtSpec>, Error> {
        self.directory.request(|request| match purpose {
            Purpose::Create => ovirt::open(&mut Workspace::open(request)?, TIMEOUTS),
            _ => ovirt::open_to_destroy(&mut Workspace::open(request)?, None, TIMEOUTS),
        })
    }

    /// As `collection/name`, each as often as it is there.
    fn contents(&self) -> BTreeSet<String> {
        let mut contents = BTreeSet::new();
        for collection in COLLECTIONS {
            for object in self.engine.list(&format!("/{collection}")) {
                let name =
                    object["name"].as_str().or(object["alias"].as_str()).unwrap_or_default().to_owned();
                let copies = (1..).map(|copy| format!("{collection}/{name} {copy}"));
                let free = copies.filter(|name| !contents.contains(name)).take(1).collect::<Vec<_>>();
                contents.extend(free);
            }
        }
        contents.extend(self.groups().iter().map(|(group, _)| format!("affinitygroups/{}", group["name"])));
        contents
    }
}
