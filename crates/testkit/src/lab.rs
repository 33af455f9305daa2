//! Machines that really boot: namespaces on this host, with systemd, containerd and a kubelet on a Debian root, provisioned
//! by the real Ignition. Linux and root only.
//!
//! | module | what it holds |
//! |---|---|
//! | [`handover`] | how platforms hand Ignition configurations to their machines |
//! | [`machine`] | one machine: power, disk, console, what it tells |
//! | [`vsphere`] | a simulated vCenter whose virtual machines are machines of the lab |
//! | [`harbour`] | vCenters, an install-config and the programs of this clone: a place for a cluster |
//! | [`pods`] | a pod network for clusters in the lab |
//! | [`root`] | the machines' image and the container images on it, built once |
//! | `image` | container images from programs |
//! | [`containerfile`] | an image as a Containerfile describes it, without what it builds on |
//! | `cgroup` | a place for the processes of a machine |
//!
//! The lab has a switch of its own: a network namespace with a bridge, in which servers, vCenters and the commands of a test
//! run too. Nothing of it is seen in the host's network. See `docs/guides/lab.md`.

mod cgroup;
pub mod containerfile;
pub mod handover;
pub mod harbour;
mod image;
pub mod machine;
pub mod pods;
pub mod root;
pub mod vsphere;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};

pub use self::handover::Firmware;
pub use self::machine::{Guest, Machine};
pub use self::root::Image;

use crate::network::{Hosts, PrivateNetwork};
use crate::peers;
use crate::process::{Process, Start, is_root};
use crate::scratch::Scratch;

/// The network of the machines. It exists in the lab's namespaces only, so all labs have the same.
pub const NETWORK: &str = "10.77.0.0/24";
/// The switch: router and DNS server of the machines.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Machines get addresses from here on. Those below are for servers and virtual addresses.
const FIRST_MACHINE: u8 = 100;

/// What a lab is given.
#[derive(Debug, Default)]
pub struct Settings {
    /// Names that the lab's DNS server, and whoever runs beside it, know.
    pub hosts: Hosts,
    /// Further container images on the machines' disks.
    pub images: Vec<Image>,
}

/// A switch and the machines plugged into it. Dropping it cuts the power and removes everything.
#[derive(Debug)]
pub struct Lab {
    machines: Mutex<BTreeMap<String, Machine>>,
    _names: Process,
    network: PrivateNetwork,
    image: PathBuf,
    store: PathBuf,
    scratch: Scratch,
}

impl Lab {
    /// Why no machine can be booted here, if so.
    pub fn missing() -> Option<String> {
        if !cfg!(target_os = "linux") {
            return Some("machines of the lab are namespaces of Linux".to_owned());
        }
        if !is_root() {
            return Some("machines of the lab need root: run it as root".to_owned());
        }
        if !Path::new("/sys/fs/cgroup").is_dir() {
            return Some("machines of the lab need cgroups at /sys/fs/cgroup".to_owned());
        }
        None
    }

    pub fn start(settings: Settings) -> anyhow::Result<Self> {
        let built = root::find()?;
        let mut lab = Self::with_root(settings.hosts, built.join(root::ROOT), built.join(root::STORE))?;
        if !settings.images.is_empty() {
            lab.store = root::add_images(&lab, &settings.images)?;
        }
        lab.scratch.settle();
        Ok(lab)
    }

    fn with_root(hosts: Hosts, image: PathBuf, store: PathBuf) -> anyhow::Result<Self> {
        if let Some(missing) = Self::missing() {
            bail!("{missing}");
        }
        cgroup::sweep();
        let scratch = Scratch::new("lab")?;
        let corefile = corefile(&hosts);
        let network = PrivateNetwork::new(&scratch, hosts)?;
        let switch = [
            "link add br0 type bridge".to_owned(),
            format!("address add {GATEWAY}/24 dev br0"),
            "link set br0 up".to_owned(),
        ];
        for command in switch {
            let ip = network.command(Path::new("ip")).args(command.split(' ')).output()?;
            if !ip.status.success() {
                bail!("ip {command}: {}", String::from_utf8_lossy(&ip.stderr).trim());
            }
        }
        let names = Process::start(Start {
            name: "coredns",
            program: &peers::find("coredns")?,
            arguments: ["-conf".into(), scratch.write("Corefile", corefile)?.into()].to_vec(),
            environment: Vec::new(),
            log: scratch.join("coredns.log"),
            network_of: Some(network.holder()),
        })?;
        Ok(Lab { machines: Mutex::default(), _names: names, network, image, store, scratch })
    }

    /// The machine of a name; it is bought if there is none.
    pub fn machine(&self, name: &str) -> anyhow::Result<Machine> {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = machines.get(name) {
            return Ok(machine.clone());
        }
        let taken: Vec<IpAddr> = machines.values().map(Machine::address).collect();
        let free = (FIRST_MACHINE..=254).map(|last| IpAddr::from([10, 77, 0, last]));
        let address = free.into_iter().find(|address| !taken.contains(address));
        let address = address.context("the switch has no free port")?;
        let parts = machine::Parts {
            name: name.to_owned(),
            address,
            folder: self.scratch.join(&format!("machine-{name}")),
            image: self.image.clone(),
            store: self.store.clone(),
            switch: self.network.holder(),
        };
        let machine = Machine::new(parts)?;
        machines.insert(name.to_owned(), machine.clone());
        Ok(machine)
    }

    /// All machines there are, by name.
    pub fn machines(&self) -> Vec<Machine> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Takes a machine out of the lab, with its disk.
    pub fn scrap(&self, name: &str) -> anyhow::Result<()> {
        let machines = || self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let machine = machines().get(name).cloned();
        machine.map_or(Ok(()), |machine| machine.wipe())?;
        machines().remove(name);
        Ok(())
    }

    /// The network of the switch, with the names of the lab.
    pub fn network(&self) -> &PrivateNetwork {
        &self.network
    }

    /// A command beside the switch: it reaches the machines, and knows the names.
    pub fn command(&self, program: &Path) -> Command {
        self.network.command(program)
    }

    /// A server beside the switch.
    pub fn run(&self, name: &str, program: &Path, arguments: Vec<OsString>) -> anyhow::Result<Process> {
        Process::start(Start {
            name,
            program,
            arguments,
            environment: Vec::new(),
            log: self.scratch.join(&format!("{name}.log")),
            network_of: Some(self.network.holder()),
        })
    }

    /// An address of the switch for a server of its own.
    pub fn add_address(&self, address: IpAddr) -> anyhow::Result<()> {
        let ip = self
            .command(Path::new("ip"))
            .args(["address", "add", &format!("{address}/24"), "dev", "br0"])
            .output()?;
        if !ip.status.success() {
            bail!("address {address}: {}", String::from_utf8_lossy(&ip.stderr).trim());
        }
        Ok(())
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Copies of a machine may be in other hands: power is cut all the same.
        for machine in self.machines() {
            if let Err(error) = machine.power_off() {
                eprintln!("switching {} off: {error:#}", machine.name());
            }
        }
    }
}

/// The network's own DNS server. It knows the names of the lab and no others, and says so at once.
fn corefile(hosts: &Hosts) -> String {
    let names: String = hosts.iter().map(|(name, address)| format!("        {address} {name}\n")).collect();
    format!(". {{\n    bind {GATEWAY}\n    hosts {{\n{names}    }}\n}}\n")
}

/// How long anything in the lab may take that does not wait for a cluster.
const TIMEOUT: Duration = Duration::from_secs(90);
