//! Where a running cluster says which vCenters it uses: OpenShift's Infrastructure, or our own connections.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::core::DeserializeGuard;
use secrecy::SecretString;
use serde_json::Value;
use slipway_api::slipway::connection::{Tls, VSphereConnection};
use slipway_api::slipway::login::{SERVER_KEY, bound};
use slipway_config::driver_config::{cloud, csi};
use slipway_config::install_config::vsphere::RegionKind;
use slipway_providers::cluster::{call, or_absent};
use slipway_providers::vsphere::{Login, Trust};

use super::{Error, list};
use crate::check::target::{CheckTarget, Declared, Domain, NoLogin, Source, VCenter, Zone, absolute};

/// Where OpenShift keeps the cloud provider's configuration, unless Infrastructure says otherwise.
const CLOUD_CONFIG: (&str, &str, &str) = ("openshift-config", "cloud-provider-config", "config");
/// Where it keeps the users and passwords of vCenters, and where the storage driver has them.
const LOGINS: [(&str, &str); 2] =
    [("kube-system", "vsphere-creds"), ("openshift-cluster-csi-drivers", "vmware-vsphere-cloud-credentials")];
/// Where the storage driver's configuration is: ours, and OpenShift's.
const STORAGE_CONFIG: [(&str, &str, &str); 2] = [
    ("vmware-system-csi", "vsphere-config-secret", "csi-vsphere.conf"),
    ("openshift-cluster-csi-drivers", "vsphere-csi-config-secret", "cloud.conf"),
];

pub(super) async fn subject(client: &Client, operator_namespace: Option<&str>) -> Result<CheckTarget, Error> {
    let infrastructure = infrastructure(client).await?;
    let mut subject = CheckTarget::default();
    if let Some(found) = &infrastructure {
        found
            .pointer("/status/infrastructureName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .clone_into(&mut subject.name);
        subject.cluster_id = Some(subject.name.clone()).filter(|name| !name.is_empty());
        of_infrastructure(client, found, &mut subject).await?;
    }
    let connections = connections(client, operator_namespace).await?;
    for connection in connections {
        if !subject.vcenters.iter().any(|known| known.server == connection.server) {
            subject.vcenters.push(connection);
        }
    }
    for (namespace, name, key) in STORAGE_CONFIG {
        let Some(text) = secret_key(client, namespace, name, key).await? else { continue };
        let Some(config) = csi::read(&text).config else { continue };
        if !config.global.cluster_id.is_empty() {
            subject.cluster_id = Some(config.global.cluster_id.clone());
        }
        let vcenters =
            config.vcenters.iter().map(|(server, vcenter)| (server.clone(), vcenter.datacenters.clone()));
        subject.declared.push(Declared { by: Source::StorageConfig, vcenters: vcenters.collect() });
        break;
    }
    if subject.vcenters.is_empty() {
        return Err(Error::NoVCenters);
    }
    if subject.name.is_empty() {
        subject.name = subject.cluster_id.clone().unwrap_or_else(|| "cluster".to_owned());
    }
    Ok(subject)
}

async fn infrastructure(client: &Client) -> Result<Option<Value>, Error> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "Infrastructure");
    let resource = ApiResource::from_gvk_with_plural(&kind, "infrastructures");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = or_absent(call("reading the Infrastructure", api.get_opt("cluster")).await)?;
    Ok(found.map(|found| found.data).filter(is_on_vsphere))
}

/// Clusters that are older than the list of vCenters only say what they run on.
fn is_on_vsphere(infrastructure: &Value) -> bool {
    let says = |path: &str| infrastructure.pointer(path).and_then(Value::as_str) == Some("VSphere");
    infrastructure.pointer("/spec/platformSpec/vsphere").is_some()
        || ["/spec/platformSpec/type", "/status/platformStatus/type", "/status/platform"]
            .into_iter()
            .any(says)
}

async fn secret(client: &Client, namespace: &str, name: &str) -> Result<BTreeMap<String, String>, Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = or_absent(call(&format!("reading Secret `{namespace}/{name}`"), api.get_opt(name)).await)?;
    let data = found.and_then(|secret| secret.data).unwrap_or_default();
    let text = data.into_iter().filter_map(|(key, value)| Some((key, String::from_utf8(value.0).ok()?)));
    Ok(text.collect())
}

async fn secret_key(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<Option<String>, Error> {
    Ok(secret(client, namespace, name).await?.remove(key))
}

async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<Option<String>, Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = or_absent(call(&format!("reading ConfigMap `{namespace}/{name}`"), api.get_opt(name)).await)?;
    Ok(found.and_then(|map| map.data?.remove(key)))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

async fn of_infrastructure(client: &Client, found: &Value, subject: &mut CheckTarget) -> Result<(), Error> {
    let at = |path: &str| found.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = at("/spec/cloudConfig/name").unwrap_or(CLOUD_CONFIG.1);
    let key = at("/spec/cloudConfig/key").unwrap_or(CLOUD_CONFIG.2);
    let text = config_map(client, CLOUD_CONFIG.0, name, key).await?;
    let config = text.and_then(|text| cloud::read(&text).config);
    let workspace = config.as_ref().map(|config| config.legacy.workspace.clone());
    let cloud = config.map(|config| config.effective());
    let mut logins = BTreeMap::new();
    for (namespace, name) in LOGINS {
        // What the first has, the second does not replace.
        for (key, value) in secret(client, namespace, name).await? {
            logins.entry(key).or_insert(value);
        }
    }
    let platform = found.pointer("/spec/platformSpec/vsphere").cloned().unwrap_or_default();
    let listed = platform.get("vcenters").and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut declared = Vec::new();
    for vcenter in &listed {
        let server = text(vcenter, "server");
        declared.push((server.clone(), strings(vcenter.get("datacenters"))));
        let port = vcenter.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
        let configured = cloud.iter().flatten().find(|known| known.server.eq_ignore_ascii_case(&server));
        subject.vcenters.push(VCenter {
            port: port.filter(|port| *port != 0).or(configured.map(|known| known.port)).unwrap_or(443),
            trust: configured.map_or(Trust::System, trust),
            login: login(&logins, &server),
            resources: Vec::new(),
            server,
        });
    }
    // A cluster that is older than the list has its vCenter in the cloud provider's configuration only.
    if listed.is_empty() {
        for known in cloud.iter().flatten() {
            subject.vcenters.push(VCenter {
                server: known.server.clone(),
                port: known.port,
                trust: trust(known),
                login: login(&logins, &known.server),
                resources: Vec::new(),
            });
        }
    } else {
        subject.declared.push(Declared { by: Source::Infrastructure, vcenters: declared });
    }
    if let Some(cloud) = cloud {
        let vcenters = cloud.into_iter().map(|known| (known.server, known.datacenters)).collect();
        subject.declared.push(Declared { by: Source::CloudConfig, vcenters });
    }
    let domains = platform.get("failureDomains").and_then(Value::as_array).into_iter().flatten();
    subject.domains = domains.map(domain).collect();
    if subject.domains.is_empty() {
        subject.domains.extend(workspace.as_ref().and_then(workspace_domain));
    }
    Ok(())
}

/// Where the provider inside old Kubernetes put machines and volumes: the only failure domain there was.
fn workspace_domain(workspace: &cloud::Workspace) -> Option<Domain> {
    let cloud::Workspace { server, datacenter, folder, default_datastore, resourcepool_path } = workspace;
    if server.is_empty() || datacenter.is_empty() || default_datastore.is_empty() {
        return None;
    }
    let datacenter = absolute(datacenter);
    let path = |branch: &str, name: &str| match name {
        "" => None,
        name if name.starts_with('/') => Some(name.to_owned()),
        name => Some(format!("{datacenter}/{branch}/{name}")),
    };
    let pool = path("host", resourcepool_path);
    let cluster = pool.as_deref().and_then(|pool| Some(pool.split_once("/Resources")?.0.to_owned()));
    Some(Domain {
        name: "workspace".to_owned(),
        server: server.clone(),
        region: String::new(),
        region_kind: RegionKind::Datacenter,
        zone: String::new(),
        zone_kind: Zone::Cluster,
        datastore: path("datastore", default_datastore)?,
        folder: path("vm", folder),
        networks: Vec::new(),
        cluster,
        pool,
        datacenter,
    })
}

/// The authority's file is in a pod, and not here: then the system's trust must do.
fn trust(vcenter: &cloud::EffectiveVCenter) -> Trust {
    if vcenter.insecure {
        return Trust::Anything;
    }
    fingerprint(&vcenter.thumbprint).map_or(Trust::System, Trust::Fingerprint)
}

fn fingerprint(text: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> =
        text.split(':').map(|byte| u8::from_str_radix(byte.trim(), 16).ok()).collect();
    bytes.filter(|bytes| matches!(bytes.len(), 20 | 32))
}

fn login(keys: &BTreeMap<String, String>, server: &str) -> Result<Login, NoLogin> {
    let (namespace, name) = LOGINS[0];
    pair(keys, &format!("{server}.username"), &format!("{server}.password"), &format!("{namespace}/{name}"))
}

/// User and password under two keys of a Secret.
fn pair(keys: &BTreeMap<String, String>, user: &str, password: &str, secret: &str) -> Result<Login, NoLogin> {
    let get = |key: &str| keys.get(key).filter(|value| !value.is_empty());
    let found = get(user).zip(get(password));
    found
        .map(|(user, password)| Login { user: user.clone(), password: SecretString::from(password.as_str()) })
        .ok_or_else(|| NoLogin::Missing(format!("the Secret `{secret}` has no `{user}` and `{password}`")))
}

fn domain(object: &Value) -> Domain {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let maybe = |path: &str| Some(text(path)).filter(|text| !text.is_empty());
    let zone = match &*text("/zoneAffinity/type") {
        "HostGroup" => Zone::HostGroup {
            hosts: text("/zoneAffinity/hostGroup/hostGroup"),
            machines: maybe("/zoneAffinity/hostGroup/vmGroup"),
            rule: maybe("/zoneAffinity/hostGroup/vmHostRule"),
        },
        _ => Zone::Cluster,
    };
    Domain {
        name: text("/name"),
        server: text("/server"),
        region: text("/region"),
        region_kind: match &*text("/regionAffinity/type") {
            "ComputeCluster" => RegionKind::ComputeCluster,
            _ => RegionKind::Datacenter,
        },
        zone: text("/zone"),
        zone_kind: zone,
        datacenter: absolute(&text("/topology/datacenter")),
        cluster: maybe("/topology/computeCluster"),
        datastore: text("/topology/datastore"),
        pool: maybe("/topology/resourcePool"),
        folder: maybe("/topology/folder"),
        networks: strings(object.pointer("/topology/networks")),
    }
}

async fn connections(client: &Client, namespace: Option<&str>) -> Result<Vec<VCenter>, Error> {
    let api: Api<DeserializeGuard<VSphereConnection>> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let found = or_absent(list(&api, &ListParams::default(), "connections").await)?;
    let mut vcenters = Vec::new();
    for object in found {
        // The controller of connections reports one that cannot be read.
        let Ok(connection) = object.0 else { continue };
        let namespace = connection.metadata.namespace.clone().unwrap_or_default();
        let spec = &connection.spec;
        let keys = secret(client, &namespace, &spec.credentials_secret.name).await?;
        let secret = format!("{namespace}/{}", spec.credentials_secret.name);
        // A login is shown to no server that its Secret does not name.
        let said = keys.get(SERVER_KEY).map(String::as_str);
        let login = bound(&secret, said, &spec.server)
            .map_err(|unbound| NoLogin::Missing(unbound.to_string()))
            .and_then(|()| pair(&keys, "username", "password", &secret));
        let mut resources: Vec<String> = spec.datacenters.iter().map(|name| absolute(name)).collect();
        resources.extend(spec.resources.iter().map(|resource| resource.path.clone()));
        vcenters.push(VCenter {
            server: spec.server.clone(),
            port: spec.port,
            trust: connection_trust(client, &namespace, spec.tls.as_ref()).await?,
            login,
            resources,
        });
    }
    Ok(vcenters)
}

async fn connection_trust(client: &Client, namespace: &str, tls: Option<&Tls>) -> Result<Trust, Error> {
    let Some(tls) = tls else { return Ok(Trust::System) };
    if let Some(source) = &tls.ca_bundle {
        let pem = config_map(client, namespace, &source.name, &source.key).await?;
        // Without the bundle nothing is trusted, rather than something else.
        return Ok(Trust::Authorities(pem.unwrap_or_default()));
    }
    if tls.insecure == Some(true) {
        return Ok(Trust::Anything);
    }
    Ok(tls
        .thumbprint
        .as_deref()
        .map_or(Trust::System, |text| Trust::Fingerprint(fingerprint(text).unwrap_or_default())))
}
