//! Two clusters in one network, with the same router id: each holds its own address.

use std::process::Command;

use slipway_assets::onprem::{Part, Settings, keepalived_conf};
use slipway_testkit::scratch::Scratch;

use super::{facts, machine};

/// Two machines on one bridge, in networks of their own. Prints who holds which address, every half second, until both do or
/// time is up.
const RUN: &str = r#"
import os, subprocess, sys, time
folder = sys.argv[1]
def ip(*words, inside=None):
    command = (["nsenter", f"--net=/proc/{inside}/ns/net"] if inside else []) + ["ip", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
holders, programs = [], []
try:
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    for number, own in enumerate(["10.30.0.21/16", "10.30.1.21/16"]):
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        holders.append(holder)
        holder.stdout.readline()
        ip("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        ip("link", "set", f"v{number}", "master", "br0", "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", own, "dev", "eth0"], ["link", "set", "eth0", "up"]):
            ip(*words, inside=holder.pid)
    for number, holder in enumerate(holders):
        command = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "keepalived", "--dont-fork", "--vrrp", "--log-console",
                   f"--use-file={folder}/{number}.conf", f"--pid={folder}/{number}.pid", f"--vrrp_pid={folder}/{number}-vrrp.pid"]
        programs.append(subprocess.Popen(command, stdout=sys.stderr))
    deadline = time.monotonic() + 60
    held = None
    while time.monotonic() < deadline and held != "10.30.0.5 10.30.1.5":
        time.sleep(0.1)
        held = " ".join(
            vip if f"{vip}/32" in ip("-oneline", "address", "show", "dev", "eth0", inside=holder.pid) else "-"
            for vip, holder in zip(["10.30.0.5", "10.30.1.5"], holders))
    print(held)
finally:
    for program in programs + holders:
        program.terminate()
        program.wait()
"#;

/// The last bytes of the two addresses are the same. The second machine is made to send its messages to the first one, and
/// with a higher priority: more than a stranger would ever do.
#[test]
fn strangers_of_the_same_number_do_not_matter() {
    let scratch = Scratch::new("keepalived").unwrap();
    scratch.settle();
    let conf = |vip: &str, own: &str| {
        let this = machine("only", Part::ControlPlane, own);
        keepalived_conf(&Settings::new(facts(vip, ""), this, Vec::new(), "eth0", Vec::new()).unwrap())
    };
    let first = conf("10.30.0.5", "10.30.0.21");
    let second = conf("10.30.1.5", "10.30.1.21")
        .replace("192.0.2.1", "10.30.0.21")
        .replace("priority 50", "priority 150");
    assert!([&first, &second].iter().all(|text| text.contains("virtual_router_id 5\n")));
    scratch.write("0.conf", first).unwrap();
    scratch.write("1.conf", second).unwrap();
    let output = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "python3", "-c", RUN])
        .arg(scratch.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "10.30.0.5 10.30.1.5", "{said}");
}
