//! A place for a cluster in the lab: vCenters with what it needs, an install-config, and the programs of this clone.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::root::KUBERNETES;
use super::vsphere::Hypervisor;
use super::{Image, Lab, NETWORK, Settings, pods};
use crate::estate::{self, PASSWORD_VARIABLE, Server, Site};
use crate::kubectl::Kubectl;
use crate::network::Hosts;
use crate::peers;
use crate::vcenter::{ADMINISTRATOR, VCenter};

/// The virtual address of the first cluster's API. That of its ingress follows, and then those of the next cluster.
const FIRST_VIP: u8 = 10;
/// The image that machines have as `payload.slipwayImage`.
const SLIPWAY_IMAGE: &str = "lab.example.com/slipway:clone";
const DOMAIN: &str = "example.com";

/// The programs of this clone.
#[derive(Debug, Clone)]
pub struct Programs {
    pub slipway: PathBuf,
    pub operator: PathBuf,
    /// What machines have beside `payload.slipwayImage`.
    pub images: Vec<Image>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ClusterOptions<'a> {
    /// The cluster's name.
    pub name: &'a str,
    /// Names of datacenters, each on a vCenter of its own.
    pub sites: &'a [&'a str],
    pub control_plane: u32,
    pub compute: u32,
}

/// vCenters whose machines boot, and a folder with an install-config for them.
#[derive(Debug)]
pub struct Harbour {
    hypervisors: Arc<Vec<Hypervisor>>,
    vcenters: Vec<Arc<VCenter>>,
    lab: Arc<Lab>,
    /// Names of the vCenters' datacenters.
    sites: Vec<String>,
    folder: PathBuf,
    /// The virtual address of the API.
    vip: Ipv4Addr,
    programs: Programs,
}

impl Harbour {
    /// A place for one cluster.
    pub fn build(wish: &ClusterOptions<'_>, programs: &Programs) -> anyhow::Result<Self> {
        let [only] = Self::build_all(std::array::from_ref(wish), programs)?;
        Ok(only)
    }

    /// Places for several clusters on the same switch and the same vCenters, which are those of the first.
    pub fn build_all<const N: usize>(
        wishes: &[ClusterOptions<'_>; N],
        programs: &Programs,
    ) -> anyhow::Result<[Self; N]> {
        let first = wishes.first().context("no cluster is wished for")?;
        let mut hosts = Hosts::default();
        for (number, wish) in (0..).zip(wishes) {
            for name in ["api", "api-int"] {
                hosts.insert(format!("{name}.{}.{DOMAIN}", wish.name), vips(number)[0].into());
            }
        }
        let servers: Vec<(String, IpAddr)> = (2..)
            .zip(first.sites)
            .map(|(last, site)| (server(site), IpAddr::from([10, 77, 0, last])))
            .collect();
        hosts.extend(servers.iter().cloned());
        let mut images = vec![slipway_image(&programs.operator)?];
        images.extend(programs.images.iter().cloned());
        let lab = Arc::new(Lab::start(Settings { hosts, images })?);
        let mut vcenters = Vec::new();
        for (site, (name, address)) in first.sites.iter().zip(&servers) {
            lab.add_address(*address)?;
            vcenters.push(Arc::new(VCenter::start_at_name(
                &inventory(&self::site(site)),
                lab.network(),
                name,
                443,
            )?));
        }
        let hypervisors: Vec<_> = vcenters.iter().map(|vcenter| Hypervisor::follow(&lab, vcenter)).collect();
        let hypervisors = Arc::new(hypervisors);
        let mut harbours = Vec::new();
        for (number, wish) in (0..).zip(wishes) {
            let folder = lab.scratch().join(wish.name);
            fs_err::create_dir_all(folder.join("cni"))?;
            fs_err::write(folder.join("cni/lab.yaml"), pods::manifest_file())?;
            fs_err::write(folder.join("install-config.yaml"), install_config(wish, number, &vcenters))?;
            harbours.push(Harbour {
                hypervisors: Arc::clone(&hypervisors),
                vcenters: vcenters.clone(),
                lab: Arc::clone(&lab),
                sites: wish.sites.iter().map(|&site| site.to_owned()).collect(),
                folder,
                vip: vips(number)[0],
                programs: programs.clone(),
            });
        }
        harbours.try_into().map_err(|_| anyhow::anyhow!("as many places as wishes"))
    }

    /// The virtual address of the cluster's API.
    pub fn vip(&self) -> Ipv4Addr {
        self.vip
    }

    pub fn lab(&self) -> &Arc<Lab> {
        &self.lab
    }

    pub fn vcenters(&self) -> &[Arc<VCenter>] {
        &self.vcenters
    }

    /// The asset directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `slipway` with arguments, beside the switch.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(&self.programs.slipway);
        command.args(arguments).env(PASSWORD_VARIABLE, ADMINISTRATOR.1);
        command
    }

    /// The same for the cluster in [`Self::folder`].
    pub fn slipway(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.arg("--dir").arg(&self.folder);
        command
    }

    /// The administrator's kubectl.
    pub fn kubectl(&self) -> anyhow::Result<Kubectl> {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let kubeconfig = self.lab.scratch().join(&format!("kubeconfig-{name}"));
        fs_err::copy(self.folder.join("auth/kubeconfig"), &kubeconfig)?;
        Kubectl::new(&kubeconfig, Some(self.lab.network().holder()))
    }

    /// Makes a virtual machine on a vCenter and switches it on with the configuration of new workers, as an administrator
    /// would who makes machines by hand.
    pub fn add_worker(&self, site: usize, name: &str) -> anyhow::Result<()> {
        let both = self.vcenters.get(site).zip(self.sites.get(site));
        let (vcenter, datacenter) = both.with_context(|| format!("no site {site}"))?;
        let config = fs_err::read(self.folder.join("worker.ign"))?;
        let machine = json!({
            "name": name, "cluster": "compute", "datastore": "vsan", "networks": ["cluster-net"], "power": "off",
            "cpus": 4, "memory_mb": 8192,
            "extra_config": {
                "guestinfo.hostname": name,
                "guestinfo.ignition.config.data": STANDARD.encode(config),
                "guestinfo.ignition.config.data.encoding": "base64",
            },
        });
        let part = json!({"datacenters": [{"name": datacenter, "vms": [machine]}]});
        vcenter.control("POST", "/inventory/apply", &part)?;
        vcenter.control("POST", &format!("/vms/{datacenter}/vm/{name}/power"), &json!({"state": "on"}))?;
        Ok(())
    }

    /// Switches a virtual machine on, wherever it is.
    pub fn power_on(&self, name: &str) -> anyhow::Result<()> {
        self.act(name, "power", &json!({"state": "on"}))
    }

    /// Switches a virtual machine off, wherever it is.
    pub fn power_off(&self, name: &str) -> anyhow::Result<()> {
        self.act(name, "power", &json!({"state": "off"}))
    }

    /// Removes a virtual machine that is off.
    pub fn destroy(&self, name: &str) -> anyhow::Result<()> {
        self.act(name, "destroy", &Value::Null)
    }

    fn act(&self, name: &str, verb: &str, body: &Value) -> anyhow::Result<()> {
        for vcenter in &self.vcenters {
            let machine = vcenter.objects()?.into_iter().find(|object| object["name"] == name);
            if let Some(reference) = machine.as_ref().and_then(|machine| machine["moref"].as_str()) {
                vcenter.control("POST", &format!("/vms/{reference}/{verb}"), body)?;
                return Ok(());
            }
        }
        bail!("no vCenter has a virtual machine `{name}`")
    }

    /// What went wrong between the vCenters and the machines.
    pub fn failures(&self) -> Vec<String> {
        self.hypervisors.iter().flat_map(Hypervisor::failures).collect()
    }
}

/// The virtual addresses of a cluster: API, ingress.
fn vips(number: u8) -> [Ipv4Addr; 2] {
    [0, 1].map(|offset| Ipv4Addr::new(10, 77, 0, FIRST_VIP + 2 * number + offset))
}

/// The name of a site's vCenter.
pub fn server(site: &str) -> String {
    format!("{site}.vcenter.{DOMAIN}")
}

/// Programs that the image has from Debian: their packages, and where they are.
const PACKAGED: [(&str, &str); 4] = [
    ("keepalived", "/usr/sbin/keepalived"),
    ("haproxy", "/usr/sbin/haproxy"),
    ("nftables", "/usr/sbin/nft"),
    ("curl", "/usr/bin/curl"),
];
/// What every image of Debian has, and ours needs.
const BASE: &str = "/usr/sbin/chroot";
/// Ours, and CoreDNS.
const COPIED: [&str; 2] = ["/usr/bin/slipway-operator", "/usr/bin/coredns"];

/// What `deploy/payload/Containerfile` puts into the image.
fn slipway_image(operator: &Path) -> anyhow::Result<Image> {
    if !operator.is_file() {
        bail!("{} is not there; build it with `cargo build --package slipway-operator`", operator.display());
    }
    let [program, names] = COPIED;
    let image = Image::new(SLIPWAY_IMAGE, &[program])
        .program(operator, program)
        .program(&peers::find("coredns")?, names);
    let image = PACKAGED.iter().fold(image.of_root(BASE), |image, (_, path)| image.of_root(path));
    Ok(image
        .text(
            "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
            "/etc/passwd",
        )
        .text("root:x:0:\nnogroup:x:65534:\n", "/etc/group"))
}

fn site(name: &str) -> Site {
    Site { template: "debian-lab".to_owned(), ..Site::new(name) }
}

/// Hosts are large enough for clusters that other tests have no room for.
fn inventory(site: &Site) -> Value {
    let mut inventory = site.inventory();
    inventory["datacenters"][0]["clusters"][0]["hosts"][0] =
        json!({"name": "esx", "count": 3, "cores": 32, "memory_mb": 524_288});
    inventory
}

fn install_config(wish: &ClusterOptions<'_>, number: u8, vcenters: &[Arc<VCenter>]) -> String {
    let [api, ingress] = vips(number);
    let sites: Vec<Site> = wish.sites.iter().map(|name| site(name)).collect();
    let servers = sites.iter().zip(vcenters).map(|(site, vcenter)| {
        (site, Server::named(&server(&site.zone), json!({"thumbprint": vcenter.thumbprint_sha256()})))
    });
    let mut config = estate::install_config(wish.name, servers);
    config["baseDomain"] = json!(DOMAIN);
    config["controlPlane"]["replicas"] = json!(wish.control_plane);
    config["compute"][0]["replicas"] = json!(wish.compute);
    config["networking"] = json!({
        "machineNetwork": [{"cidr": NETWORK}],
        "clusterNetwork": [{"cidr": pods::NETWORK, "hostPrefix": 23}],
    });
    config["platform"]["vsphere"]["apiVIPs"] = json!([api]);
    config["platform"]["vsphere"]["ingressVIPs"] = json!([ingress]);
    config["payload"] = json!({
        "type": "Kubernetes", "version": KUBERNETES, "slipwayImage": SLIPWAY_IMAGE, "networkManifests": "cni",
    });
    // Nothing is pulled from anywhere.
    if let Some(members) = config.as_object_mut() {
        members.remove("pullSecret");
    }
    config.to_string()
}

#[cfg(test)]
mod tests {
    use super::{COPIED, PACKAGED};

    /// The lab has the same programs at the same places as the image that people build.
    #[test]
    fn the_image_is_the_one_that_is_described() {
        let described = include_str!("../../../../deploy/payload/Containerfile");
        for (package, _) in PACKAGED {
            assert!(described.contains(&format!(" {package} ")), "{package}");
        }
        for program in COPIED {
            assert!(
                described.lines().any(|line| line.starts_with("COPY") && line.ends_with(program)),
                "{program}"
            );
        }
        assert_eq!(described.matches("\nCOPY --from=").count(), COPIED.len());
    }
}
