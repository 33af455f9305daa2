//! One machine: power, disk, console, what it tells.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::cgroup::Groups;
use super::handover::Firmware;
use super::{GATEWAY, TIMEOUT};
use crate::process::{Process, Start, bound};

/// What a machine is made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) address: IpAddr,
    pub(super) folder: PathBuf,
    pub(super) image: PathBuf,
    /// What containerd has from the start.
    pub(super) store: PathBuf,
    pub(super) switch: u32,
}

/// A machine of the lab. Copies are the same machine.
#[derive(Debug, Clone)]
pub struct Machine {
    parts: Arc<Parts>,
    power: Arc<Mutex<Power>>,
}

#[derive(Debug, Default)]
struct Power {
    on: Option<On>,
    /// How often it has been switched on.
    boots: u32,
}

#[derive(Debug)]
struct On {
    process: Process,
    groups: Groups,
}

/// What a running machine tells its hypervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    pub hostname: String,
    pub addresses: Vec<IpAddr>,
}

impl Machine {
    pub(super) fn new(parts: Parts) -> anyhow::Result<Self> {
        fs_err::create_dir_all(&parts.folder)?;
        Ok(Machine { parts: Arc::new(parts), power: Arc::default() })
    }

    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The address that the network gives it.
    pub fn address(&self) -> IpAddr {
        self.parts.address
    }

    fn power(&self) -> MutexGuard<'_, Power> {
        self.power.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.parts.folder.join(name)
    }

    /// Its files as they are on its disk: `var` is on it as it is, of the rest only what differs from the image.
    pub fn disk(&self, path: &str) -> PathBuf {
        let path = path.trim_start_matches('/');
        if path.starts_with("var/") {
            self.file("disk").join(path)
        } else {
            self.file("disk/root").join(path)
        }
    }

    /// Switches it on. The first time, and after its disk was wiped, Ignition provisions it with what the firmware has.
    pub fn power_on(&self, firmware: &Firmware) -> anyhow::Result<()> {
        let mut power = self.power();
        if let Some(on) = &mut power.on {
            if on.process.has_ended()?.is_none() {
                return Ok(());
            }
            Self::cut(&mut power)?;
        }
        self.insert_disk()?;
        self.hand_over(firmware)?;
        power.boots += 1;
        // The folder of the lab has the number of this process, and one of its own.
        let lab = self.parts.folder.parent().and_then(Path::file_name).unwrap_or_default();
        let (groups, table) = Groups::make(&format!("{}-{}", lab.to_string_lossy(), self.name()))?;
        fs_err::write(self.file("cgroups"), table)?;
        let IpAddr::V4(address) = self.address() else { bail!("the switch has IPv4 only") };
        let last = address.octets()[3];
        let text = |value: String| value.into();
        let process = Process::start(Start {
            name: self.name(),
            program: &super::root::files().join("machine.sh"),
            arguments: vec!["cgroups".into()],
            environment: vec![
                ("MACHINE", self.parts.folder.clone().into()),
                ("IMAGE", self.parts.image.clone().into()),
                ("SWITCH", text(self.parts.switch.to_string())),
                ("ADDRESS", text(format!("{address}/24"))),
                ("GATEWAY", text(GATEWAY.to_string())),
                // Locally administered, and as different as the addresses.
                ("MAC", text(format!("02:00:00:77:00:{last:02x}"))),
            ],
            log: self.file(&format!("console-{}", power.boots)),
            network_of: None,
        })?;
        power.on = Some(On { process, groups });
        Ok(())
    }

    /// A disk like the image's. Files that nobody changes in place are the same on all disks.
    fn insert_disk(&self) -> anyhow::Result<()> {
        fs_err::create_dir_all(self.file("root"))?;
        if self.file("disk").is_dir() {
            return Ok(());
        }
        let new = self.file("disk.new");
        if new.exists() {
            fs_err::remove_dir_all(&new)?;
        }
        fs_err::create_dir_all(new.join("root"))?;
        fs_err::create_dir_all(new.join("work"))?;
        copy(&["--archive"], &self.parts.image.join("var"), &new.join("var"))?;
        if self.parts.store.is_dir() {
            super::root::copy_store(&self.parts.store, &new.join("var/lib/containerd"))?;
        }
        Ok(fs_err::rename(new, self.file("disk"))?)
    }

    fn hand_over(&self, firmware: &Firmware) -> anyhow::Result<()> {
        for folder in ["given", "told"] {
            if self.file(folder).exists() {
                fs_err::remove_dir_all(self.file(folder))?;
            }
            fs_err::create_dir_all(self.file(folder))?;
        }
        if let Some(config) = &firmware.ignition {
            fs_err::write(self.file("given/config.ign"), config)?;
        }
        // A machine nobody has given an id has one of zeroes, as cheap ones do.
        let uuid = firmware.uuid.as_deref().unwrap_or("00000000-0000-0000-0000-000000000000");
        fs_err::write(self.file("given/product_uuid"), format!("{uuid}\n"))?;
        fs_err::create_dir_all(self.file("given/guestinfo"))?;
        for (key, value) in &firmware.guestinfo {
            if key.contains('/') {
                bail!("`{key}` is no key of guestinfo");
            }
            fs_err::write(self.file("given/guestinfo").join(key), value)?;
        }
        Ok(())
    }

    /// Cuts the power: nothing is asked, nothing is finished. Returns when nothing of it runs any more.
    pub fn power_off(&self) -> anyhow::Result<()> {
        Self::cut(&mut self.power()).with_context(|| format!("switching machine `{}` off", self.name()))
    }

    fn cut(power: &mut Power) -> anyhow::Result<()> {
        if let Some(On { process, groups }) = power.on.take() {
            groups.kill()?;
            // Should one be left, the kernel ends the first process of its namespace with this one, and that one all others.
            drop(process);
            groups.wait_until_empty(TIMEOUT)?;
        }
        Ok(())
    }

    /// Switches it off and forgets its disk.
    pub fn wipe(&self) -> anyhow::Result<()> {
        let mut power = self.power();
        Self::cut(&mut power)?;
        if self.file("disk").exists() {
            fs_err::remove_dir_all(self.file("disk"))?;
        }
        Ok(())
    }

    /// Whether it runs. A machine that Ignition failed on does not.
    pub fn is_on(&self) -> bool {
        self.power().on.as_mut().is_some_and(|on| on.process.has_ended().is_ok_and(|end| end.is_none()))
    }

    /// The last words of a machine that went off by itself, as one does that cannot be provisioned.
    pub fn failure(&self) -> Option<String> {
        self.power().on.as_mut()?.process.must_run().err().map(|error| error.to_string())
    }

    /// What it tells, once it does.
    pub fn guest(&self) -> Option<Guest> {
        let told = std::fs::read_to_string(self.file("told/guest")).ok()?;
        let mut lines = told.lines();
        let hostname = lines.next()?.to_owned();
        let addresses = lines.map(str::parse).collect::<Result<_, _>>().ok()?;
        self.is_on().then_some(Guest { hostname, addresses })
    }

    /// Waits until its system is up and tells who it is.
    pub fn wait_until_up(&self, limit: Duration) -> anyhow::Result<Guest> {
        let end = Instant::now() + limit;
        loop {
            if let Some(guest) = self.guest() {
                return Ok(guest);
            }
            match self.power().on.as_mut() {
                Some(on) => on.process.must_run()?,
                None => bail!("machine `{}` is off", self.name()),
            }
            if Instant::now() > end {
                bail!("machine `{}` is not up after {limit:?}:\n{}", self.name(), self.console());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The first process of the machine, as the host numbers it.
    fn init(&self) -> anyhow::Result<u32> {
        let parent = self.power().on.as_ref().map(|on| on.process.id());
        let parent = parent.with_context(|| format!("machine `{}` is off", self.name()))?;
        let namespace = |pid: &str| fs_err::read_link(format!("/proc/{pid}/ns/pid"));
        let own = namespace("self")?;
        let children = fs_err::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
        let init = children.split_whitespace().find(|pid| namespace(pid).is_ok_and(|other| other != own));
        let init = init.with_context(|| format!("machine `{}` has not started yet", self.name()))?;
        Ok(init.parse()?)
    }

    /// A command inside of the machine, as root.
    pub fn command(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = bound(Path::new("nsenter"), None);
        command.args(["--target", &self.init()?.to_string()]);
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "--"]);
        command.args(["env", "--ignore-environment", "container=lab", "HOME=/root", "LANG=C.UTF-8"]);
        command.args(["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", program]);
        Ok(command)
    }

    /// What a command inside of the machine prints; anything but success is an error.
    pub fn run(&self, command: &[&str]) -> anyhow::Result<String> {
        let (program, arguments) = command.split_first().context("no command")?;
        let output = self.command(program)?.args(arguments).output().context("starting nsenter")?;
        finish(&output, || format!("`{}` on machine `{}`", command.join(" "), self.name()))
    }

    /// What Ignition printed, in all boots.
    pub fn console(&self) -> String {
        let boots = self.power().boots;
        let read = |boot| std::fs::read(self.file(&format!("console-{boot}"))).unwrap_or_default();
        (1..=boots).map(|boot| String::from_utf8_lossy(&read(boot)).into_owned()).collect()
    }

    /// The journal on its disk, also while it is off; of a unit, or of all.
    pub fn journal(&self, unit: Option<&str>) -> anyhow::Result<String> {
        let mut command = Command::new("journalctl");
        command
            .arg("--directory")
            .arg(self.file("disk/var/log/journal"))
            .args(["--no-pager", "--output=short-precise"]);
        if let Some(unit) = unit {
            command.args(["--unit", unit]);
        }
        let output = command.output().context("starting journalctl")?;
        finish(&output, || format!("the journal of machine `{}`", self.name()))
    }
}

fn finish(output: &Output, what: impl Fn() -> String) -> anyhow::Result<String> {
    if !output.status.success() {
        let words =
            [&output.stdout, &output.stderr].map(|words| String::from_utf8_lossy(words).trim().to_owned());
        bail!("{}: {}: {}", what(), output.status, words.join("\n"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `cp` from one folder to a new one.
pub(super) fn copy(how: &[&str], from: &Path, to: &Path) -> anyhow::Result<()> {
    let output = Command::new("cp").args(how).arg("--no-target-directory").arg(from).arg(to).output()?;
    finish(&output, || format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}
