//! From answers to a document.

use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use slipway_config::findings::Findings;
use slipway_config::yaml::{self, At, Limits, to_yaml};

use super::families::inner_networks;
use super::{
    Answers, Error, FailureDomainAnswers, KubeVirtAnswers, OvirtAnswers, PasswordAt, PlatformKind,
    VCenterAnswers, VSphereAnswers, VSphereTopology,
};
use crate::credentials::to_json;

/// The names OpenShift's installer gives to the one failure domain of its survey.
const FAILURE_DOMAIN: [(&str, &str); 3] =
    [("name", "generated-failure-domain"), ("region", "generated-region"), ("zone", "generated-zone")];

/// The text of an install-config. A file that the answers do not change is taken as it is, comments included.
pub(super) fn text(answers: &Answers, from: Option<&str>) -> Result<String, Error> {
    let given = given(answers);
    let mut document = match from {
        Some(text) if given.is_empty() && answers.platform.is_none() => return Ok(text.to_owned()),
        Some(text) => read(text)?,
        None => json!({"apiVersion": "v1"}),
    };
    let platform = platform(answers, &document, from.is_some())?;
    let elsewhere: Vec<&str> =
        given.iter().filter(|(_, platforms)| !platforms.contains(&platform)).map(|(flag, _)| *flag).collect();
    if !elsewhere.is_empty() {
        return Err(Error::Elsewhere { flags: elsewhere, platform: platform.as_str() });
    }
    if from.is_none() {
        let missing = missing(answers, platform);
        if !missing.is_empty() {
            return Err(Error::Missing { flags: missing });
        }
    }
    apply(answers, platform, &mut document)?;
    Ok(to_yaml(&document))
}

fn read(text: &str) -> Result<Value, Error> {
    let mut findings = Findings::default();
    match yaml::parse(text, Limits::default(), &mut findings) {
        Some(document) => Ok(to_json(&document, At::ROOT)),
        None => Err(Error::Invalid { report: Box::new(findings.report(None, text)), source_file: true }),
    }
}

/// The platform that was asked for, or the one of the file.
fn platform(answers: &Answers, document: &Value, from_file: bool) -> Result<PlatformKind, Error> {
    let given = PlatformKind::ALL.into_iter().find(|kind| !document["platform"][kind.as_str()].is_null());
    match (answers.platform, given) {
        (Some(asked), Some(given)) if asked != given => {
            Err(Error::Platform { asked: asked.as_str(), given: given.as_str() })
        }
        (Some(platform), _) | (None, Some(platform)) => Ok(platform),
        (None, None) => {
            let mut flags = vec!["--platform"];
            if !from_file {
                flags.extend(needed(answers).into_iter().filter(|(_, there)| !there).map(|(flag, _)| flag));
            }
            Err(Error::Missing { flags })
        }
    }
}

/// The answers that were given, and the platforms they are for.
fn given(answers: &Answers) -> Vec<(&'static str, &'static [PlatformKind])> {
    use PlatformKind::{KubeVirt, None, Ovirt, VSphere};
    const ALL: &[PlatformKind] = &[VSphere, Ovirt, KubeVirt, None];
    const VIRTUAL: &[PlatformKind] = &[VSphere, Ovirt, KubeVirt];
    let Answers {
        platform: _,
        name,
        base_domain,
        ssh_key,
        pull_secret,
        release_image,
        os_image,
        control_plane_replicas,
        compute_replicas,
        machine_networks,
        api_vips,
        ingress_vips,
        network,
        vsphere:
            VSphereAnswers {
                server,
                port: _,
                user,
                password,
                thumbprint,
                datacenter,
                cluster,
                datastore,
                topology,
            },
        ovirt: OvirtAnswers { cluster_id, storage_domain_id, vnic_profile_id },
        kubevirt: KubeVirtAnswers { namespace, storage_class },
    } = answers;
    let all: [(&'static str, bool, &'static [PlatformKind]); 26] = [
        ("--name", name.is_some(), ALL),
        ("--base-domain", base_domain.is_some(), ALL),
        ("--ssh-key-file", ssh_key.is_some(), ALL),
        ("--pull-secret-file", pull_secret.is_some(), ALL),
        ("--release-image", release_image.is_some(), ALL),
        ("--os-image", os_image.is_some(), &[VSphere]),
        ("--control-plane-replicas", control_plane_replicas.is_some(), ALL),
        ("--compute-replicas", compute_replicas.is_some(), ALL),
        ("--machine-network", !machine_networks.is_empty(), ALL),
        ("--api-vip", !api_vips.is_empty(), VIRTUAL),
        ("--ingress-vip", !ingress_vips.is_empty(), VIRTUAL),
        ("--network", network.is_some(), VIRTUAL),
        ("--vcenter", server.is_some(), &[VSphere]),
        ("--vcenter-user", user.is_some(), &[VSphere]),
        ("--vcenter-password-file", matches!(password, Some(PasswordAt::File(_))), &[VSphere]),
        ("--vcenter-password-env", matches!(password, Some(PasswordAt::Env(_))), &[VSphere]),
        ("--vcenter-thumbprint", thumbprint.is_some(), &[VSphere]),
        ("--failure-domain", topology.is_some(), &[VSphere]),
        ("--datacenter", datacenter.is_some(), &[VSphere]),
        ("--compute-cluster", cluster.is_some(), &[VSphere]),
        ("--datastore", datastore.is_some(), &[VSphere]),
        ("--ovirt-cluster-id", cluster_id.is_some(), &[Ovirt]),
        ("--ovirt-storage-domain-id", storage_domain_id.is_some(), &[Ovirt]),
        ("--vnic-profile-id", vnic_profile_id.is_some(), &[Ovirt]),
        ("--namespace", namespace.is_some(), &[KubeVirt]),
        ("--storage-class", storage_class.is_some(), &[KubeVirt]),
    ];
    all.into_iter().filter(|(_, given, _)| *given).map(|(flag, _, platforms)| (flag, platforms)).collect()
}

/// What every platform needs, and whether it is there.
fn needed(answers: &Answers) -> Vec<(&'static str, bool)> {
    vec![
        ("--name", answers.name.is_some()),
        ("--base-domain", answers.base_domain.is_some()),
        ("--pull-secret-file", answers.pull_secret.is_some()),
    ]
}

/// Answers without which nothing useful can be written.
fn missing(answers: &Answers, platform: PlatformKind) -> Vec<&'static str> {
    let VSphereAnswers { server, user, password, datacenter, cluster, datastore, .. } = &answers.vsphere;
    let OvirtAnswers { cluster_id, storage_domain_id, vnic_profile_id } = &answers.ovirt;
    let vips =
        [("--api-vip", !answers.api_vips.is_empty()), ("--ingress-vip", !answers.ingress_vips.is_empty())];
    let mut needed = needed(answers);
    match platform {
        PlatformKind::VSphere if answers.vsphere.topology.is_some() => needed.extend(vips),
        PlatformKind::VSphere => {
            needed.extend([
                ("--vcenter", server.is_some()),
                ("--vcenter-user", user.is_some()),
                ("--vcenter-password-file or --vcenter-password-env", password.is_some()),
                ("--datacenter", datacenter.is_some()),
                ("--compute-cluster", cluster.is_some()),
                ("--datastore", datastore.is_some()),
                ("--network", answers.network.is_some()),
            ]);
            needed.extend(vips);
        }
        PlatformKind::Ovirt => {
            needed.extend([
                ("--ovirt-cluster-id", cluster_id.is_some()),
                ("--ovirt-storage-domain-id", storage_domain_id.is_some()),
                ("--vnic-profile-id", vnic_profile_id.is_some()),
            ]);
            needed.extend(vips);
        }
        PlatformKind::KubeVirt => {
            needed.push(("--namespace", answers.kubevirt.namespace.is_some()));
            // On the pod network there are no virtual IPs.
            if answers.network.is_some() {
                needed.extend(vips);
            }
        }
        PlatformKind::None => {}
    }
    needed.into_iter().filter(|(_, there)| !there).map(|(flag, _)| flag).collect()
}

fn apply(answers: &Answers, platform: PlatformKind, document: &mut Value) -> Result<(), Error> {
    let mut root = Node::of(document, String::new())?;
    root.set("baseDomain", answers.base_domain.as_ref());
    if let Some(name) = &answers.name {
        root.child("metadata")?.set("name", Some(name));
    }
    if let Some(image) = &answers.release_image {
        root.child("payload")?.set("releaseImage", Some(image));
    }
    if let Some(replicas) = answers.control_plane_replicas {
        let mut pool = root.child("controlPlane")?;
        pool.default("name", "master");
        pool.set("replicas", Some(replicas));
    }
    if let Some(replicas) = answers.compute_replicas {
        let mut pool = root.only("compute", "compute pools")?;
        pool.default("name", "worker");
        pool.set("replicas", Some(replicas));
    }
    if !answers.machine_networks.is_empty() {
        let networks: Vec<Value> =
            answers.machine_networks.iter().map(|cidr| json!({"cidr": cidr})).collect();
        let mut networking = root.child("networking")?;
        networking.set("machineNetwork", Some(networks));
        if let Some((pods, services)) = inner_networks(&answers.machine_networks) {
            networking.default("clusterNetwork", pods);
            networking.default("serviceNetwork", services);
        }
    }
    let mut platforms = root.child("platform")?;
    let mut section = platforms.child(platform.as_str())?;
    match platform {
        PlatformKind::VSphere => vsphere(answers, &mut section)?,
        PlatformKind::Ovirt => {
            let OvirtAnswers { cluster_id, storage_domain_id, vnic_profile_id } = &answers.ovirt;
            section.set("ovirt_cluster_id", cluster_id.as_ref());
            section.set("ovirt_storage_domain_id", storage_domain_id.as_ref());
            section.set("ovirt_network_name", answers.network.as_ref());
            section.set("vnicProfileID", vnic_profile_id.as_ref());
            section.set("api_vips", list(&answers.api_vips));
            section.set("ingress_vips", list(&answers.ingress_vips));
        }
        PlatformKind::KubeVirt => {
            let KubeVirtAnswers { namespace, storage_class } = &answers.kubevirt;
            section.set("namespace", namespace.as_ref());
            section.set("networkName", answers.network.as_ref());
            section.set("apiVIP", single(&answers.api_vips));
            section.set("ingressVIP", single(&answers.ingress_vips));
            section.set("storageClass", storage_class.as_ref());
        }
        PlatformKind::None => {}
    }
    root.set("pullSecret", answers.pull_secret.as_ref().map(|secret| secret.expose_secret().trim()));
    root.set("sshKey", answers.ssh_key.as_ref().map(|key| key.trim()));
    Ok(())
}

fn vsphere(answers: &Answers, section: &mut Node<'_>) -> Result<(), Error> {
    let VSphereAnswers { server, port, user, password, thumbprint, datacenter, cluster, datastore, topology } =
        &answers.vsphere;
    section.set("apiVIPs", list(&answers.api_vips));
    section.set("ingressVIPs", list(&answers.ingress_vips));
    section.set("clusterOSImage", answers.os_image.as_ref());
    if let Some(VSphereTopology { vcenters, failure_domains }) = topology {
        section.set("vcenters", Some(vcenters.iter().map(vcenter_of).collect::<Vec<_>>()));
        section.set("failureDomains", Some(failure_domains.iter().map(domain_of).collect::<Vec<_>>()));
        return Ok(());
    }
    let login = user.is_some() || password.is_some() || thumbprint.is_some();
    if server.is_some() || login || datacenter.is_some() {
        let mut vcenter = section.only("vcenters", "vCenters")?;
        if server.is_some() {
            // Another server, another port.
            vcenter.remove(&["port"]);
        }
        vcenter.set("server", server.as_ref());
        vcenter.set("port", *port);
        vcenter.set("user", user.as_ref());
        if let Some(password) = password {
            vcenter.remove(&["password", "passwordFile", "passwordEnv"]);
            let (key, value) = password_field(password);
            vcenter.set(key, Some(value));
        }
        if let Some(thumbprint) = thumbprint {
            vcenter.set("tls", Some(json!({"thumbprint": thumbprint})));
        }
        vcenter.set("datacenters", datacenter.as_ref().map(|datacenter| vec![datacenter]));
    }
    let placed = [server, datacenter, cluster, datastore, &answers.network];
    if placed.iter().all(|answer| answer.is_none()) {
        return Ok(());
    }
    let mut domain = section.only("failureDomains", "failure domains")?;
    for (key, value) in FAILURE_DOMAIN {
        domain.default(key, value);
    }
    domain.set("server", server.as_ref());
    let mut topology = domain.child("topology")?;
    topology.set("datacenter", datacenter.as_ref());
    let datacenter = topology.get("datacenter").unwrap_or_default();
    topology.set("computeCluster", cluster.as_ref().map(|name| path(&datacenter, "host", name)));
    topology.set("datastore", datastore.as_ref().map(|name| path(&datacenter, "datastore", name)));
    topology.set("networks", answers.network.as_ref().map(|network| vec![network]));
    Ok(())
}

fn vcenter_of(vcenter: &VCenterAnswers) -> Value {
    let VCenterAnswers { server, port, user, password, thumbprint, datacenters } = vcenter;
    let mut value = json!({"server": server});
    if let Some(port) = port {
        value["port"] = json!(port);
    }
    value["user"] = json!(user);
    let (key, password) = password_field(password);
    value[key] = json!(password);
    value["datacenters"] = json!(datacenters);
    if let Some(thumbprint) = thumbprint {
        value["tls"] = json!({"thumbprint": thumbprint});
    }
    value
}

fn domain_of(domain: &FailureDomainAnswers) -> Value {
    let FailureDomainAnswers { names, server, datacenter, cluster, datastore, network } = domain;
    let mut value = json!({});
    for (position, (key, default)) in FAILURE_DOMAIN.into_iter().enumerate() {
        value[key] = names.as_ref().map_or(json!(default), |names| json!(names[position]));
    }
    value["server"] = json!(server);
    value["topology"] = json!({
        "datacenter": datacenter,
        "computeCluster": path(datacenter, "host", cluster),
        "datastore": path(datacenter, "datastore", datastore),
        "networks": [network],
    });
    value
}

fn password_field(password: &PasswordAt) -> (&'static str, String) {
    match password {
        PasswordAt::File(path) => ("passwordFile", path.display().to_string()),
        PasswordAt::Env(name) => ("passwordEnv", name.clone()),
        PasswordAt::Inline(secret) => ("password", secret.expose_secret().to_owned()),
    }
}

/// The inventory path of an object that may be given by its name alone.
fn path(datacenter: &str, branch: &str, name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{datacenter}/{branch}/{name}") }
}

fn list(items: &[String]) -> Option<&[String]> {
    (!items.is_empty()).then_some(items)
}

/// One value, or whatever else was given for the rules to judge.
fn single(items: &[String]) -> Option<Value> {
    match items {
        [] => None,
        [item] => Some(json!(item)),
        several => Some(json!(several)),
    }
}

/// A mapping of the document, and how it is called.
struct Node<'a> {
    members: &'a mut Map<String, Value>,
    path: String,
}

impl<'a> Node<'a> {
    /// What is there becomes a mapping, if it is one or nothing.
    fn of(value: &'a mut Value, path: String) -> Result<Self, Error> {
        if value.is_null() {
            *value = json!({});
        }
        match value {
            Value::Object(members) => Ok(Node { members, path }),
            _ => Err(Error::Unexpected { field: path, expected: "a mapping" }),
        }
    }

    fn child(&mut self, key: &str) -> Result<Node<'_>, Error> {
        let path = format!("{}{}{key}", self.path, if self.path.is_empty() { "" } else { "." });
        Node::of(self.members.entry(key).or_insert(Value::Null), path)
    }

    /// The one entry of a list, which is added if there is none.
    fn only(&mut self, key: &str, what: &'static str) -> Result<Node<'_>, Error> {
        let path = format!("{}{}{key}", self.path, if self.path.is_empty() { "" } else { "." });
        let list = self.members.entry(key).or_insert(Value::Null);
        if list.is_null() || list.as_array().is_some_and(Vec::is_empty) {
            *list = json!([null]);
        }
        match list.as_array_mut().map(Vec::as_mut_slice) {
            Some([one]) => Node::of(one, format!("{path}[0]")),
            Some(several) => Err(Error::Several { what, count: several.len() }),
            None => Err(Error::Unexpected { field: path, expected: "a list" }),
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        self.members.get(key)?.as_str().map(str::to_owned)
    }

    fn set(&mut self, key: &str, value: Option<impl Into<Json>>) {
        if let Some(value) = value {
            self.members.insert(key.to_owned(), value.into().0);
        }
    }

    fn default(&mut self, key: &str, value: impl Into<Value>) {
        if self.members.get(key).is_none_or(Value::is_null) {
            self.members.insert(key.to_owned(), value.into());
        }
    }

    fn remove(&mut self, keys: &[&str]) {
        self.members.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Anything that has a JSON form.
struct Json(Value);

impl<T: serde::Serialize> From<T> for Json {
    fn from(value: T) -> Self {
        Json(json!(value))
    }
}
