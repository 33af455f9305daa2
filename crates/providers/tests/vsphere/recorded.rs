//! Our requests beside govmomi's. A real vCenter refuses elements in the wrong order, and tokens and logins that are
//! not just so; the simulator takes nearly anything.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use slipway_providers::vsphere::authorization::Permission;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::import::{ImportError, ImportSpec};
use slipway_providers::vsphere::machines::{
    CloneSpec, ConfigSpec, Devices, DiskMove, DiskSpec, Network, Provisioning,
};
use slipway_providers::vsphere::ova::Ova;
use slipway_providers::vsphere::placement::{Edit, Group, Members, Rule, RuleKind};
use slipway_providers::vsphere::soap::{Element, element};
use slipway_providers::vsphere::{Client, Endpoint, MoRef, Proxy, Reference, Trust};
use slipway_testkit::peers;
use slipway_testkit::scratch::Scratch;

use crate::login;

/// What both clients ask on the way and what is not compared: how each gets at its objects is its own affair.
const HOUSEKEEPING: [&str; 9] = [
    "RetrieveServiceContent",
    "RetrieveProperties",
    "RetrievePropertiesEx",
    "QueryOptions",
    "SsoGroupcheckServiceInstance",
    "CreatePropertyCollector",
    "HttpNfcLeaseAbort",
    "upload",
    "CreateFilter",
];

#[derive(Debug, Deserialize)]
struct Request {
    agent: String,
    path: String,
    action: String,
    method: String,
    body: String,
}

struct Recorder {
    child: Child,
    port: u16,
    http: reqwest::Client,
}

impl Recorder {
    fn start() -> Self {
        // It ends when its input does.
        let mut child = Command::new(peers::find("recorder").unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let http =
            reqwest::Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().build().unwrap();
        Recorder { child, port: line.trim().parse().unwrap(), http }
    }

    async fn ask(&self, method: reqwest::Method, path: &str, body: &str) -> String {
        let url = format!("https://127.0.0.1:{}/recorder/{path}", self.port);
        let response = self.http.request(method, url).body(body.to_owned()).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {text}");
        text
    }

    async fn requests(&self) -> Vec<Request> {
        serde_json::from_str(&self.ask(reqwest::Method::GET, "requests", "").await).unwrap()
    }

    fn client(&self) -> Client {
        let endpoint = Endpoint {
            server: "127.0.0.1".into(),
            port: self.port,
            trust: Trust::Anything,
            proxy: Proxy::None,
            timeout: Duration::from_secs(10),
        };
        Client::new(endpoint, login("ops@vsphere.local", "p&<w>")).unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The calls of `peers/recorder/calls.go`, in the same order and with the same values.
async fn make_calls(client: &Client, scratch: &Scratch) {
    let at = |kind, id| client.moref(Reference::new(kind, id));
    let (source, other) = (at("VirtualMachine", "vm-1"), at("VirtualMachine", "vm-2"));
    let (folder, pool) = (at("Folder", "group-v3"), at("ResourcePool", "resgroup-8"));
    let (datastore, host) = (at("Datastore", "datastore-11"), at("HostSystem", "host-9"));
    let network = at("Network", "network-1");
    tokens(client).await;
    let hardware = client.hardware(std::slice::from_ref(&source)).await.unwrap().remove(&source).unwrap();
    let modes = [Provisioning::Thin, Provisioning::Thick, Provisioning::EagerlyZeroed];
    let devices = Devices {
        networks: vec![
            Network::Standard { name: "a & b".to_owned(), network: network.clone() },
            Network::Distributed {
                switch_uuid: "50 0b".to_owned(),
                portgroup_key: "dvportgroup-7".to_owned(),
            },
            Network::Opaque { id: "id".to_owned(), kind: "nsx.LogicalSwitch".to_owned() },
        ],
        disk_gib: Some(120),
        data_disks: modes.map(|provisioning| DiskSpec { size_gib: 3, provisioning }).to_vec(),
    };
    let text = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let config = ConfigSpec {
        instance_uuid: Some("5012".to_owned()),
        annotation: Some("a & b".to_owned()),
        disk_uuids: Some(true),
        cpus: Some(4),
        cores_per_socket: Some(2),
        memory_mib: Some(8192),
        devices: hardware.changes(&devices).unwrap(),
        extra_config: text(&[("guestinfo.ignition.config.data", "e30K <&>"), ("stealclock.enable", "TRUE")]),
    };
    let mut spec = CloneSpec {
        name: "node/0".to_owned(),
        folder: folder.clone(),
        pool: Some(pool.clone()),
        datastore: Some(datastore.clone()),
        host: Some(host.clone()),
        disks: DiskMove::Full,
        template: false,
        config,
    };
    client.clone_machine(&source, &spec).await.unwrap();
    spec = CloneSpec {
        name: "linked".to_owned(),
        datastore: None,
        host: None,
        disks: DiskMove::Linked { snapshot: at("VirtualMachineSnapshot", "snapshot-5") },
        template: true,
        config: ConfigSpec::default(),
        ..spec
    };
    client.clone_machine(&source, &spec).await.unwrap();
    let change = ConfigSpec {
        annotation: Some("changed".to_owned()),
        cpus: Some(8),
        memory_mib: Some(4096),
        devices: vec![hardware.disks[0].detach()],
        extra_config: text(&[("guestinfo.x", "")]),
        ..ConfigSpec::default()
    };
    client.reconfigure(&source, &change).await.unwrap();
    let both = [source.clone(), other.clone()];
    // The task has no end here; the request is what counts.
    let datacenter = at("Datacenter", "datacenter-2");
    client.power_on_all(&datacenter, &both, Duration::from_millis(1)).await.unwrap_err();
    client.create_folder(&folder, "a/b & c").await.unwrap();
    client.move_into(&folder, &both).await.unwrap();
    client.rename(&source, "x<y").await.unwrap();
    client.destroy(&source).await.unwrap();
    client.remove_folder(&folder).await.unwrap();
    placement(client, &both, &host).await;
    import(client, scratch, &[folder, pool, datastore.clone(), host, network]).await.unwrap();
    let privileges = ["Datastore.Browse", "System.View"].map(str::to_owned).into();
    client.create_role("r & s", &privileges).await.unwrap();
    let principal = "VSPHERE.LOCAL\\node".to_owned();
    let permission = Permission { principal, group: false, role: 7, propagate: true };
    client.set_permissions(&datastore, &[permission]).await.unwrap();
    let policy = client.policy_named("gold").await.unwrap().unwrap();
    client.delete_policy(&policy.id).await.unwrap();
    let volumes = client.volumes("ours").await.unwrap();
    let ids: Vec<&str> = volumes.iter().map(|volume| &*volume.id).collect();
    assert_eq!(ids, ["1", "2", "3"], "two pages");
    client.delete_volume("1", Duration::from_millis(1)).await.unwrap_err();
}

async fn tokens(client: &Client) {
    client.property(&client.manager("rootFolder").await.unwrap(), "name").await.unwrap();
    let token = client.token().await.unwrap();
    client.log_in_by_token(&token).await.unwrap();
    let directory = client.directory().await.unwrap();
    directory.find("node", "vsphere.local").await.unwrap();
    directory.create("node", "a & b", &SecretString::from("one<two")).await.unwrap();
    directory.reset_password("node", &SecretString::from("two>one")).await.unwrap();
    directory.delete("node").await.unwrap();
}

async fn placement(client: &Client, machines: &[MoRef], host: &MoRef) {
    let rule =
        |key, name: &str, mandatory, kind| Rule { key, name: name.into(), enabled: true, mandatory, kind };
    let group = |name: &str, members| Group { name: name.to_owned(), members };
    let on = RuleKind::VmHost { machines: "g".to_owned(), hosts: "h".to_owned() };
    let edits = [
        Edit::AddRule(rule(0, "apart", false, RuleKind::AntiAffinity(machines.to_vec()))),
        Edit::EditRule(rule(4, "on", true, on)),
        Edit::RemoveRule { key: 3 },
        Edit::AddGroup(group("g", Members::Machines(machines[..1].to_vec()))),
        Edit::EditGroup(group("h", Members::Hosts(vec![host.clone()]))),
        Edit::RemoveGroup { name: "old".to_owned() },
    ];
    let cluster = client.moref(Reference::new("ClusterComputeResource", "domain-c8"));
    client.change_placement(&cluster, &edits).await.unwrap();
}

async fn import(client: &Client, scratch: &Scratch, objects: &[MoRef; 5]) -> Result<MoRef, ImportError> {
    let descriptor = br#"<Envelope xmlns:ovf="o"><NetworkSection><Network ovf:name="VM &amp; Network"/></NetworkSection></Envelope>"#;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in [("a.ovf", &descriptor[..]), ("disk.vmdk", b"disk")] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content).unwrap();
    }
    let ova = Ova::open(&scratch.write("a.ova", archive.into_inner().unwrap()).unwrap()).unwrap();
    let [folder, pool, datastore, host, network] = objects.clone();
    let spec = ImportSpec {
        name: "template".to_owned(),
        folder,
        pool,
        datastore,
        host: Some(host),
        networks: BTreeMap::from([("VM & Network".to_owned(), network)]),
        provisioning: Provisioning::Thin,
        instance_uuid: None,
        extra_config: BTreeMap::new(),
    };
    client.import(&ova, &spec, Duration::from_secs(10), |_| {}).await
}

/// One line per element, in order: name, type, text. What is drawn or read from a clock is left out.
fn lines(element: &Element, depth: usize, lines: &mut Vec<String>) {
    let text = match &*element.name {
        "Created" | "Expires" => "(a time)",
        _ => &element.text,
    };
    let kind = element.kind();
    lines.push(format!("{}{} {kind} {text:?}", "  ".repeat(depth), element.name));
    for child in &element.children {
        self::lines(child, depth + 1, lines);
    }
}

fn written(request: &Request) -> String {
    let root = element::parse(request.body.as_bytes()).unwrap();
    let mut all = Vec::new();
    for part in &root.children {
        lines(part, 0, &mut all);
    }
    // The reader drops namespaces and attributes, so the ones that matter are looked at in the text.
    let start = request.body.split_once(&format!("<{} xmlns=\"", request.method)).map(|(_, rest)| rest);
    let namespace = start.and_then(|rest| rest.split('"').next()).unwrap_or("(no namespace)");
    let renewing = request.body.contains("<Renewing Allow=\"false\" OK=\"false\">");
    let head = format!("{} {} {namespace} {renewing}", request.path, request.action.trim_end_matches('/'));
    format!("{head}\n{}\n", all.join("\n"))
}

#[tokio::test]
async fn requests_are_those_of_govmomi() {
    let scratch = Scratch::new("recorder").unwrap();
    let recorder = Recorder::start();
    let client = recorder.client();
    make_calls(&client, &scratch).await;
    recorder.ask(reqwest::Method::POST, "govmomi", "").await;
    let requests = recorder.requests().await;
    let mut ours: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut theirs = ours.clone();
    for request in requests.iter().filter(|request| !HOUSEKEEPING.contains(&&*request.method)) {
        let side = if request.agent.starts_with("slipway/") { &mut ours } else { &mut theirs };
        let requests = side.entry(&request.method).or_default();
        requests.push(written(request));
        // How often a token is asked for does not matter.
        requests.dedup();
    }
    assert_eq!(theirs.len(), 27, "{:?}", theirs.keys());
    let differences: Vec<String> = theirs
        .iter()
        .filter_map(|(method, theirs)| {
            difference(method, &ours.remove(method).unwrap_or_default().concat(), &theirs.concat())
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    scratch.settle();
}

fn difference(method: &str, ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let mut shown = format!("{method} is not what govmomi sends (-), but this (+):\n");
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
    let same = ours.iter().zip(&theirs).take_while(|(one, other)| one == other).count();
    for (sign, lines) in [('-', theirs), ('+', ours)] {
        for line in lines.iter().skip(same.saturating_sub(3)).take(12) {
            shown.push_str(&format!("{sign}{line}\n"));
        }
    }
    Some(shown)
}

/// Disks go to a host whose certificate only the vCenter knows; its word is taken, and nobody else's.
#[tokio::test]
async fn a_host_is_trusted_as_the_vcenter_says() {
    let scratch = Scratch::new("recorder").unwrap();
    let recorder = Recorder::start();
    let client = recorder.client();
    let at = |kind, id| client.moref(Reference::new(kind, id));
    let objects = [
        at("Folder", "group-v3"),
        at("ResourcePool", "resgroup-8"),
        at("Datastore", "datastore-11"),
        at("HostSystem", "host-9"),
        at("Network", "network-1"),
    ];
    let machine = import(&client, &scratch, &objects).await.unwrap();
    assert_eq!(machine, at("VirtualMachine", "vm-7"));
    let requests = recorder.requests().await;
    let upload = requests.iter().find(|request| request.method == "upload").unwrap();
    assert_eq!((&*upload.body, &*upload.action), ("disk", "application/x-vnd.vmware-streamVmdk 4"));
    recorder.ask(reqwest::Method::POST, "host", &["AB"; 20].join(":")).await;
    match import(&client, &scratch, &objects).await {
        Err(ImportError::Call(error)) => assert!(matches!(error.source, Cause::Untrusted(_)), "{error:?}"),
        other => panic!("{other:?}"),
    }
    let requests = recorder.requests().await;
    let count = |method: &str| requests.iter().filter(|request| request.method == method).count();
    assert_eq!((count("upload"), count("HttpNfcLeaseComplete"), count("HttpNfcLeaseAbort")), (1, 1, 1));
    scratch.settle();
}
