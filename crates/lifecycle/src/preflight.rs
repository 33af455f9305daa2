//! `slipway preflight`: what a directory says about the cluster to be made, handed to [`slipway_assess::preflight`].
//!
//! What will be made, and what is asked of whom, is each platform's own: [`crate::platform`] knows which.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use slipway_assess::check::target::CheckTarget;
use slipway_assess::preflight::inspect::Inspection;
use slipway_assess::preflight::network::ExpectedNetwork;
use slipway_assess::preflight::report::{Check, Finding};
pub use slipway_assess::preflight::{Options, Platform, Request, examine, inspect, network, report};
use slipway_assets::random::OsRandom;
use slipway_assets::{Named, names};
use slipway_config::findings;
use slipway_config::install_config::{InstallConfig, LoadBalancer, Missing, Platform as Configured};

use crate::create::{self, Error};
use crate::environment::Environment;
use crate::platform;
use crate::release::ReleaseError;
use crate::text;
use crate::workspace::Workspace;

/// What is known of a directory before anything is asked.
#[derive(Debug)]
pub struct Opened {
    pub request: Request,
    /// What was found in the install-config; no errors.
    pub report: findings::Report,
    /// What the user should know about credentials.
    pub warnings: Vec<String>,
}

/// Reads the install-config of a directory, how to log in, and the names that were drawn; asks the release which OS image it has, where
/// machines are made from that one. Changes nothing there, and does not wait for its lock.
pub async fn open(directory: &Path, environment: &Environment) -> Result<Opened, Error> {
    let request = looking(directory, environment);
    let mut workspace = Workspace::open(&request)?;
    let found = workspace.find_os_image().await;
    let mut request = in_workspace(&mut workspace)?;
    request.findings.extend(found.err().map(|error| no_os_image(&error)));
    let warnings = workspace.known_warnings();
    Ok(Opened { request, report: workspace.report().clone(), warnings })
}

/// What `slipway check` asks and judges of the cluster of a directory, and what the user should know about credentials. None for
/// a platform without rules.
pub fn open_to_check(
    directory: &Path,
    environment: &Environment,
) -> Result<(Option<CheckTarget>, Vec<String>), Error> {
    let mut workspace = Workspace::open(&looking(directory, environment))?;
    let subject = platform::check_subject(&mut workspace)?;
    Ok((subject, workspace.known_warnings()))
}

/// A command that changes nothing.
fn looking<'a>(directory: &'a Path, environment: &'a Environment) -> create::Request<'a> {
    create::Request {
        directory,
        force: false,
        now: Timestamp::now(),
        random: &OsRandom,
        environment,
        command: "slipway preflight",
    }
}

/// [`open`] as a step of a command that has the directory open.
pub fn in_workspace(workspace: &mut Workspace<'_>) -> Result<Request, Error> {
    let named = workspace.named()?;
    let inspection = platform::inspection(workspace, &named)?;
    Ok(request(&named, inspection))
}

/// What is asked, and what is known without asking. A platform that has no rules yet says so.
pub fn request(named: &Named, inspection: Option<Arc<dyn Inspection>>) -> Request {
    let config = &named.config;
    let platform = match (inspection, platform::endpoints_of(&config.platform)) {
        (Some(inspection), _) => Platform::Inspected(inspection),
        (None, Some(endpoints)) => Platform::NotInspected { name: config.platform.name(), endpoints },
        (None, None) => Platform::None,
    };
    Request {
        cluster: config.name.to_string(),
        platform,
        network: network(config),
        findings: incomplete(config),
    }
}

/// The release does not say what machines boot from.
fn no_os_image(error: &ReleaseError) -> Finding {
    let details = error.details();
    let said = match details.as_slice() {
        [] => text::chain(error),
        details => format!("{error}: {}", details.join("; ")),
    };
    Finding::failure(Check::OsImage, "payload.releaseImage", said).remedy(error.hint())
}

/// What can be left out as long as only files are wanted.
fn incomplete(config: &InstallConfig) -> Vec<Finding> {
    let finding = |missing: &Missing| {
        let (check, object, domains) = match missing {
            Missing::ReleaseImage => (Check::ReleaseImage, "payload.releaseImage", &[][..]),
            Missing::OsImage { failure_domains } => {
                (Check::OsImage, "platform.vsphere.clusterOSImage", failure_domains.as_slice())
            }
            Missing::DiskImage => (Check::OsImage, "platform.kubevirt.clusterOSImage", &[][..]),
            Missing::Template => (Check::OsImage, "platform.ovirt.templateName", &[][..]),
        };
        let finding = Finding::failure(check, object, missing.to_string()).remedy(missing.hint());
        Finding { failure_domains: domains.iter().map(ToString::to_string).collect(), ..finding }
    };
    config.missing_for_machines().iter().map(finding).collect()
}

/// What the network around the machines must be like.
fn network(config: &InstallConfig) -> ExpectedNetwork {
    let vips = names::vips(config);
    ExpectedNetwork {
        domain: config.cluster_domain(),
        // How the API of a cluster on KubeVirt's own network is reached is for that platform to say.
        by_name: vips.is_empty() && !matches!(config.platform, Configured::KubeVirt(_)),
        api: vips.api,
        ingress: vips.ingress,
        managed: names::load_balancer(config) == LoadBalancer::OpenShiftManagedDefault,
        machine_networks: config.networking.machine.clone(),
        begun: false,
    }
}
