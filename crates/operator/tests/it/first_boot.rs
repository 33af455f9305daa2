//! Machines of the lab that cannot get their configuration: what their consoles say, and what the server says about them.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use slipway_testkit::lab::{Firmware, GATEWAY, Lab, Settings};
use slipway_testkit::pki::Authority;
use slipway_testkit::process::{Process, eventually};

use crate::served::{WORKER_TOKEN, ignition, tokens};

const TIMEOUT: Duration = Duration::from_mins(1);
const ALWAYS: [i32; 2] = [1975, 4096];

/// What `assets` writes for new machines.
fn pointer(authority: &Authority, port: u16, token: &str) -> Firmware {
    let authority = format!("data:;base64,{}", STANDARD.encode(authority.certificate()));
    let source = json!({
        "source": format!("https://{GATEWAY}:{port}/config/worker"),
        "httpHeaders": [{"name": "Authorization", "value": format!("Bearer {token}")}],
    });
    let config = json!({"ignition": {
        "version": "3.2.0", "config": {"merge": [source]},
        "security": {"tls": {"certificateAuthorities": [{"source": authority}]}},
    }});
    Firmware::with_ignition(config.to_string())
}

/// The machine-config server on the lab's switch, with a certificate of some years.
fn serve(lab: &Lab, folder: &Path, authority: &Authority, port: u16, years: [i32; 2]) -> Process {
    let gateway = GATEWAY.to_string();
    let identity = authority.issue_within("machine-config-server", None, &[&gateway], years).unwrap();
    let folder = folder.join(port.to_string());
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        OsString::from(folder.join(name))
    };
    write("worker.ign", &ignition("3.2.0"));
    write("worker.tokens", &tokens(WORKER_TOKEN));
    let arguments = vec![
        "--log-level".into(),
        "debug".into(),
        "machine-config-server".into(),
        "--dir".into(),
        folder.clone().into(),
        "--tls-cert".into(),
        write("tls.crt", &identity.certificate),
        "--tls-key".into(),
        write("tls.key", &identity.key),
        "--listen".into(),
        format!("{gateway}:{port}").into(),
    ];
    let program = Path::new(env!("CARGO_BIN_EXE_slipway-operator"));
    let name = format!("machine-config-{port}");
    let mut server = lab.run(&name, program, arguments).unwrap();
    let log = lab.scratch().join(&format!("{name}.log"));
    let listens =
        || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("machine-config server listening"));
    server.wait_until(TIMEOUT, listens).unwrap();
    server
}

/// A clock that is two days off sees what a certificate of other years shows.
#[test]
fn a_machine_without_a_configuration_says_why() {
    if let Some(missing) = Lab::missing() {
        eprintln!("skipped: {missing}");
        return;
    }
    let lab = Lab::start(Settings::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (Authority::new("root-ca").unwrap(), Authority::new("root-ca").unwrap());
    let server = serve(&lab, folder.path(), &own, 22623, ALWAYS);
    let _expired = serve(&lab, folder.path(), &own, 22624, [1975, 1976]);
    let _early = serve(&lab, folder.path(), &own, 22625, [4000, 4096]);
    let cases = [
        ("another-authority", &other, 22623, WORKER_TOKEN, "certificate signed by unknown authority"),
        ("another-token", &own, 22623, "guess", "Unauthorized"),
        ("expired", &own, 22624, WORKER_TOKEN, "certificate has expired or is not yet valid"),
        ("clock-behind", &own, 22625, WORKER_TOKEN, "certificate has expired or is not yet valid"),
        ("nobody-there", &own, 22626, WORKER_TOKEN, "connection refused"),
    ];
    let machine = |name: &str| lab.machine(name).unwrap();
    for (name, authority, port, token, _) in &cases {
        machine(name).power_on(&pointer(authority, *port, token)).unwrap();
    }
    machine("good").power_on(&pointer(&own, 22623, WORKER_TOKEN)).unwrap();
    for (name, .., says) in &cases {
        let machine = machine(name);
        let said = eventually("the console says why", TIMEOUT, || {
            let console = machine.console();
            Ok(console.contains(says).then_some(console))
        });
        let said = said.unwrap_or_else(|_| panic!("{name}: {}", machine.console()));
        assert!(!said.contains("swordfish"), "{name}: a token is on the console: {said}");
        assert_eq!(machine.guest(), None, "{name} must not come up");
    }
    machine("good").wait_until_up(TIMEOUT).unwrap();
    assert!(machine("good").run(&["cat", "/etc/kubernetes/token"]).is_ok());
    let distrust = format!("peer={} outcome=\"Distrusted\"", machine("another-authority").address());
    eventually("the server knows who does not trust it", TIMEOUT, || {
        Ok(server.log().contains(&distrust).then_some(()))
    })
    .unwrap_or_else(|_| panic!("{distrust}: {}", server.log()));
}
