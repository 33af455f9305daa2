//! CoreDNS runs from its file, and answers.

use std::process::Command;

use serde_json::{Value, json};
use slipway_assets::onprem::{Part, Settings, corefile};
use slipway_testkit::peers;
use slipway_testkit::scratch::Scratch;

use super::{Families, facts, machine, settings};

/// Starts CoreDNS in a network of its own, asks, and prints what was answered. A question is a name and a type.
const ASK: &str = r#"
import json, socket, struct, subprocess, sys, time
program, corefile, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
for command in ["link set lo up", "address add 10.30.0.21/32 dev lo", "address add fd00:30::21/128 dev lo nodad"]:
    subprocess.run(["ip", *command.split()], check=True)
server = subprocess.Popen([program, "-conf", corefile], stdout=sys.stderr)

def ask(address, name, kind):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        client.connect((address, 53))
        labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
        client.send(struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1))
        reply = client.recv(4096)
    _, flags, _, count, _, _ = struct.unpack(">HHHHHH", reply[:12])
    found, at = [], 12 + len(labels) + 5
    for _ in range(count):
        while reply[at] not in (0,) and reply[at] < 192:
            at += reply[at] + 1
        at += 2 if reply[at] >= 192 else 1
        answered, _, life, length = struct.unpack(">HHIH", reply[at:at + 10])
        data = reply[at + 10:at + 10 + length]
        at += 10 + length
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(answered)
        if family:
            found.append([socket.inet_ntop(family, data), life])
    return {"code": flags & 15, "found": found}

def answer(question):
    deadline = time.monotonic() + 60
    while True:
        try:
            return ask(*question)
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("CoreDNS does not answer")
            time.sleep(0.05)

try:
    print(json.dumps([answer(question) for question in questions]))
finally:
    server.terminate()
    server.wait()
"#;

const A: u16 = 1;
const AAAA: u16 = 28;

fn ask(settings: &Settings, questions: &[(&str, &str, u16)]) -> Vec<Value> {
    let scratch = Scratch::new("coredns").unwrap();
    scratch.settle();
    let text = corefile(settings);
    let file = scratch.write("Corefile", &text).unwrap();
    let output = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "python3", "-c", ASK])
        .arg(peers::find("coredns").unwrap())
        .arg(&file)
        .arg(json!(questions).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn found(addresses: &[&str]) -> Value {
    let found: Vec<Value> = addresses.iter().map(|address| json!([address, 30])).collect();
    json!({"code": 0, "found": found})
}

#[test]
fn names_of_both_families() {
    let answers = ask(
        &settings(Part::ControlPlane, Families::Dual),
        &[
            ("127.0.0.1", "api.dinghy.example.com", A),
            ("::1", "api-int.dinghy.example.com", AAAA),
            ("10.30.0.21", "console.apps.dinghy.example.com", A),
            ("fd00:30::21", "a.b.apps.dinghy.example.com", AAAA),
            ("127.0.0.1", "dinghy-master-1.dinghy.example.com", A),
            ("127.0.0.1", "dinghy-worker-0", AAAA),
        ],
    );
    let expected = [
        found(&["10.30.0.5"]),
        found(&["fd00:30::5"]),
        found(&["10.30.0.6"]),
        found(&["fd00:30::6"]),
        found(&["10.30.0.22"]),
        found(&["fd00:30::31"]),
    ];
    assert_eq!(answers, expected);
}

/// A family the cluster does not have is no address, not no name; a name that only looks alike is none of ours.
#[test]
fn names_of_one_family() {
    let this = machine("dinghy-master-0", Part::ControlPlane, "10.30.0.21");
    let answers = ask(
        &Settings::new(facts("10.30.0.5", "10.30.0.6"), this, Vec::new(), "eth0", Vec::new()).unwrap(),
        &[
            ("127.0.0.1", "api.dinghy.example.com", A),
            ("127.0.0.1", "api.dinghy.example.com", AAAA),
            ("127.0.0.1", "x.apps.dinghy.example.com", AAAA),
            ("127.0.0.1", "apixdinghy.example.com", A),
            ("127.0.0.1", "my-api.dinghy.example.com", A),
        ],
    );
    assert_eq!(answers[..3], [found(&["10.30.0.5"]), found(&[]), found(&[])]);
    // There is no other DNS server here.
    assert!(answers[3..].iter().all(|answer| answer["code"] == 2), "{answers:?}");
}
