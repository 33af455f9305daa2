//! Configurations and static pods on the disk, and who is told.

use std::io;

use slipway_assets::onprem::{CONFIG_FOLDER, Part, Settings, corefile, haproxy_cfg, keepalived_conf};

use super::OnpremError;
use crate::runtime::host::Files;

/// Where the kubelet looks for static pods.
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The pod that holds the virtual addresses.
pub const KEEPALIVED_POD: &str = "slipway-keepalived.yaml";

/// A program that reads its file again when it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Keepalived,
    Haproxy,
}

impl Program {
    fn pid_file(self) -> &'static str {
        match self {
            Program::Keepalived => "/run/slipway/keepalived.pid",
            Program::Haproxy => "/run/slipway/haproxy.pid",
        }
    }

    /// What the kernel calls a process of it.
    fn command(self) -> &'static str {
        match self {
            Program::Keepalived => "keepalived",
            Program::Haproxy => "haproxy",
        }
    }

    fn signal(self) -> rustix::process::Signal {
        match self {
            Program::Keepalived => rustix::process::Signal::HUP,
            Program::Haproxy => rustix::process::Signal::USR2,
        }
    }
}

/// The files of a machine.
#[derive(Debug, Clone)]
pub struct MachineFiles {
    files: Files,
}

impl MachineFiles {
    pub fn new(files: Files) -> Self {
        MachineFiles { files }
    }

    /// Writes what has changed, and gives those that have to be told. The configurations are there before the pods are.
    pub fn put(&self, settings: &Settings, part: Part) -> Result<Vec<Program>, OnpremError> {
        let mut changed = Vec::new();
        let write = |name: &str, text: &str| self.files.write(format!("{CONFIG_FOLDER}/{name}"), 0o644, text);
        // CoreDNS looks by itself.
        write("Corefile", &corefile(settings))?;
        if part == Part::ControlPlane && write("haproxy.cfg", &haproxy_cfg(settings))? {
            changed.push(Program::Haproxy);
        }
        if write("keepalived.conf", &keepalived_conf(settings))? {
            changed.push(Program::Keepalived);
        }
        self.put_pods()?;
        Ok(changed)
    }

    /// Gives the waiting pods to the kubelet.
    pub fn put_pods(&self) -> io::Result<()> {
        let waiting = format!("{CONFIG_FOLDER}/pods");
        for name in self.files.list(&waiting)? {
            let text = self.files.read(format!("{waiting}/{name}"))?;
            self.files.write(format!("{MANIFESTS}/{name}"), 0o600, &text)?;
        }
        Ok(())
    }

    /// Takes the virtual addresses away from this machine.
    pub fn let_go(&self) -> io::Result<()> {
        self.files.remove(format!("{MANIFESTS}/{KEEPALIVED_POD}"))
    }

    /// Whether a process is what its file says. A file that was left behind may name another one by now, and most programs
    /// end when they are told this.
    fn runs(&self, pid: rustix::process::Pid, program: Program) -> bool {
        let command = self.files.read_if_there(format!("/proc/{}/comm", pid.as_raw_nonzero()));
        matches!(command, Ok(Some(text)) if text.trim_end() == program.command())
    }

    /// Tells a program that its file has changed. One that does not run yet reads it when it starts.
    pub fn tell(&self, program: Program) {
        let Ok(Some(text)) = self.files.read_if_there(program.pid_file()) else { return };
        let pid = text.trim().parse().ok().and_then(rustix::process::Pid::from_raw);
        let Some(pid) = pid else { return };
        if !self.runs(pid, program) {
            return;
        }
        if let Err(error) = rustix::process::kill_process(pid, program.signal()) {
            tracing::warn!(?program, %error, "a program was not notified of its changed file");
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_assets::onprem::{Machine, NetworkFacts, Part, Settings};

    use super::{MachineFiles, Program};
    use crate::runtime::host::Files;

    fn settings(others: &[&str]) -> Settings {
        let facts = NetworkFacts {
            domain: "harbour.example.com".to_owned(),
            api_vips: vec!["10.0.0.2".parse().unwrap()],
            ingress_vips: vec!["10.0.0.3".parse().unwrap()],
            ingress_probe: "http://localhost:80/".to_owned(),
        };
        let machine = |name: &str, last: usize| {
            Machine::new(name, Part::ControlPlane, vec![format!("10.0.0.{}", 10 + last).parse().unwrap()])
                .unwrap()
        };
        let all = others.iter().enumerate().map(|(index, name)| machine(name, index + 1)).collect();
        Settings::new(facts, machine("a", 0), all, "eth0", Vec::new()).unwrap()
    }

    /// A pid file that was left behind names a process of somebody else.
    #[test]
    fn nobody_else_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        let machine_files = MachineFiles::new(files.clone());
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        files.write("/run/slipway/haproxy.pid", 0o644, &format!("{}\n", other.id())).unwrap();
        let comm = format!("/proc/{}/comm", other.id());
        // SIGUSR2 ends what does not expect it: only the process of the right name gets it.
        machine_files.tell(Program::Haproxy);
        files.write(&comm, 0o644, "sleep\n").unwrap();
        machine_files.tell(Program::Haproxy);
        assert!(other.try_wait().unwrap().is_none());
        files.write(&comm, 0o644, "haproxy\n").unwrap();
        machine_files.tell(Program::Haproxy);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&other.wait().unwrap()), Some(12));
    }

    #[test]
    fn only_what_changed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        files.write("/etc/slipway/onprem/pods/slipway-keepalived.yaml", 0o644, "kind: Pod").unwrap();
        let machine_files = MachineFiles::new(files.clone());
        let all = [Program::Haproxy, Program::Keepalived];
        assert_eq!(machine_files.put(&settings(&[]), Part::ControlPlane).unwrap(), all);
        assert_eq!(files.read("/etc/kubernetes/manifests/slipway-keepalived.yaml").unwrap(), "kind: Pod");
        assert_eq!(machine_files.put(&settings(&[]), Part::ControlPlane).unwrap(), []);
        assert_eq!(machine_files.put(&settings(&["b"]), Part::ControlPlane).unwrap(), all);
        machine_files.let_go().unwrap();
        assert!(!files.exists("/etc/kubernetes/manifests/slipway-keepalived.yaml"));
        assert!(!files.exists("/etc/slipway/onprem/haproxy.cfg.new"));
    }
}
