//! A place for the processes of a machine in every hierarchy of cgroups that the host has.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

const TOP: &str = "/sys/fs/cgroup";
/// How the groups of machines begin: the process of their lab follows.
const LAB: &str = "slipway-lab-";

/// A hierarchy of the host.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    /// Below [`TOP`]; `.` is the top itself.
    place: String,
    /// `cgroup` or `cgroup2`.
    kind: String,
    /// What it takes to mount it once more.
    options: String,
}

/// The groups of one machine, which go with it.
#[derive(Debug)]
pub(super) struct Groups {
    folders: Vec<PathBuf>,
}

/// The hierarchies in the table of mounts, the top first.
fn hierarchies(mounts: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = mounts.lines().filter_map(hierarchy).collect();
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}

/// A line of `/proc/self/mountinfo`: `id parent device root place options … - kind source options`.
fn hierarchy(line: &str) -> Option<Hierarchy> {
    let (before, after) = line.split_once(" - ")?;
    let place = Path::new(before.split(' ').nth(4)?).strip_prefix(TOP).ok()?.to_str()?;
    let mut words = after.split(' ');
    let kind = words.next().filter(|kind| matches!(*kind, "cgroup" | "cgroup2"))?;
    let options = words.nth(1)?.split(',');
    // The others belong to the mount there is, or to whoever listens for empty groups.
    let names = options.filter(|option| {
        !matches!(*option, "rw" | "ro" | "xattr" | "clone_children" | "noprefix" | "nsdelegate")
            && !option.starts_with("release_agent=")
            && !option.starts_with("memory_")
    });
    let names: Vec<&str> = if kind == "cgroup" { names.collect() } else { Vec::new() };
    let options = match names.as_slice() {
        [] => "rw".to_owned(),
        [only] if only.starts_with("name=") => format!("none,{only}"),
        names => names.join(","),
    };
    let place = if place.is_empty() { "." } else { place };
    Some(Hierarchy { place: place.to_owned(), kind: kind.to_owned(), options })
}

impl Groups {
    /// Makes the groups, and returns how the machine finds them: `folder place kind options` in each line. The label begins with the number of this process, and is the machine's alone.
    pub(super) fn make(label: &str) -> anyhow::Result<(Self, String)> {
        let hierarchies = hierarchies(&fs_err::read_to_string("/proc/self/mountinfo")?);
        if hierarchies.is_empty() {
            bail!("no cgroups are mounted at {TOP}");
        }
        let mut groups = Groups { folders: Vec::new() };
        let mut text = String::new();
        for Hierarchy { place, kind, options } in hierarchies {
            let top = Path::new(TOP).join(&place);
            let folder = top.join(format!("{LAB}{label}"));
            fs_err::create_dir_all(&folder)?;
            hand_down(&top, &folder)?;
            text.push_str(&format!("{} {place} {kind} {options}\n", folder.display()));
            groups.folders.push(folder);
        }
        Ok((groups, text))
    }

    /// Ends all processes, none of which gets to do anything after another one has ended: they are frozen first, and have
    /// their signal when they thaw.
    pub(super) fn kill(&self) -> anyhow::Result<()> {
        let frozen = self.folders.iter().find_map(|folder| {
            // As it is in version 1 and in version 2.
            let ways = [("freezer.state", ["FROZEN", "THAWED"]), ("cgroup.freeze", ["1", "0"])];
            let (file, words) = ways.into_iter().find(|(file, _)| folder.join(file).exists())?;
            Some((folder, folder.join(file), words))
        });
        let Some((folder, file, [freeze, thaw])) = frozen else { return Ok(()) };
        fs_err::write(&file, freeze)?;
        for process in processes(folder) {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(process, Signal::KILL);
        }
        Ok(fs_err::write(&file, thaw)?)
    }

    /// Waits until no process is left.
    pub(super) fn wait_until_empty(&self, limit: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + limit;
        while self.folders.iter().any(|folder| has_processes(folder)) {
            if Instant::now() > end {
                let first = self.folders.first().context("no group")?;
                bail!("processes are left in {} after {limit:?}", first.display());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in &self.folders {
            remove(folder);
        }
    }
}

/// What a new group does not have from the one above it: processors and memory in version 1, controllers in version 2.
fn hand_down(above: &Path, below: &Path) -> anyhow::Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let is_empty = |text: String| text.trim().is_empty();
        if above.join("cgroup.controllers").exists() || !below.join(file).exists() {
            continue;
        }
        if fs_err::read_to_string(below.join(file)).is_ok_and(is_empty) {
            fs_err::write(below.join(file), fs_err::read(above.join(file))?)?;
        }
    }
    if let Ok(controllers) = std::fs::read_to_string(above.join("cgroup.controllers")) {
        let wanted: Vec<String> = controllers.split_whitespace().map(|name| format!("+{name}")).collect();
        // Beside version 1 there are none.
        if !wanted.is_empty() {
            fs_err::write(above.join("cgroup.subtree_control"), wanted.join(" "))?;
        }
    }
    Ok(())
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn processes(folder: &Path) -> Vec<Pid> {
    let own = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let own = own.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
    own.chain(subfolders(folder).iter().flat_map(|below| processes(below))).collect()
}

fn has_processes(folder: &Path) -> bool {
    let own = std::fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|text| !text.trim().is_empty());
    own || subfolders(folder).iter().any(|below| has_processes(below))
}

/// Groups are removed from below; one that is still in use stays, and is swept up later.
fn remove(folder: &Path) {
    for below in subfolders(folder) {
        remove(&below);
    }
    let _ = std::fs::remove_dir(folder);
}

/// Removes the groups of labs that were killed.
pub(super) fn sweep() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for Hierarchy { place, .. } in hierarchies(&mounts) {
        for folder in subfolders(&Path::new(TOP).join(place)) {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let owner = name.strip_prefix(LAB).and_then(|name| name.split('-').next());
            if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
                remove(&folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::hierarchies;

    #[test]
    fn hierarchies_are_read_from_the_table_of_mounts() {
        let mounts = "\
24 1 0:21 / /proc rw - proc proc rw
30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/lib/x,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
34 30 0:29 / /elsewhere rw - cgroup2 cgroup2 rw
";
        let found: Vec<String> = hierarchies(mounts)
            .into_iter()
            .map(|found| format!("{} {} {}", found.place, found.kind, found.options))
            .collect();
        assert_eq!(
            found,
            ["cpu,cpuacct cgroup cpu,cpuacct", "systemd cgroup none,name=systemd", "unified cgroup2 rw"]
        );
        let unified =
            "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
        let found = hierarchies(unified);
        assert_eq!((found[0].place.as_str(), found[0].options.as_str()), (".", "rw"));
    }
}
