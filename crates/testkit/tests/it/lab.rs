use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::lab::vsphere::Hypervisor;
use slipway_testkit::lab::{Firmware, Lab, Settings};
use slipway_testkit::network::Hosts;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

const NAME: &str = "lighthouse.example.com";
const TIMEOUT: Duration = Duration::from_secs(90);

/// A lab, or a word why there is none.
fn lab(hosts: Hosts) -> Option<Arc<Lab>> {
    if let Some(missing) = Lab::missing() {
        eprintln!("skipped: {missing}");
        return None;
    }
    Some(Arc::new(Lab::start(Settings { hosts, ..Settings::default() }).unwrap()))
}

/// A unit that notes every boot in a file.
fn config() -> Value {
    let unit = "[Unit]\nAfter=network.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\n\
        ExecStart=/bin/sh -c 'cat /etc/greeting >> /var/lib/boots'\n[Install]\nWantedBy=multi-user.target\n";
    json!({
        "ignition": {"version": "3.4.0"},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxhYg== lab"]}]},
        "storage": {"files": [
            {"path": "/etc/greeting", "mode": 420, "contents": {"source": "data:,ahoy%0A"}},
            {"path": "/etc/hostname", "mode": 420, "contents": {"source": "data:,dinghy%0A"}},
        ]},
        "systemd": {"units": [{"name": "greet.service", "enabled": true, "contents": unit}]},
    })
}

/// The groups of a machine of this process in all hierarchies.
fn groups(machine: &str) -> Vec<PathBuf> {
    let (own, machine) = (format!("slipway-lab-{}-", std::process::id()), format!("-{machine}"));
    let hierarchies = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten().map(|entry| entry.path());
    let tops = hierarchies.chain([PathBuf::from("/sys/fs/cgroup")]);
    let machines = tops.filter_map(|top| std::fs::read_dir(top).ok()).flatten().flatten();
    let is_its = |name: &str| name.starts_with(&own) && name.ends_with(&machine);
    machines.filter(|entry| is_its(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

fn links() -> String {
    let output = Command::new("ip").args(["-brief", "link"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_machine_boots_from_ignition_and_keeps_its_disk() {
    let before = links();
    let Some(lab) = lab(Hosts::from([(NAME.to_owned(), [10, 77, 0, 9].into())])) else { return };
    let machine = lab.machine("keeps").unwrap();
    let firmware = Firmware::with_ignition(config().to_string());
    let boots = |count: usize| {
        machine.wait_until_up(TIMEOUT).unwrap();
        let wanted = "ahoy\n".repeat(count);
        eventually("the unit has run", TIMEOUT, || {
            Ok((machine.run(&["cat", "/var/lib/boots"])? == wanted).then_some(()))
        })
        .unwrap();
    };
    machine.power_on(&firmware).unwrap();
    boots(1);
    let guest = machine.guest().unwrap();
    assert_eq!(
        (guest.hostname.as_str(), guest.addresses.as_slice()),
        ("dinghy", [machine.address()].as_slice())
    );
    assert!(machine.run(&["id", "core"]).unwrap().starts_with("uid="));
    assert!(
        machine.run(&["getent", "hosts", NAME]).unwrap().starts_with("10.77.0.9 "),
        "the lab's names are known"
    );
    assert_eq!(links(), before, "nothing is seen in the host's network");

    // What is not on the disk when the power goes is lost.
    let journal = || machine.journal(Some("greet.service"));
    eventually("the journal is written", TIMEOUT, || {
        Ok(journal()?.contains("Finished greet.service").then_some(()))
    })
    .unwrap();
    machine.power_off().unwrap();
    assert!(!machine.is_on() && machine.guest().is_none());
    assert!(journal().unwrap().contains("Finished greet.service"), "a disk can be read");
    machine.power_on(&firmware).unwrap();
    boots(2);

    machine.wipe().unwrap();
    assert!(!machine.is_on());
    machine.power_on(&firmware).unwrap();
    boots(1);
    let groups = || groups(machine.name());
    assert!(!groups().is_empty());
    drop(lab);
    assert!(!machine.is_on());
    assert!(groups().is_empty(), "{:?}", groups());
}

#[test]
fn a_machine_that_ignition_refuses_does_not_come_up_and_says_why() {
    let Some(lab) = lab(Hosts::new()) else { return };
    let machine = lab.machine("dinghy").unwrap();
    let wrong = json!({"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "http://10.77.0.1:1/missing",
        "verification": {}}]}, "timeouts": {"httpTotal": 1}}});
    machine.power_on(&Firmware::with_ignition(wrong.to_string())).unwrap();
    let error = machine.wait_until_up(TIMEOUT).unwrap_err().to_string();
    assert!(error.contains("dinghy ended") && error.contains("10.77.0.1:1"), "{error}");
    assert!(!machine.is_on());
}

fn estate(config: &Value) -> Value {
    json!({"datacenters": [{
        "name": "d", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}], "datastores": [{"name": "s"}],
        "vms": [{"name": "a", "cluster": "c", "datastore": "s", "networks": ["VM Network"], "power": "off",
            "uuid": "42000000-0000-4000-8000-000000000001",
            "extra_config": {"guestinfo.ignition.config.data": config.to_string(), "guestinfo.hostname": "told"}}],
    }]})
}

const VCENTER: &str = "vcenter.example.com";

#[test]
fn what_is_switched_on_in_a_vcenter_boots_in_the_lab() {
    let address = [10, 77, 0, 2].into();
    let Some(lab) = lab(Hosts::from([(VCENTER.to_owned(), address)])) else { return };
    lab.add_address(address).unwrap();
    let vcenter = Arc::new(VCenter::start_at_name(&estate(&config()), lab.network(), VCENTER, 443).unwrap());
    let hypervisor = Hypervisor::follow(&lab, &vcenter);
    let power = |state: &str| vcenter.control("POST", "/vms/d/vm/a/power", &json!({"state": state})).unwrap();
    let guest = || vcenter.object("/d/vm/a").unwrap().unwrap()["props"].clone();
    power("on");
    eventually("the vCenter knows the machine's name", TIMEOUT, || {
        Ok((guest()["hostName"] == "dinghy").then_some(()))
    })
    .unwrap();
    let machine = lab.machine("a").unwrap();
    assert_eq!(guest()["ipAddress"], json!(machine.address()), "{}", guest());
    assert_eq!(machine.run(&["vmtoolsd", "--cmd", "info-get guestinfo.hostname"]).unwrap(), "told");
    let id = machine.run(&["cat", "/sys/class/dmi/id/product_uuid"]).unwrap();
    assert_eq!(id.trim(), "42000000-0000-4000-8000-000000000001");
    let about = format!("https://{VCENTER}/about");
    let ask = ["curl", "--silent", "--insecure", "--max-time", "5", &about];
    eventually("machines reach the vCenter by name", TIMEOUT, || machine.run(&ask).map(Some)).unwrap();
    assert!(machine.disk("/var/lib").exists(), "its disk is there");
    power("off");
    eventually("the power is cut", TIMEOUT, || Ok((!machine.is_on()).then_some(()))).unwrap();
    vcenter.control("POST", "/vms/d/vm/a/destroy", &Value::Null).unwrap();
    eventually("the machine is scrapped", TIMEOUT, || Ok(lab.machines().is_empty().then_some(()))).unwrap();
    assert!(!machine.disk("/var/lib").exists(), "its disk is wiped");
    assert_eq!(hypervisor.failures(), Vec::<String>::new());
}

#[test]
fn scripts_of_the_lab_are_sound() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/lab");
    for (shell, scripts) in [
        ("bash", ["machine.sh", "root/usr/bin/vmtoolsd", "root/usr/local/sbin/first-boot"].as_slice()),
        ("sh", ["root/usr/local/bin/kubelet", "images/kube-proxy", "images/pod-network"].as_slice()),
    ] {
        let paths = scripts.iter().map(|script| files.join(script));
        let output = Command::new("shellcheck").arg("--shell").arg(shell).args(paths).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
