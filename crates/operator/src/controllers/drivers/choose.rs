//! Which version of a driver is to be there, and with which connections. Pure.

use semver::Version;
use slipway_api::slipway::VSphereConnectionSpec;
use slipway_api::slipway::condition::READY;
use slipway_api::slipway::connection::VSphereConnectionStatus;
use slipway_api::slipway::vdo_config::VDOConfigSpec;
use slipway_api::slipway::vdo_status::{ConnectionSummary, Failure};
use slipway_assets::drivers::Connection;
use slipway_assets::drivers::settings::policy;
use slipway_config::matrix::{Driver, Environment, Matrix, Policy, Release, choose};

use crate::controllers::connections::problem::Problem;
use crate::runtime::conditions::{ConditionStatus, find, holds};

/// A connection as the API server has it, with its login.
#[derive(Debug)]
pub struct KnownConnection {
    pub name: String,
    pub spec: VSphereConnectionSpec,
    pub status: VSphereConnectionStatus,
    pub read: Result<Connection, Problem>,
    /// The user could log in with exactly these credentials. Others are not given to a driver that runs.
    pub tried: bool,
}

impl KnownConnection {
    pub fn is_ready(&self) -> bool {
        holds(&self.status.conditions, READY)
    }

    pub fn summary(&self) -> ConnectionSummary {
        let ready = find(&self.status.conditions, READY);
        ConnectionSummary {
            name: self.name.clone(),
            server: self.spec.server.clone(),
            version: self.status.api_version.clone(),
            user: self.status.user.clone(),
            ready: ready.map_or_else(|| "Unknown".to_owned(), |ready| ready.status.clone()),
            reason: ready.map(|ready| ready.reason.clone()),
            message: ready.filter(|ready| ready.status != "True").map(|ready| ready.message.clone()),
        }
    }

    /// What is wrong with it, for those who use it.
    fn failure(&self) -> Option<Failure> {
        let subject = format!("connection/{}", self.name);
        let ready = find(&self.status.conditions, READY);
        match ready {
            Some(ready) if ready.status == "True" => None,
            Some(ready) => Some(failure(&subject, &ready.reason, &ready.message, None)),
            None => Some(failure(
                &subject,
                "NotValidated",
                &format!("`{}` has not been validated yet", self.name),
                None,
            )),
        }
    }
}

pub fn failure(subject: &str, reason: &str, message: &str, remedy: Option<&str>) -> Failure {
    Failure {
        subject: subject.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        remedy: remedy.map(str::to_owned),
    }
}

/// What is to be there.
#[derive(Debug, Default)]
pub struct DesiredDriver {
    pub version: Option<Version>,
    /// Why, in words.
    pub why: Option<String>,
    /// The user asks for it.
    pub asked: bool,
    /// Upgrades happen by themselves.
    pub automatic: bool,
    pub connections: Vec<Connection>,
    pub failures: Vec<Failure>,
    /// Why it waits, though nothing is wrong with the driver: its upgrade, and its first installation.
    pub upgrade: Option<Hold>,
    pub install: Option<Hold>,
}

/// Why something waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// It must not be, or nobody knows yet.
    pub holds: ConditionStatus,
    pub reason: &'static str,
    pub message: String,
}

/// How a driver is set up, whichever it is.
#[derive(Debug)]
pub struct Setup<'a> {
    pub connections: Option<&'a [String]>,
    pub version: Option<&'a str>,
}

/// The part of a VDOConfig about a driver; none if it is not wanted.
pub fn setup(spec: &VDOConfigSpec, driver: Driver) -> Option<Setup<'_>> {
    match driver {
        Driver::CloudProvider => spec.cloud_provider.as_ref().map(|cloud| Setup {
            connections: cloud.connections.as_deref(),
            version: cloud.version.as_deref(),
        }),
        Driver::StorageProvider => spec.storage_provider.as_ref().map(|storage| Setup {
            connections: storage.connections.as_deref(),
            version: storage.version.as_deref(),
        }),
    }
}

/// Chooses. A matrix that is not the one the user wanted changes nothing that runs.
pub fn desired(
    driver: Driver,
    spec: &VDOConfigSpec,
    known: &[KnownConnection],
    matrix: &Matrix,
    settled: bool,
    kubernetes: Release,
    deployed: Option<Version>,
) -> DesiredDriver {
    let mut desired = DesiredDriver::default();
    let Some(setup) = setup(spec, driver) else { return desired };
    let subject = driver.key();
    let pinned = setup.version.and_then(|version| version.parse().ok());
    let policy = if settled { policy(spec.update_policy) } else { Policy::Disabled };
    desired.asked = pinned.is_some();
    desired.automatic = pinned.is_none() && policy != Policy::Disabled;
    let mut vcenters = Vec::new();
    let mut complete = true;
    for name in setup.connections.unwrap_or_default() {
        if !known.iter().any(|known| known.name == *name) {
            complete = false;
            let message = format!("there is no VSphereConnection `{name}`");
            let remedy = "create it, or correct `connections`";
            desired.failures.push(failure(subject, "ConnectionMissing", &message, Some(remedy)));
        }
    }
    let used = known.iter().filter(|known| setup.connections.is_none_or(|names| names.contains(&known.name)));
    for known in used {
        desired.failures.extend(known.failure());
        match known.status.api_version.as_ref().and_then(|version| version.parse().ok()) {
            Some(version) => vcenters.push(version),
            None => complete = false,
        }
        match &known.read {
            Ok(connection) if known.tried => desired.connections.push(connection.clone()),
            // The validation of the connection has said so, or is about to.
            Ok(_) | Err(_) => complete = false,
        }
    }
    if complete && vcenters.is_empty() {
        complete = false;
        let remedy =
            "create one in the operator's namespace: `slipway drivers configure` asks for what it needs";
        let message = "there is no VSphereConnection to use";
        desired.failures.push(failure(subject, "NoConnection", message, Some(remedy)));
    }
    if !complete {
        desired.connections.clear();
        return desired;
    }
    let environment = Environment { kubernetes, vcenters, policy, pinned, deployed };
    let choice = choose(matrix, driver, &environment);
    if choice.row.is_none() {
        let objections = choice.considered.iter().take(3).map(|one| {
            let words: Vec<String> = one.objections.iter().map(ToString::to_string).collect();
            format!("{} {}", one.row.version, words.join(", "))
        });
        let message = format!("{}: {}", choice.why, objections.collect::<Vec<_>>().join("; "));
        let remedy = "use a version of Kubernetes and vSphere that goes together, or a newer matrix; \
                      `slipway drivers matrix show --explain` has all reasons";
        desired.failures.push(failure(subject, "NoFittingVersion", &message, Some(remedy)));
    }
    desired.version = choice.row.map(|row| row.version.clone());
    desired.why = Some(choice.why);
    desired
}
