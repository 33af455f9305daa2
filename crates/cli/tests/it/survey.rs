//! `slipway create install-config` on a terminal, against simulated vCenters.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tempfile::TempDir;

use crate::run::slipway;
use crate::terminal::{BACKSPACE, CLEAR, DOWN, ENTER, ESCAPE, INTERRUPT, Terminal};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PULL_SECRET: &str = r#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#;
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0sT6Lw1m1zqzBd4d1p5vX3n0u9bqkVqkGm6m1m9h2Z core\n";

fn cluster(name: &str) -> Value {
    json!({"name": name, "hosts": [{"name": format!("esx-{name}")}]})
}

/// A vCenter with a datacenter of so many clusters, and one datastore and network each.
fn vcenter(datacenter: &str, clusters: &[&str]) -> VCenter {
    let clusters: Vec<Value> = clusters.iter().map(|name| cluster(name)).collect();
    let start = VCenter::start_at(
        LOCALHOST,
        &json!({
            "datacenters": [{
                "name": datacenter,
                "vm_network": false,
                "clusters": clusters,
                "datastores": [{"name": "vsan", "capacity_gb": 1000, "free_gb": 400}],
                "networks": [{"name": "cluster-net"}],
            }],
        }),
        &[],
    );
    start.expect("a vCenter")
}

/// A vCenter where everything must be chosen.
fn rich() -> VCenter {
    let start = VCenter::start_at(
        LOCALHOST,
        &json!({
            "datacenters": [
                {"name": "attic", "vm_network": false},
                {
                    "name": "north",
                    "vm_network": false,
                    "clusters": [cluster("green"), cluster("blue")],
                    "switches": [{"name": "switch"}],
                    "networks": [{"name": "other-net"}, {"name": "cluster-net", "type": "distributed", "switch": "switch"}],
                    "datastores": [
                        {"name": "slow", "capacity_gb": 1000, "free_gb": 400},
                        {"name": "fast", "capacity_gb": 1000, "free_gb": 400},
                        {"name": "gone", "capacity_gb": 1000, "free_gb": 400, "accessible": false},
                    ],
                },
            ],
            "categories": [
                {"name": "openshift-region", "cardinality": "SINGLE", "tags": [{"name": "nord", "attach": ["/north"]}]},
                {"name": "openshift-zone", "cardinality": "SINGLE", "tags": [{"name": "nord-blau", "attach": ["/north/host/blue"]}]},
            ],
        }),
        &[],
    );
    start.expect("a vCenter")
}

/// Runs the survey in a directory that is also its home, trusting these authorities.
fn start(arguments: &[&str], home: &Path, authorities: Option<&Path>) -> Terminal {
    let mut command = slipway(&[&["create", "install-config"], arguments].concat());
    command.current_dir(home).env("HOME", home);
    // Nothing at all is trusted where the test does not say what is.
    let none = home.join("no-authorities.pem");
    fs::write(&none, "").expect("a file");
    command.env("SSL_CERT_FILE", authorities.unwrap_or(&none)).env("SSL_CERT_DIR", home);
    Terminal::run(&command)
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn config(home: &TempDir) -> PathBuf {
    home.path().join("install-config.yaml")
}

/// Past platform, vCenter and user name. Mistakes are cleared as in a shell.
fn log_in(terminal: &mut Terminal, vcenter: &VCenter) {
    let after_a_mistake = |text: &str| format!("oops{CLEAR}{text}");
    terminal.answer("Platform", "").answer("vCenter", &vcenter.address());
    terminal.answer("User name on", &after_a_mistake(ADMINISTRATOR.0));
    terminal.answer("Password of", &after_a_mistake(ADMINISTRATOR.1));
}

/// How often a method was called.
fn calls(vcenter: &VCenter, method: &str) -> u64 {
    vcenter.calls().expect("calls")[method].as_u64().unwrap_or_default()
}

#[test]
fn two_vcenters() {
    let (north, south) = (rich(), vcenter("south", &["blue"]));
    let home = home();
    fs::create_dir(home.path().join(".ssh")).expect("a folder");
    fs::write(home.path().join(".ssh/id_ed25519.pub"), KEY).expect("a key");
    // The system trusts the first one only.
    let mut terminal = start(&[], home.path(), Some(north.ca_file()));
    terminal.answer("SSH public key", "");
    log_in(&mut terminal, &north);
    terminal.answer("Datacenter", DOWN);
    // In the order of their names.
    terminal.expect("? Compute cluster").expect("blue").expect("green").send(ENTER);
    terminal
        .expect("? Datastore")
        .expect("fast (")
        .expect("slow (400 of 1000 GiB free)")
        .send(DOWN)
        .send(ENTER);
    terminal.answer("Network", "").answer("Another failure domain on", "").answer("Another vCenter?", "y");

    terminal.answer("vCenter 2", &format!("localhost:{}", south.port()));
    terminal.expect("is not trusted: ").expect("subject").expect("issuer").expect("valid");
    terminal.expect(south.thumbprint_sha256()).answer("Trust this certificate", "y");
    // The name of the user is offered again.
    terminal.answer("User name on", "").answer("Password of", ADMINISTRATOR.1);
    for what in ["Datacenter", "Compute cluster", "Datastore", "Network"] {
        terminal.expect(&format!("info: {what}: defaulting to"));
    }
    terminal.answer("Another vCenter?", "");

    // Tags of the first one, names of the second one.
    terminal
        .answer("Name of the failure domain in /north/host/blue", "")
        .answer("Region of", "")
        .answer("Zone of", "");
    terminal
        .answer("Name of the failure domain in /south/host/blue", "")
        .answer("Region of", "")
        .answer("Zone of", "");
    terminal.answer("Machine network", "").answer("Virtual IP of the API", "10.0.0.10");
    terminal.answer("Virtual IP of the ingress", "10.0.0.10").expect("the API's virtual IP too");
    terminal.send(BACKSPACE).send("1").send(ENTER);
    terminal.answer("Base domain", "example.com").answer("Cluster name", "harbour");
    terminal.answer("Pull secret", PULL_SECRET).expect("with secrets blanked out").answer("Write", "");
    terminal.expect("written");
    assert_eq!(terminal.finish(), 0, "{}", terminal.text());
    let text = terminal.text();
    assert!(!text.contains(ADMINISTRATOR.1) && !text.contains("dXNlcjpwYXNzd29yZA"), "{text}");
    assert!(!text.contains("Uplinks"), "a network for uplinks was offered:\n{text}");
    assert!(!text.contains("gone"), "a datastore that no host reaches was offered:\n{text}");

    let written = fs::read_to_string(config(&home)).expect("a file");
    assert_eq!(fs::metadata(config(&home)).expect("a file").permissions().mode() & 0o777, 0o600);
    insta::with_settings!({filters => vec![
        (r"port: \d+", "port: PORT"),
        (south.thumbprint_sha256(), "FINGERPRINT"),
        (r"password: .*", "password: PASSWORD"),
        (r"pullSecret: .*", "pullSecret: SECRET"),
    ]}, {
        insta::assert_snapshot!(written);
    });
    assert!(written.contains(ADMINISTRATOR.1), "the password was not written");
    let judged =
        slipway(&["validate", "--strict"]).current_dir(home.path()).output().expect("the command runs");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    for vcenter in [&north, &south] {
        let stats = vcenter.control("GET", "/stats", &Value::Null).expect("statistics");
        assert_eq!(
            (&stats["soap_sessions"], &stats["rest_sessions"]),
            (&json!(0), &json!(0)),
            "left logged in"
        );
    }
}

#[test]
fn three_wrong_passwords() {
    let vcenter = vcenter("dc", &["blue"]);
    let home = home();
    let mut terminal = start(&["--platform", "vsphere"], home.path(), Some(vcenter.ca_file()));
    terminal.answer("vCenter", &vcenter.address()).answer("User name on", ADMINISTRATOR.0);
    for _ in 0..3 {
        terminal.answer("Password of", "wrong").expect("refuses administrator@vsphere.local");
    }
    terminal.expect("3 times").expect("nothing was written");
    assert_eq!(terminal.finish(), 1);
    assert_eq!(calls(&vcenter, "Login"), 3);
    assert!(!config(&home).exists());
}

#[test]
fn a_certificate_that_is_refused() {
    let vcenter = vcenter("dc", &["blue"]);
    let home = home();
    let mut terminal = start(&["--platform", "vsphere"], home.path(), None);
    terminal.answer("vCenter", &vcenter.address()).expect(vcenter.thumbprint_sha256());
    // No is the default, and no request was made.
    terminal.answer("Trust this certificate", "").expect("nothing was sent to");
    terminal.expect("? vCenter").send(INTERRUPT).expect("nothing was written");
    assert_eq!(terminal.finish(), 8);
    let stats = vcenter.control("GET", "/stats", &Value::Null).expect("statistics");
    assert_eq!(stats["requests"], json!(0), "{stats}");
}

#[test]
fn a_certificate_that_was_pinned_by_a_flag() {
    let vcenter = vcenter("dc", &["blue"]);
    let home = home();
    let (address, mut other) = (vcenter.address(), vcenter.thumbprint_sha256().to_owned());
    let arguments = |thumbprint: &str| {
        ["--platform", "vsphere", "--vcenter", &address, "--vcenter-thumbprint", thumbprint]
            .map(str::to_owned)
    };
    let pinned = arguments(&other);
    let mut terminal = start(&pinned.each_ref().map(String::as_str), home.path(), None);
    terminal.expect("? User name on").send(INTERRUPT);
    assert_eq!(terminal.finish(), 8);
    let last = if other.pop() == Some('0') { '1' } else { '0' };
    other.push(last);
    let wrong = arguments(&other);
    let mut terminal = start(&wrong.each_ref().map(String::as_str), home.path(), None);
    terminal.expect("is not trusted: it is not the pinned one").expect("? Trust this").send(INTERRUPT);
    assert_eq!(terminal.finish(), 8);
}

#[test]
fn an_empty_list_is_read_again() {
    let vcenter = vcenter("dc", &[]);
    let home = home();
    let mut terminal = start(&[], home.path(), Some(vcenter.ca_file()));
    log_in(&mut terminal, &vcenter);
    terminal.expect("sees no compute cluster in datacenter dc").expect("System.View");
    terminal.answer("Read the lists again?", "n").answer("Password of", ADMINISTRATOR.1);
    terminal.expect("? Read the lists again?");
    let added = json!({"datacenters": [{"name": "dc", "clusters": [cluster("new")], "datastores": [{"name": "late"}]}]});
    vcenter.control("POST", "/inventory/apply", &added).expect("a cluster");
    terminal.send(ENTER).expect("Compute cluster: defaulting to new");
    terminal.expect("Datastore: defaulting to late").expect("Network: defaulting to cluster-net");
    terminal.expect("? Another vCenter?").send(INTERRUPT).expect("nothing was written");
    assert_eq!(terminal.finish(), 8);
    assert!(!config(&home).exists());
}

#[test]
fn back_and_forth() {
    let vcenter = vcenter("dc", &["blue"]);
    let home = home();
    let mut terminal = start(&[], home.path(), Some(vcenter.ca_file()));
    terminal.expect("? Platform").send(ESCAPE).expect("this is the first question");
    terminal.answer("Platform", "").answer("vCenter", "127.0.0.1:1").expect("cannot be reached");
    terminal.answer("vCenter", &vcenter.address()).expect("? User name on").send(ESCAPE);
    // What was answered before is the default.
    terminal
        .answer("vCenter", "")
        .answer("User name on", ADMINISTRATOR.0)
        .answer("Password of", ADMINISTRATOR.1);
    terminal.expect("Network: defaulting to cluster-net").expect("? Another vCenter?").send(ESCAPE);
    terminal.expect("? Password of").send(ADMINISTRATOR.1).send(ENTER).answer("Another vCenter?", "n");
    terminal.answer("Machine network", "10.20.0.0/16");
    // What is wrong is told as it is typed, and is no answer, whatever keys are pressed.
    terminal
        .expect("? Virtual IP of the API")
        .send("10.0.0.10")
        .expect("✗ 10.0.0.10 is not in the machine network");
    terminal.send("\t").send(DOWN).send(ENTER).expect("✗ 10.0.0.10 is not in the machine network");
    terminal
        .send(ESCAPE)
        .answer("Machine network", "10.0.0.0/16")
        .answer("Virtual IP of the API", "10.0.0.10");
    terminal.answer("Virtual IP of the ingress", "10.0.0.11").answer("Base domain", "example.com");
    terminal.answer("Cluster name", "harbour").answer("Pull secret", PULL_SECRET);
    // No at the end writes nothing.
    terminal.answer("Write", "n").expect("nothing was written");
    assert_eq!(terminal.finish(), 8);
    assert!(!config(&home).exists());
}

/// A signal from elsewhere while a question waits: there is nothing to end first.
#[test]
fn ended_by_a_signal() {
    let home = home();
    let mut terminal = start(&[], home.path(), None);
    terminal.expect("? Platform").signal(Signal::TERM).expect("interrupted");
    assert_eq!(terminal.finish(), 8);
    assert!(!config(&home).exists());
}

/// With all flags there is nothing to ask, and what has no questions is not asked for.
#[test]
fn flags_that_give_everything() {
    let home = home();
    fs::write(home.path().join("pull-secret.json"), PULL_SECRET).expect("a file");
    let arguments = [
        "--platform",
        "none",
        "--name",
        "raft",
        "--base-domain",
        "example.com",
        "--pull-secret-file",
        "pull-secret.json",
    ];
    let mut terminal = start(&arguments, home.path(), None);
    terminal.expect("written");
    assert_eq!(terminal.finish(), 0);
    let mut terminal = start(&["--dir", "other", "--platform", "ovirt"], home.path(), None);
    terminal.expect("--ovirt-cluster-id");
    assert_eq!(terminal.finish(), 2);
}

/// The same answers as flags, without a terminal.
#[test]
fn several_vcenters_from_flags() {
    let home = home();
    fs::write(home.path().join("pull-secret.json"), PULL_SECRET).expect("a file");
    let domain = |name: &str, server: &str| {
        format!(
            "name={name},region={name},zone=a,server={server},datacenter=dc,cluster=c,datastore=d,network=n"
        )
    };
    let (north, south) = (domain("north", "north.example.com"), domain("south", "south.example.com:8443"));
    let thumbprint = "ab".repeat(32);
    let arguments = [
        "create install-config --platform vsphere --name harbour --base-domain example.com",
        "--pull-secret-file pull-secret.json --api-vip 10.0.0.10 --ingress-vip 10.0.0.11",
        "--vcenter north.example.com --vcenter south.example.com:8443 --vcenter-user slipway@vsphere.local",
        "--vcenter-password-env NORTH --vcenter-password-env SOUTH",
        &format!("--vcenter-thumbprint - --vcenter-thumbprint {thumbprint}"),
        &format!("--failure-domain {north} --failure-domain {south}"),
    ]
    .join(" ");
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = slipway(&arguments).current_dir(home.path()).output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read_to_string(config(&home)).expect("a file");
    insta::with_settings!({filters => vec![(r"pullSecret: .*", "pullSecret: SECRET")]}, {
        insta::assert_snapshot!(written);
    });
    // One user too many.
    let more = [&arguments[..], &["--dir", "other", "--vcenter-user", "a", "--vcenter-user", "b"]].concat();
    let output = slipway(&more).current_dir(home.path()).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("--vcenter-user is given 3 times for 2 vCenters")
    );
}

/// Leaving a vCenter takes seconds at most, however busy this machine is: nothing runs beside it.
mod clocked {
    use std::time::Duration;

    use serde_json::{Value, json};
    use slipway_testkit::process::eventually;
    use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

    use super::{config, home, start, vcenter};
    use crate::terminal::{ENTER, INTERRUPT, Terminal};

    /// Waits until a vCenter has heard of it.
    fn called(vcenter: &VCenter, method: &str) {
        let heard = eventually(method, Duration::from_secs(30), || {
            Ok((!vcenter.calls()?[method].is_null()).then_some(()))
        });
        heard.expect("a call");
    }

    /// The vCenter goes on, and the command ends without a session on it.
    fn leaves(terminal: &mut Terminal, vcenter: &VCenter) {
        vcenter.control("POST", "/thaw", &Value::Null).expect("a vCenter that answers");
        terminal.expect("nothing was written");
        assert_eq!(terminal.finish(), 8);
        let stats = vcenter.control("GET", "/stats", &Value::Null).expect("statistics");
        let sessions = (&stats["soap_sessions"], &stats["rest_sessions"]);
        assert_eq!(sessions, (&json!(0), &json!(0)), "left logged in");
    }

    #[test]
    fn interrupted_while_it_waits() {
        let vcenter = vcenter("dc", &["blue"]);
        let home = home();
        let mut terminal = start(&[], home.path(), Some(vcenter.ca_file()));
        terminal
            .answer("Platform", "")
            .answer("vCenter", &vcenter.address())
            .answer("User name on", ADMINISTRATOR.0);
        terminal.expect("? Password of");
        vcenter.control("POST", "/freeze", &json!({"method": "Login"})).expect("a frozen vCenter");
        terminal.send(ADMINISTRATOR.1).send(ENTER).expect("logging in to");
        called(&vcenter, "Login");
        // What is typed ahead may be a password.
        terminal.send("typed-ahead").send(INTERRUPT).expect("ending the session on");
        // The login was on its way: it makes a session, which is ended.
        leaves(&mut terminal, &vcenter);
        assert!(!terminal.text().contains("typed-ahead"), "{}", terminal.text());
        assert!(!config(&home).exists());
    }

    /// A wish that comes when everything has been read is not lost, and still leaves no session.
    #[test]
    fn interrupted_while_it_leaves() {
        let vcenter = vcenter("dc", &["blue"]);
        vcenter.control("POST", "/freeze", &json!({"method": "Logout"})).expect("a frozen vCenter");
        let home = home();
        let mut terminal = start(&[], home.path(), Some(vcenter.ca_file()));
        terminal
            .answer("Platform", "")
            .answer("vCenter", &vcenter.address())
            .answer("User name on", ADMINISTRATOR.0)
            .answer("Password of", ADMINISTRATOR.1);
        called(&vcenter, "Logout");
        terminal.send(INTERRUPT).expect("ending the session on");
        leaves(&mut terminal, &vcenter);
        assert!(!config(&home).exists());
    }
}
