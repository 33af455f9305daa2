//! What an install-config may leave open as long as only files are wanted: machines need it.

use std::collections::BTreeSet;
use std::fmt;

use super::vsphere::OsImage;
use super::{ImageRef, InstallConfig, Payload, PayloadType, Platform, WrittenInstallConfig};
use crate::findings::{Findings, Rule};
use crate::names::FailureDomainName;
use crate::yaml::At;

/// Something machines cannot be made without. `create manifests` can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// Which OpenShift release is installed: `payload.releaseImage`.
    ReleaseImage,
    /// What machines are made from: `topology.template` of these failure domains, or `clusterOSImage`.
    OsImage { failure_domains: Vec<FailureDomainName> },
    /// What disks are cloned from on KubeVirt: `platform.kubevirt.clusterOSImage`.
    DiskImage,
    /// What machines are made from on oVirt: `platform.ovirt.templateName`.
    Template,
}

impl Missing {
    /// What to write.
    pub fn hint(&self) -> &'static str {
        match self {
            Missing::ReleaseImage => {
                "add `payload: {releaseImage: …}` before `create ignition-configs` or `create cluster`"
            }
            Missing::OsImage { .. } => {
                "add `clusterOSImage` with the URL of an OVA, or `topology.template` with a template that is there"
            }
            Missing::DiskImage => {
                "add `clusterOSImage` with the URL of a qcow2 or raw image that the infrastructure cluster can fetch"
            }
            Missing::Template => {
                "add `templateName` with a template of the engine whose system knows Ignition; the guide about oVirt says how one \
                 is made"
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More names than this are of no use to a reader.
        const MAX_NAMES: usize = 5;
        match self {
            Missing::ReleaseImage => f.write_str("`payload.releaseImage` is not given"),
            Missing::DiskImage => f.write_str("`platform.kubevirt.clusterOSImage` is not given"),
            Missing::Template => f.write_str("`platform.ovirt.templateName` is not given"),
            Missing::OsImage { failure_domains } => {
                let names: Vec<&str> =
                    failure_domains.iter().take(MAX_NAMES).map(FailureDomainName::as_str).collect();
                let more = failure_domains.len() - names.len();
                write!(f, "nothing to make machines from in {}", names.join(", "))?;
                if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
        }
    }
}

impl InstallConfig {
    /// What is not given although machines need it. Empty when machines can be made.
    pub fn missing_for_machines(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        if let Payload::OpenShift { release_image: None, .. } = &self.payload {
            missing.push(Missing::ReleaseImage);
        }
        let failure_domains = self.without_os_image();
        // A release names the image of its machines.
        if !failure_domains.is_empty() && self.payload.kind() == PayloadType::Kubernetes {
            missing.push(Missing::OsImage { failure_domains });
        }
        if matches!(&self.platform, Platform::KubeVirt(platform) if platform.os_image.is_none()) {
            missing.push(Missing::DiskImage);
        }
        if matches!(&self.platform, Platform::Ovirt(platform) if platform.template.is_none()) {
            missing.push(Missing::Template);
        }
        missing
    }

    /// What templates are made from on vSphere.
    pub fn os_image(&self) -> Option<&OsImage> {
        match &self.platform {
            Platform::VSphere(platform) => platform.os_image.as_ref(),
            _ => None,
        }
    }

    /// The same with an image, unless it has one.
    #[must_use]
    pub fn with_os_image(mut self, image: Option<&OsImage>) -> Self {
        if let Platform::VSphere(platform) = &mut self.platform {
            platform.os_image = platform.os_image.take().or_else(|| image.cloned());
        }
        self
    }

    /// The release whose OS image machines are made from, where the install-config names neither image nor templates.
    pub fn release_with_os_image(&self) -> Option<&ImageRef> {
        match &self.payload {
            Payload::OpenShift { release_image: Some(release), .. }
                if !self.without_os_image().is_empty() =>
            {
                Some(release)
            }
            _ => None,
        }
    }

    /// Failure domains that get machines, in the order they are listed, without anything to make these from.
    fn without_os_image(&self) -> Vec<FailureDomainName> {
        let Platform::VSphere(platform) = &self.platform else { return Vec::new() };
        if platform.os_image.is_some() {
            return Vec::new();
        }
        let placement = self.placement();
        let compute = placement.compute.iter().filter(|set| set.replicas > 0).map(|set| set.failure_domain);
        let placed: BTreeSet<usize> =
            placement.control_plane.iter().copied().chain([placement.bootstrap]).chain(compute).collect();
        // Without a compute cluster the machines are the user's own.
        let lacks = |position: &usize| {
            let topology = &platform.failure_domains.get(*position)?.topology;
            Some(topology.template.is_none() && topology.compute_cluster.is_some())
        };
        placed
            .into_iter()
            .filter(|position| lacks(position).unwrap_or_default())
            .map(|position| platform.failure_domains[position].name.clone())
            .collect()
    }
}

/// Tells what will be needed for machines, where it would stand.
pub(super) fn notes(config: &InstallConfig, written: &WrittenInstallConfig, findings: &mut Findings) {
    for missing in config.missing_for_machines() {
        let (rule, at, key) = match &missing {
            Missing::ReleaseImage => (Rule::ReleaseImage, written.payload.at(), "releaseImage"),
            Missing::OsImage { .. } => {
                let platform = written.platform.get().and_then(|platform| platform.vsphere.at());
                (Rule::MachineImage, platform, "clusterOSImage")
            }
            Missing::DiskImage => {
                let platform = written.platform.get().and_then(|platform| platform.kubevirt.at());
                (Rule::MachineImage, platform, "clusterOSImage")
            }
            Missing::Template => {
                let platform = written.platform.get().and_then(|platform| platform.ovirt.at());
                (Rule::MachineImage, platform, "templateName")
            }
        };
        let key = if at.is_none() { "payload" } else { key };
        let message = format!("{missing}: `create manifests` works without it, `create cluster` does not");
        findings.note_missing(rule, at.unwrap_or(At::ROOT), key, message).hint(missing.hint());
    }
}
