//! The compatibility matrix: which versions of the drivers go with which Kubernetes and which vCenters.
//!
//! A matrix is a file of its own, so that it can be newer than the program that reads it. One is built in. What is
//! wrong with a matrix is reported as for an install-config: all at once, each with its place.
//!
//! | module | what it holds |
//! |---|---|
//! | [`choose`](mod@choose) | which version is the right one, and why the others are not |
//! | [`release`] | versions of Kubernetes and vCenters, and ranges of them |
//! | [`written`] | the format |

pub mod choose;
pub mod release;
pub mod written;

use std::collections::BTreeMap;
use std::fmt;

use semver::Version;

pub use choose::{Choice, Considered, Environment, Objection, Policy, choose};
pub use release::{Range, Release};
pub use written::Day;

use crate::decode::{Decode, Decoder, Field};
use crate::findings::{Findings, Report, Rule};
use crate::install_config::ImageRef;
use crate::shape::Shape;
use crate::yaml::{self, At, Limits};
use written::{Entry, WrittenMatrix};

/// The matrix of this build.
pub const EMBEDDED: &str = include_str!("matrix/embedded.yaml");

/// A matrix comes from outside: it is kept small.
pub const LIMITS: Limits = Limits { bytes: 1 << 20, nodes: 50_000, depth: 16 };

/// A driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Driver {
    CloudProvider,
    StorageProvider,
}

impl Driver {
    pub const ALL: [Driver; 2] = [Driver::CloudProvider, Driver::StorageProvider];

    /// The key in a matrix.
    pub fn key(self) -> &'static str {
        match self {
            Driver::CloudProvider => "cloudProvider",
            Driver::StorageProvider => "storageProvider",
        }
    }

    /// The lines whose objects this build can make. A line is proven when its objects have been compared with the
    /// driver's own manifests.
    pub fn lines(self) -> &'static [Line] {
        const CLOUD: [Line; 6] =
            [Line(1, 31), Line(1, 32), Line(1, 33), Line(1, 34), Line(1, 35), Line(1, 36)];
        const STORAGE: [Line; 5] = [Line(3, 3), Line(3, 4), Line(3, 5), Line(3, 6), Line(3, 7)];
        match self {
            Driver::CloudProvider => &CLOUD,
            Driver::StorageProvider => &STORAGE,
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Driver::CloudProvider => "cloud provider",
            Driver::StorageProvider => "storage driver",
        })
    }
}

/// Versions of a driver that consist of the same objects: its first two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u32, pub u32);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// An image of a driver, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    Manager,
    Driver,
    Syncer,
    Attacher,
    Provisioner,
    Resizer,
    Snapshotter,
    LivenessProbe,
    Registrar,
}

impl Component {
    /// The key in a matrix.
    pub fn key(self) -> &'static str {
        match self {
            Component::Manager => "manager",
            Component::Driver => "driver",
            Component::Syncer => "syncer",
            Component::Attacher => "attacher",
            Component::Provisioner => "provisioner",
            Component::Resizer => "resizer",
            Component::Snapshotter => "snapshotter",
            Component::LivenessProbe => "livenessProbe",
            Component::Registrar => "registrar",
        }
    }
}

/// What the objects of a version are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// By a builder of this program, with these images and feature states.
    Line { line: Line, images: BTreeMap<Component, ImageRef>, features: BTreeMap<String, bool> },
    /// From manifests that the matrix carries.
    Manifests(String),
}

/// A version of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub driver: Driver,
    pub version: Version,
    pub source: Source,
    pub kubernetes: Range,
    pub vsphere: Range,
    /// Most vCenters it can handle.
    pub most_vcenters: Option<u32>,
    /// The oldest version it can be upgraded from.
    pub upgrade_from: Option<Version>,
    /// Why it must not be installed.
    pub blocked: Option<String>,
    pub released: Option<Day>,
    /// Whether its objects have been compared with the driver's own.
    pub proven: bool,
}

impl Row {
    /// The line a version belongs to by its number.
    pub fn line(&self) -> (u64, u64) {
        (self.version.major, self.version.minor)
    }
}

/// Which versions of the drivers there are, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// The day it was published.
    pub published: Day,
    rows: BTreeMap<Driver, Vec<Row>>,
}

impl Matrix {
    /// The versions of a driver, the newest first.
    pub fn rows(&self, driver: Driver) -> &[Row] {
        self.rows.get(&driver).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn row(&self, driver: Driver, version: &Version) -> Option<&Row> {
        self.rows(driver).iter().find(|row| row.version == *version)
    }

    /// The form of a matrix, for the JSON Schema.
    pub fn shape() -> Shape {
        WrittenMatrix::shape()
    }
}

/// The result of reading a matrix.
#[derive(Debug)]
pub struct Reading {
    pub matrix: Option<Matrix>,
    pub report: Report,
}

/// The matrix of this build. There always is one: a test reads it.
pub fn embedded() -> Reading {
    read(EMBEDDED)
}

/// Reads and judges a matrix, in YAML or JSON.
pub fn read(text: &str) -> Reading {
    let mut findings = Findings::default();
    let document = yaml::parse(text, LIMITS, &mut findings);
    let matrix = document.as_ref().and_then(|document| {
        let written = WrittenMatrix::decode(&mut Decoder::new(document, &mut findings), At::ROOT)?;
        resolve(&written, &mut findings)
    });
    let matrix = matrix.filter(|_| !findings.has_errors());
    Reading { matrix, report: findings.report(document.as_ref(), text) }
}

fn resolve(written: &WrittenMatrix, findings: &mut Findings) -> Option<Matrix> {
    if written.cloud_provider.is_empty() && written.storage_provider.is_empty() {
        findings
            .error(Rule::MatrixRow, At::ROOT, "a matrix without a version of any driver is of no use")
            .hint("add rows to `cloudProvider`, `storageProvider` or both");
    }
    let cloud = written.cloud_provider.items().map(|row| (row.at, row.value.entry()));
    let cloud = rows(Driver::CloudProvider, cloud.collect(), findings);
    let storage = written.storage_provider.items().map(|row| (row.at, row.value.entry()));
    let storage = rows(Driver::StorageProvider, storage.collect(), findings);
    let rows = [(Driver::CloudProvider, cloud), (Driver::StorageProvider, storage)].into();
    Some(Matrix { published: written.published.get()?.clone(), rows })
}

fn rows(driver: Driver, entries: Vec<(At, Entry<'_>)>, findings: &mut Findings) -> Vec<Row> {
    let mut first: BTreeMap<Version, At> = BTreeMap::new();
    let mut rows = Vec::new();
    for (at, entry) in entries {
        if let Some(version) = entry.version.located() {
            if let Some(other) = first.get(&version.value) {
                findings
                    .error(Rule::MatrixRow, version.at, format!("{} is given twice", version.value))
                    .hint("keep one of the rows")
                    .related(*other, "first given here");
            }
            first.entry(version.value.clone()).or_insert(version.at);
        }
        rows.extend(entry.resolve(driver, at, findings));
    }
    rows.sort_by(|a, b| b.version.cmp(&a.version));
    rows
}

impl Entry<'_> {
    fn resolve(&self, driver: Driver, at: At, findings: &mut Findings) -> Option<Row> {
        let kubernetes = range(self.kubernetes, "Kubernetes", findings);
        let vsphere = range(self.vsphere, "vSphere", findings);
        let source = self.source(driver, at, findings);
        let version = self.version.get()?.clone();
        if let Some(from) = self.upgrade_from.located().filter(|from| from.value > version) {
            findings
                .error(Rule::MatrixRow, from.at, format!("{} is newer than {version} itself", from.value))
                .hint("name the oldest version it can be upgraded from");
        }
        Some(Row {
            driver,
            version,
            source: source?,
            kubernetes: kubernetes?,
            vsphere: vsphere?,
            most_vcenters: self.most_vcenters.get().copied(),
            upgrade_from: self.upgrade_from.get().cloned(),
            blocked: self.blocked.get().map(|reason| reason.0.clone()),
            released: self.released.get().cloned(),
            proven: self.proven.cloned_or(false),
        })
    }

    fn source(&self, driver: Driver, at: At, findings: &mut Findings) -> Option<Source> {
        match (self.line, self.manifests) {
            (Field::Absent, Field::Absent) => {
                findings
                    .error(Rule::MatrixRow, at, "nothing says which objects this version consists of")
                    .hint("add `line:` with a line this program knows, or `manifests:` with the objects");
                None
            }
            (Field::Absent, Field::Set(manifests)) => Some(Source::Manifests(manifests.value.0.clone())),
            (Field::Set(line), Field::Absent) => {
                if !driver.lines().contains(&line.value) {
                    let known: Vec<String> = driver.lines().iter().map(ToString::to_string).collect();
                    findings
                        .error(
                            Rule::MatrixRow,
                            line.at,
                            format!("there is no line {} of the {driver} here", line.value),
                        )
                        .hint(format!(
                            "the lines are {}; other objects go into `manifests`",
                            known.join(", ")
                        ));
                }
                if !self.images_given {
                    findings
                        .missing(at, "images", "`images` is required with `line`")
                        .hint("add `images:` with an image for each component");
                }
                let features = self.features.get().into_iter().flatten();
                let features = features.filter_map(|(name, state)| Some((name.clone(), *state.get()?)));
                Some(Source::Line {
                    line: line.value,
                    images: self.images.clone()?,
                    features: features.collect(),
                })
            }
            (line, manifests) => {
                if let (Some(line), Some(manifests)) = (line.at(), manifests.at()) {
                    findings
                        .error(Rule::MatrixRow, manifests, "the objects come from one place only")
                        .hint("keep `line` or `manifests`")
                        .related(line, "the other one");
                }
                None
            }
        }
    }
}

fn range(written: &Field<written::WrittenRange>, what: &str, findings: &mut Findings) -> Option<Range> {
    let written = written.located()?;
    if written.value.max.is_invalid() {
        return None;
    }
    let (min, max) = (*written.value.min.get()?, written.value.max.get().copied());
    let range = Range { min, max };
    if range.is_empty() {
        findings
            .error(Rule::MatrixRow, written.at, format!("no version of {what} is in the range {range}"))
            .hint("`min` is the older one; both ends belong to the range");
    }
    Some(range)
}
