//! The machines' image and the container images on it: built once into the cache of the peers, offline from then on.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

pub use super::image::Image;
use super::machine::copy;
use super::{Firmware, GATEWAY, Lab, TIMEOUT, pods};
use crate::network::Hosts;
use crate::peers::{self, Peer, cache, lock};

/// The root of all machines, in the folder of the lab.
pub(super) const ROOT: &str = "root";
/// What containerd has on every new disk.
pub(super) const STORE: &str = "store";
const COMPLETE: &str = ".complete";

/// To be raised when the same files and programs are put together in another way.
const FORMAT: u32 = 2;
/// What the image is made of: the version of Debian, its packages, and our programs.
const RELEASE: &str = "bookworm";
const PACKAGES: &[&str] = &[
    "busybox-static",
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "curl",
    "dbus",
    "ethtool",
    "haproxy",
    "iproute2",
    "jq",
    "keepalived",
    "kmod",
    "libblkid1",
    "nftables",
    "procps",
    "runc",
    "systemd",
    "systemd-sysv",
];
/// Which program goes where in the image.
const PROGRAMS: &[(&str, &str)] = &[
    ("ignition", "usr/bin/ignition"),
    ("kubelet", "usr/local/lib/kubelet"),
    ("kubeadm", "usr/local/bin/kubeadm"),
    ("kubectl", "usr/local/bin/kubectl"),
];
/// Whose programs are on the machines, or in containers.
const PEERS: &[&str] = &["ignition", "kubernetes", "etcd", "coredns", "vsphere-ccm"];
/// Units about hardware, kernels and consoles, which a namespace has not, and those that would change the network.
const MASKED: &[&str] = &[
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "getty.target",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-firstboot.service",
    "systemd-logind.service",
    "systemd-modules-load.service",
    "systemd-networkd.service",
    "systemd-remount-fs.service",
    "systemd-resolved.service",
    "systemd-timesyncd.service",
    "systemd-udev-trigger.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udevd.service",
];
pub(super) const KUBERNETES: &str = "v1.34.4";

/// Files of ours that machines are made of.
pub(super) fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/lab")
}

/// Where this version of the lab is kept: by a hash of everything that decides what it is.
fn folder() -> anyhow::Result<PathBuf> {
    let mut hash = Sha256::new();
    for path in tree(&files())? {
        hash.update(path.strip_prefix(files())?.as_os_str().as_encoded_bytes());
        hash.update(fs_err::read(&path)?);
    }
    for name in PEERS {
        hash.update(Peer::named(name)?.folder()?.file_name().unwrap_or_default().as_encoded_bytes());
    }
    hash.update(format!("{FORMAT} {RELEASE} {PACKAGES:?} {PROGRAMS:?} {MASKED:?} {KUBERNETES}"));
    Ok(cache()?.join(format!("lab-{}", short(hash))))
}

/// Debian alone, which takes longest and changes least.
fn debian() -> anyhow::Result<PathBuf> {
    let mut hash = Sha256::new();
    hash.update(format!("{RELEASE} {PACKAGES:?}"));
    Ok(cache()?.join(format!("debian-{}", short(hash))))
}

fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// All files below a folder, in order.
fn tree(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(tree(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Whether everything is there.
pub fn is_built() -> anyhow::Result<bool> {
    Ok(folder()?.join(COMPLETE).is_file())
}

pub(super) fn find() -> anyhow::Result<PathBuf> {
    if !is_built()? {
        bail!("the machines of the lab have no image; run `cargo xtask peers lab` as root");
    }
    folder()
}

/// Builds what is missing, with a line for each part. Returns whether there was something to do.
pub fn build() -> anyhow::Result<bool> {
    if is_built()? {
        return Ok(false);
    }
    if let Some(missing) = Lab::missing() {
        bail!("{missing}");
    }
    for name in PEERS {
        Peer::named(name)?.build()?;
    }
    let _lock = lock(&cache()?)?;
    // Whoever had the lock may have built it.
    if is_built()? {
        return Ok(false);
    }
    let folder = folder()?;
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    let start = Instant::now();
    install_debian()?;
    println!("lab: configuring the machines' root ({:.0} s so far)", start.elapsed().as_secs_f64());
    let root = folder.join(ROOT);
    copy(&["--archive", "--reflink=auto"], &debian()?, &root)?;
    configure(&root)?;
    println!("lab: making and importing container images ({:.0} s so far)", start.elapsed().as_secs_f64());
    let lab = Lab::with_root(Hosts::new(), root.clone(), folder.join("none"))?;
    make_store(&lab, &images()?, &folder.join(STORE))?;
    lab.scratch.settle();
    fs_err::write(folder.join(COMPLETE), "")?;
    println!("lab: built in {:.0} s", start.elapsed().as_secs_f64());
    Ok(true)
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("starting {program}"))?;
    if !output.status.success() {
        let words = [&output.stdout, &output.stderr].map(|words| String::from_utf8_lossy(words).into_owned());
        let lines: Vec<&str> = words.iter().flat_map(|words| words.lines()).collect();
        bail!(
            "{program} ended with {}:\n{}",
            output.status,
            lines[lines.len().saturating_sub(20)..].join("\n")
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// From wherever this machine has its own packages from.
fn install_debian() -> anyhow::Result<()> {
    let folder = debian()?;
    if folder.is_dir() {
        return Ok(());
    }
    println!("lab: installing Debian {RELEASE} with {} packages", PACKAGES.len());
    let format = "$(REPO_URI) $(LABEL) $(COMPONENT)";
    let targets =
        run(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let source = targets.lines().find_map(|line| line.strip_suffix(" Debian main"));
    let source = source.context(
        "apt knows no source of Debian; `apt-get update` may help, on Debian or what is made of it",
    )?;
    let new = folder.with_extension("new");
    if new.exists() {
        fs_err::remove_dir_all(&new)?;
    }
    run(Command::new("debootstrap")
        .args(["--variant=minbase", &format!("--include={}", PACKAGES.join(",")), RELEASE])
        .arg(&new)
        .arg(source))?;
    Ok(fs_err::rename(new, folder)?)
}

fn configure(root: &Path) -> anyhow::Result<()> {
    let source = files().join("root");
    for path in tree(&source)? {
        let target = root.join(path.strip_prefix(&source)?);
        fs_err::create_dir_all(target.parent().context("a folder")?)?;
        fs_err::copy(&path, &target)?;
        // A clone has the modes of whoever made it.
        let mode = if fs_err::read(&path)?.starts_with(b"#!") { 0o755 } else { 0o644 };
        fs_err::set_permissions(&target, PermissionsExt::from_mode(mode))?;
    }
    let containerd = root.join("etc/containerd/config.toml");
    let text = fs_err::read_to_string(&containerd)?.replace("PAUSE", &image_names()?.named("pause")?);
    fs_err::write(containerd, text)?;
    for (program, target) in PROGRAMS {
        fs_err::copy(peers::find(program)?, root.join(target))?;
    }
    for unit in MASKED {
        let link = root.join("etc/systemd/system").join(unit);
        if link.symlink_metadata().is_ok() {
            fs_err::remove_file(&link)?;
        }
        fs_err::os::unix::fs::symlink("/dev/null", link)?;
    }
    // Packages enable what they bring; here Ignition says what runs.
    for entry in fs_err::read_dir(root.join("etc/systemd/system"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "wants") {
            fs_err::remove_dir_all(path)?;
        }
    }
    // This is how systemd knows a first boot, in which it applies Ignition's presets.
    fs_err::write(root.join("etc/machine-id"), "uninitialized\n")?;
    fs_err::write(root.join("etc/resolv.conf"), format!("nameserver {GATEWAY}\n"))?;
    fs_err::write(root.join("etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n")?;
    for leftover in ["etc/hostname", "etc/fstab"] {
        if root.join(leftover).exists() {
            fs_err::remove_file(root.join(leftover))?;
        }
    }
    // What only the installation needed, and is copied to every disk otherwise.
    for folder in ["var/lib/apt", "var/lib/dpkg", "var/cache", "var/log", "usr/share/doc", "usr/share/locale"]
    {
        fs_err::remove_dir_all(root.join(folder))?;
    }
    for folder in ["var/cache", "var/log/journal", "opt/cni"] {
        fs_err::create_dir_all(root.join(folder))?;
    }
    Ok(())
}

/// The images kubeadm asks for.
struct Names(Vec<String>);

impl Names {
    fn named(&self, program: &str) -> anyhow::Result<String> {
        let is = |name: &&String| {
            name.rsplit('/').next().is_some_and(|last| last.split(':').next() == Some(program))
        };
        self.0.iter().find(is).cloned().with_context(|| format!("kubeadm knows no image of {program}"))
    }
}

fn image_names() -> anyhow::Result<Names> {
    let kubeadm = peers::find("kubeadm")?;
    let text =
        run(Command::new(kubeadm).args(["config", "images", "list", "--kubernetes-version", KUBERNETES]))?;
    Ok(Names(text.lines().map(str::to_owned).collect()))
}

/// The images every disk has.
fn images() -> anyhow::Result<Vec<Image>> {
    let names = image_names()?;
    let scripts = files().join("images");
    let mut images = Vec::new();
    for program in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let target = format!("/usr/local/bin/{program}");
        images.push(Image::new(&names.named(program)?, &[&target]).program(&peers::find(program)?, &target));
    }
    let etcd = Image::new(&names.named("etcd")?, &["/usr/local/bin/etcd"])
        .program(&peers::find("etcd")?, "/usr/local/bin/etcd")
        // The disks of all machines are one disk.
        .variable("ETCD_UNSAFE_NO_FSYNC", "true");
    images.push(etcd);
    images.push(
        Image::new(&names.named("coredns")?, &["/coredns"]).program(&peers::find("coredns")?, "/coredns"),
    );
    let with_shell = |image: Image, root: &Path| image.program(&root.join("bin/busybox"), "/bin/busybox");
    let root = folder()?.join(ROOT);
    // Something that waits is all there is to it.
    let pause = Image::new(&names.named("pause")?, &["/bin/busybox", "sleep", "2147483647"]);
    images.push(with_shell(pause, &root));
    let proxy = Image::new(&names.named("kube-proxy")?, &["/usr/local/bin/kube-proxy"])
        .program(&peers::find("kube-proxy")?, "/usr/local/lib/kube-proxy")
        .text(&fs_err::read_to_string(scripts.join("kube-proxy"))?, "/usr/local/bin/kube-proxy")
        .of_root("/usr/sbin/nft")
        .of_root("/usr/sbin/conntrack")
        // Without it nft writes `6` where kube-proxy said `tcp`: kube-proxy takes that for another service's, and removes it.
        .of_root("/etc/protocols");
    images.push(with_shell(proxy, &root));
    let network = Image::new(pods::IMAGE, &["/usr/local/bin/pod-network"])
        .program(&peers::find("kubectl")?, "/usr/local/bin/kubectl")
        .text(&fs_err::read_to_string(scripts.join("pod-network"))?, "/usr/local/bin/pod-network")
        .of_root("/usr/bin/ip")
        .of_root("/usr/sbin/nft");
    images.push(with_shell(network, &root));
    let manager = "vsphere-cloud-controller-manager";
    let manager = Image::new(CLOUD_PROVIDER, &["/bin/vsphere-cloud-controller-manager"])
        .program(&peers::find(manager)?, "/bin/vsphere-cloud-controller-manager");
    images.push(manager);
    let web = Image::new(WEB, &["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"])
        .text("hello from a pod\n", "/www/index.html");
    images.push(with_shell(web, &root));
    Ok(images)
}

/// The vSphere cloud controller manager, under its published name.
const CLOUD_PROVIDER: &str = "registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.34.0";
/// A web server on port 8080 that says [`GREETING`].
pub const WEB: &str = "lab.example.com/web:v1";
pub const GREETING: &str = "hello from a pod";

/// Has containerd import images on a machine, and keeps what it has then.
fn make_store(lab: &Lab, images: &[Image], target: &Path) -> anyhow::Result<()> {
    let machine = lab.machine("importer")?;
    machine.power_on(&Firmware::default())?;
    machine.wait_until_up(TIMEOUT)?;
    machine.run(&["systemctl", "start", "containerd.service"])?;
    let folder = machine.disk("/var/tmp");
    for (number, image) in images.iter().enumerate() {
        let archive = format!("image-{number}.tar");
        image.write(&lab.image, &folder.join(&archive))?;
        let path = format!("/var/tmp/{archive}");
        machine.run(&["ctr", "--namespace", "k8s.io", "images", "import", &path])?;
        fs_err::remove_file(folder.join(&archive))?;
    }
    machine.run(&["systemctl", "stop", "containerd.service"])?;
    machine.power_off()?;
    fs_err::rename(machine.disk("/var/lib/containerd"), target)
        .or_else(|_| {
            copy(&["--archive"], &machine.disk("/var/lib/containerd"), target).map_err(std::io::Error::other)
        })
        .with_context(|| format!("keeping the images in {}", target.display()))?;
    lab.scrap("importer")
}

/// The lab's store with further images.
pub(super) fn add_images(lab: &Lab, images: &[Image]) -> anyhow::Result<PathBuf> {
    let store = lab.scratch().join("store");
    make_store(lab, images, &store)?;
    Ok(store)
}

/// A copy of a store whose large files are shared: containerd writes them once. Its databases are its own.
pub(super) fn copy_store(store: &Path, target: &Path) -> anyhow::Result<()> {
    // The cache may be on another file system.
    if copy(&["--archive", "--link"], store, target).is_err() {
        if target.exists() {
            fs_err::remove_dir_all(target)?;
        }
        return copy(&["--archive", "--reflink=auto"], store, target);
    }
    let databases = run(Command::new("find").arg(target).args(["-maxdepth", "2", "-name", "*.db"]))?;
    for database in databases.lines().map(Path::new) {
        let own = database.with_extension("own");
        fs_err::copy(database, &own)?;
        fs_err::rename(own, database)?;
    }
    Ok(())
}
