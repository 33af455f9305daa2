//! The format of a matrix.

use std::collections::BTreeMap;
use std::fmt;

use semver::Version;

use super::release::Bound;
use super::{Component, Line};
use crate::decode::{BadText, Entries, Field, FromText, choice, object, text};
use crate::install_config::ImageRef;
use crate::shape::Text;

object! {
    /// Which versions of the vSphere drivers go with which Kubernetes and which vCenters.
    WrittenMatrix {
        /// The version of this format.
        format: Format as "format", required;
        /// The day it was published, such as 2026-11-16.
        published: Day as "published", required;
        /// Versions of the cloud provider, in any order.
        cloud_provider: Entries<WrittenCloudRow> as "cloudProvider", at_most 200;
        /// Versions of the storage driver, in any order.
        storage_provider: Entries<WrittenStorageRow> as "storageProvider", at_most 200;
    }
}

choice! {
    /// The version of this format.
    Format {
        /// The current one.
        V1 = "slipway.dev/matrix/v1",
    }
}

object! {
    /// A version of the cloud provider.
    WrittenCloudRow {
        /// The version.
        version: Version as "version", required;
        /// The line whose objects it consists of, such as `1.34`. Instead of `manifests`.
        line: Line as "line";
        /// Its objects, as YAML documents. Instead of `line`.
        manifests: Manifests as "manifests";
        /// Versions of Kubernetes it works with.
        kubernetes: WrittenRange as "kubernetes", required;
        /// Versions of vSphere it works with, by the version of the vCenter's API.
        vsphere: WrittenRange as "vsphere", required;
        /// Most vCenters it works with; any number without it.
        most_vcenters: u32 as "mostVCenters";
        /// Its images. Needed with `line`.
        images: WrittenCloudImages as "images";
        /// The oldest version it can be upgraded from; any without it.
        upgrade_from: Version as "upgradeFrom";
        /// Why it must not be installed, for example because of a vulnerability. Where it runs already, it is replaced.
        blocked: Reason as "blocked";
        /// The day it was released.
        released: Day as "released";
        /// Whether the objects of its line have been compared with those of the driver's own manifests.
        proven: bool as "proven", default "false";
    }
}

object! {
    /// A version of the storage driver.
    WrittenStorageRow {
        /// The version.
        version: Version as "version", required;
        /// The line whose objects it consists of, such as `3.7`. Instead of `manifests`.
        line: Line as "line";
        /// Its objects, as YAML documents. Instead of `line`.
        manifests: Manifests as "manifests";
        /// Versions of Kubernetes it works with.
        kubernetes: WrittenRange as "kubernetes", required;
        /// Versions of vSphere it works with, by the version of the vCenter's API.
        vsphere: WrittenRange as "vsphere", required;
        /// Most vCenters it works with; any number without it. Versions before 3.2 never work with several.
        most_vcenters: u32 as "mostVCenters";
        /// Its images. Needed with `line`.
        images: WrittenStorageImages as "images";
        /// States of its features, by name.
        features: BTreeMap<String, Field<bool>> as "features";
        /// The oldest version it can be upgraded from; any without it.
        upgrade_from: Version as "upgradeFrom";
        /// Why it must not be installed, for example because of a vulnerability. Where it runs already, it is replaced.
        blocked: Reason as "blocked";
        /// The day it was released.
        released: Day as "released";
        /// Whether the objects of its line have been compared with those of the driver's own manifests.
        proven: bool as "proven", default "false";
    }
}

object! {
    /// A range of versions. Both ends belong to it.
    WrittenRange {
        /// The oldest one.
        min: Bound as "min", required;
        /// The newest one; none without it. `1.34` stands for all patches of 1.34.
        max: Bound as "max";
    }
}

object! {
    /// Images of the cloud provider, with tag, digest or both.
    WrittenCloudImages {
        /// The cloud controller manager.
        manager: ImageRef as "manager", required;
    }
}

object! {
    /// Images of the storage driver, with tag, digest or both.
    WrittenStorageImages {
        /// The driver.
        driver: ImageRef as "driver", required;
        /// The syncer, which is the webhook as well.
        syncer: ImageRef as "syncer", required;
        /// Attaches volumes to nodes.
        attacher: ImageRef as "attacher", required;
        /// Makes volumes.
        provisioner: ImageRef as "provisioner", required;
        /// Makes volumes larger.
        resizer: ImageRef as "resizer", required;
        /// Makes snapshots.
        snapshotter: ImageRef as "snapshotter", required;
        /// Tells the kubelet whether the driver is alive.
        liveness_probe: ImageRef as "livenessProbe", required;
        /// Registers the driver with the kubelet.
        registrar: ImageRef as "registrar", required;
    }
}

/// What rows of both drivers have in common.
pub(super) struct Entry<'a> {
    pub(super) version: &'a Field<Version>,
    pub(super) line: &'a Field<Line>,
    pub(super) manifests: &'a Field<Manifests>,
    pub(super) kubernetes: &'a Field<WrittenRange>,
    pub(super) vsphere: &'a Field<WrittenRange>,
    pub(super) most_vcenters: &'a Field<u32>,
    /// `None` unless all of them are given.
    pub(super) images: Option<BTreeMap<Component, ImageRef>>,
    pub(super) images_given: bool,
    pub(super) features: &'a Field<BTreeMap<String, Field<bool>>>,
    pub(super) upgrade_from: &'a Field<Version>,
    pub(super) blocked: &'a Field<Reason>,
    pub(super) released: &'a Field<Day>,
    pub(super) proven: &'a Field<bool>,
}

impl WrittenCloudRow {
    pub(super) fn entry(&self) -> Entry<'_> {
        let images = self.images.get().and_then(|images| {
            let WrittenCloudImages { manager } = images;
            collect([(Component::Manager, manager)])
        });
        Entry {
            version: &self.version,
            line: &self.line,
            manifests: &self.manifests,
            kubernetes: &self.kubernetes,
            vsphere: &self.vsphere,
            most_vcenters: &self.most_vcenters,
            images,
            images_given: !self.images.is_absent(),
            features: &Field::Absent,
            upgrade_from: &self.upgrade_from,
            blocked: &self.blocked,
            released: &self.released,
            proven: &self.proven,
        }
    }
}

impl WrittenStorageRow {
    pub(super) fn entry(&self) -> Entry<'_> {
        let images = self.images.get().and_then(|images| {
            let WrittenStorageImages {
                driver,
                syncer,
                attacher,
                provisioner,
                resizer,
                snapshotter,
                liveness_probe,
                registrar,
            } = images;
            collect([
                (Component::Driver, driver),
                (Component::Syncer, syncer),
                (Component::Attacher, attacher),
                (Component::Provisioner, provisioner),
                (Component::Resizer, resizer),
                (Component::Snapshotter, snapshotter),
                (Component::LivenessProbe, liveness_probe),
                (Component::Registrar, registrar),
            ])
        });
        Entry {
            version: &self.version,
            line: &self.line,
            manifests: &self.manifests,
            kubernetes: &self.kubernetes,
            vsphere: &self.vsphere,
            most_vcenters: &self.most_vcenters,
            images,
            images_given: !self.images.is_absent(),
            features: &self.features,
            upgrade_from: &self.upgrade_from,
            blocked: &self.blocked,
            released: &self.released,
            proven: &self.proven,
        }
    }
}

fn collect<const N: usize>(
    images: [(Component, &Field<ImageRef>); N],
) -> Option<BTreeMap<Component, ImageRef>> {
    images.into_iter().map(|(component, image)| Some((component, image.get()?.clone()))).collect()
}

impl FromText for Version {
    const TEXT: Text = Text::new("a version such as 3.7.0")
        .pattern(r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$")
        .max_length(64);

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || BadText::new("not a version of three numbers").hint("write all three: `3.7.0`");
        let version: Version = text.parse().map_err(|_| bad())?;
        // Builds have no order, so a matrix could not tell them apart.
        if version.build.is_empty() { Ok(version) } else { Err(bad()) }
    }
}

impl FromText for Line {
    const TEXT: Text = Text::new("a line such as 3.7").pattern(r"^[0-9]{1,9}\.[0-9]{1,9}$").max_length(32);

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || BadText::new("not a line of two numbers").hint("write the first two: `3.7`");
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| digits).ok_or_else(bad)
        };
        Ok(Line(number(major)?, number(minor)?))
    }
}

/// A day, as `2026-11-16`. Days compare like their texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(String);

impl Day {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromText for Day {
    const TEXT: Text =
        Text::new("a day such as 2026-11-16").pattern(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$").max_length(10);

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || BadText::new("not a day").hint("write year, month and day: `2026-11-16`");
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = *parts else { return Err(bad()) };
        let number = |part: &str, digits: usize| {
            let right = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| right).ok_or_else(bad)
        };
        let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return Err(bad()),
        };
        if (1..=days).contains(&day) { Ok(Day(text.to_owned())) } else { Err(bad()) }
    }
}

/// A sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(pub(super) String);

impl FromText for Reason {
    const TEXT: Text = Text::new("a sentence").max_length(1000);

    fn from_text(text: &str) -> Result<Self, BadText> {
        Ok(Reason(text.trim().replace(char::is_control, " ")))
    }
}

/// Objects as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifests(pub(super) String);

impl FromText for Manifests {
    const TEXT: Text = Text::new("YAML documents").max_length(512 << 10);

    fn from_text(text: &str) -> Result<Self, BadText> {
        Ok(Manifests(text.to_owned()))
    }
}

text!(Version, Line, Day, Reason, Manifests);
