//! `slipway preflight`: what a directory says about the cluster to be made, handed to [`slipway_assess::preflight`].
//!
//! | module | what it holds |
//! |---|---|
//! | `wanted` | what a configuration and its files want of each vCenter |
//! | `needs` | which privileges creating, running and destroying it needs |

mod needs;
#[cfg(test)]
mod tests;
mod wanted;

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
pub use slipway_assess::preflight::needs::Need;
use slipway_assess::preflight::network::Probe;
use slipway_assess::preflight::report::{Check, Finding, Report};
use slipway_assess::preflight::wanted::Wanted;
use slipway_assess::preflight::{self as assess, Desired, Request, Terms, lookup};
pub use slipway_assess::preflight::{Options, network, report};
use slipway_assets::{Credentials, Identity, Login, Named};
use slipway_config::findings;
use slipway_config::install_config::vsphere::VCenter;
use slipway_config::install_config::{self, InstallConfig, Missing, Platform};
use slipway_providers::vsphere::inventory::Inventory;
use slipway_providers::vsphere::{self, Trust};

use crate::create::{Error, read_install_config};
use crate::credentials::{self, Resolved};
use crate::environment::Environment;
use crate::install;
use crate::platform::BrokenFile;
use crate::platform::vsphere::{Blueprint, Boot, endpoint_of};
use crate::store::{self, INSTALL_CONFIG};
use crate::workspace::Workspace;

/// What is examined.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The install-config as text: names in it are looked up once vCenters can be asked.
    text: SecretString,
    named: Named,
    /// The machines as their files say, once there are files; or those that cannot be used.
    files: Option<Result<Blueprint, Vec<BrokenFile>>>,
    /// One per vCenter.
    logins: Vec<Login>,
}

impl Subject {
    /// A cluster whose names may be drawn already, and whose files are not written yet.
    pub fn new(
        text: SecretString,
        config: InstallConfig,
        identity: Option<Identity>,
        logins: Vec<Login>,
    ) -> Self {
        let named = match identity {
            Some(identity) => Named { config, identity },
            None => Named::undrawn(config),
        };
        Subject { text, named, files: None, logins }
    }

    /// With the machines as the files of a directory say, if there are any.
    #[must_use]
    pub fn with_files(mut self, directory: &Path) -> Self {
        let is_vsphere = matches!(self.named.config.platform, Platform::VSphere(_));
        if is_vsphere && directory.join("cluster-api/machines").is_dir() {
            let read = Blueprint::read(directory, &self.named, Boot::NotNeeded);
            self.files = Some(read.map_err(|error| match error {
                install::Error::Files(broken) => broken,
                other => vec![BrokenFile { path: "cluster-api".to_owned(), message: other.to_string() }],
            }));
        }
        self
    }

    /// The same for a cluster that runs already; none for other platforms than vSphere.
    pub fn checked(&self) -> Option<slipway_assess::check::subject::Subject> {
        let Named { config, identity } = &self.named;
        let cluster_id = (!identity.cluster_id.is_nil()).then(|| identity.infra_id.to_string());
        let logins: Vec<vsphere::Login> = self.logins.iter().map(login).collect();
        slipway_assess::check::subject::Subject::of_config(config, cluster_id, &logins)
    }

    /// Which privileges creating, running and destroying the cluster needs of a vCenter that has nothing of it yet.
    pub fn needs(&self, position: usize) -> Result<Vec<Need>, install::Error> {
        let blueprint = self.blueprint_of(&self.named)?;
        match wanted::of(&self.named, &blueprint, position) {
            Some(wanted) => Ok(needs::of(&self.named, &blueprint, &wanted, &|_| false)?),
            None => Ok(Vec::new()),
        }
    }

    /// The machines that will be made: as their files say, or as they would be written.
    fn blueprint_of(&self, named: &Named) -> Result<Blueprint, install::Error> {
        match &self.files {
            Some(Ok(blueprint)) => Ok(blueprint.clone()),
            Some(Err(broken)) => Err(install::Error::Files(broken.clone())),
            None if matches!(named.config.platform, Platform::VSphere(_)) => Blueprint::of(named),
            None => Ok(Blueprint::default()),
        }
    }

    fn vcenters(&self) -> &[VCenter] {
        match &self.named.config.platform {
            Platform::VSphere(platform) => &platform.vcenters,
            _ => &[],
        }
    }

    /// What is asked, and what is known without asking.
    fn request(&self) -> Request {
        let config = &self.named.config;
        let asked = self.vcenters().iter().zip(&self.logins);
        let vcenters = asked.map(|(vcenter, known)| assess::VCenter {
            endpoint: endpoint_of(vcenter).to_string(),
            server: vcenter.server.to_string(),
            port: vcenter.port.get(),
            trust: Trust::of(&vcenter.tls),
            login: login(known),
        });
        let mut findings = incomplete(config);
        findings.extend(other_platform(&config.platform));
        if let Some(Err(broken)) = &self.files {
            findings.extend(broken.iter().map(unusable));
        }
        Request {
            cluster: config.name.to_string(),
            vcenters: vcenters.collect(),
            network: wanted::network(config),
            findings,
        }
    }
}

fn login(Login { user, password }: &Login) -> vsphere::Login {
    vsphere::Login { user: user.clone(), password: password.clone() }
}

impl Desired for Subject {
    fn expected(&self, position: usize) -> Option<Wanted> {
        let blueprint = self.blueprint_of(&self.named).ok()?;
        wanted::of(&self.named, &blueprint, position)
    }

    fn terms(&self, position: usize, inventory: Option<&Inventory>) -> Terms {
        let (mut config, mut findings) = (None, Vec::new());
        if let (Some(vcenter), Some(inventory)) = (self.vcenters().get(position), inventory) {
            (config, findings) = lookup::resolve(&self.text, &vcenter.server.to_string(), inventory);
        }
        let named = match config {
            Some(config) => Named { config, identity: self.named.identity.clone() },
            None => self.named.clone(),
        };
        let is_there = |path: &str| inventory.is_some_and(|inventory| inventory.at(path).is_some());
        let derived = self.blueprint_of(&named).map_err(|error| error.details().join("; "));
        let derived = derived.and_then(|blueprint| {
            let Some(wanted) = wanted::of(&named, &blueprint, position) else { return Ok(None) };
            let needs =
                needs::of(&named, &blueprint, &wanted, &is_there).map_err(|error| error.to_string())?;
            Ok(Some((wanted, needs)))
        });
        match derived {
            Ok(Some((wanted, needs))) => Terms { wanted: Some(wanted), needs, findings },
            Ok(None) => Terms { findings, ..Terms::default() },
            // What will be made is not known, so that nothing can be said about it.
            Err(message) => {
                if !matches!(self.files, Some(Err(_))) {
                    findings.push(Finding::unknown(Check::Files, "cluster-api", message));
                }
                Terms { findings, ..Terms::default() }
            }
        }
    }
}

/// What is known of a directory before anybody is asked.
#[derive(Debug)]
pub struct Opened {
    pub subject: Subject,
    /// What was found in the install-config; no errors.
    pub report: findings::Report,
    /// What the user should know about credentials.
    pub warnings: Vec<String>,
}

/// Reads the install-config of a directory, how to log in, and the names that were drawn. Changes nothing there, and
/// does not wait for its lock.
pub fn open(directory: &Path, environment: &Environment) -> Result<Opened, Error> {
    let text = read_install_config(directory)?;
    let loaded = install_config::load(&text);
    let Some(config) = loaded.config else {
        return Err(Error::InstallConfig {
            path: directory.join(INSTALL_CONFIG),
            report: Box::new(loaded.report),
        });
    };
    let Resolved { credentials, warnings } = match &config.platform {
        Platform::VSphere(_) => credentials::resolve(&config, directory, environment)?,
        // The others are not logged in to here.
        _ => Resolved { credentials: Credentials::None, warnings: Vec::new() },
    };
    let subject = subject(directory, text, config, credentials)?;
    Ok(Opened { subject, report: loaded.report, warnings })
}

/// [`open`] as a step of a command that has the directory open.
pub fn in_workspace(workspace: &mut Workspace<'_>) -> Result<Subject, Error> {
    let credentials = workspace.credentials()?;
    let (text, config) = (workspace.text().to_owned(), workspace.config().clone());
    subject(workspace.request().directory, text, config, credentials)
}

fn subject(
    directory: &Path,
    text: String,
    config: InstallConfig,
    credentials: Credentials,
) -> Result<Subject, Error> {
    let logins = match credentials {
        Credentials::VSphere(logins) => logins,
        _ => Vec::new(),
    };
    let state = store::peek(directory)?.filter(|state| state.cluster == config.name.as_str());
    let subject = Subject::new(text.into(), config, state.map(|state| state.identity), logins);
    Ok(subject.with_files(directory))
}

/// Asks all vCenters and the network at once; `None` if it was cancelled.
pub async fn examine<P: Probe>(
    subject: Subject,
    options: Options,
    probe: P,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    assess::examine(subject.request(), Arc::new(subject), options, probe, cancelled).await
}

/// What can be left out as long as only files are wanted.
fn incomplete(config: &InstallConfig) -> Vec<Finding> {
    let finding = |missing: &Missing| {
        let (check, object, domains) = match missing {
            Missing::ReleaseImage => (Check::ReleaseImage, "payload.releaseImage", &[][..]),
            Missing::OsImage { failure_domains } => {
                (Check::OsImage, "platform.vsphere.clusterOSImage", failure_domains.as_slice())
            }
        };
        let finding = Finding::failure(check, object, missing.to_string()).remedy(missing.hint());
        Finding { failure_domains: domains.iter().map(ToString::to_string).collect(), ..finding }
    };
    config.missing_for_machines().iter().map(finding).collect()
}

/// What is not looked at yet must not look like passed.
fn other_platform(platform: &Platform) -> Vec<Finding> {
    let what = match platform {
        Platform::VSphere(_) | Platform::None => return Vec::new(),
        Platform::Ovirt(_) => "the oVirt engine",
        Platform::KubeVirt(_) => "the infrastructure cluster",
    };
    let message = format!(
        "not checked: asking {what} is not supported yet; only DNS and virtual addresses were looked at"
    );
    vec![Finding::warning(Check::Platform, platform.name(), message).remedy("check by hand what is there")]
}

/// A file of the cluster that was edited, and cannot be used any more.
fn unusable(BrokenFile { path, message }: &BrokenFile) -> Finding {
    let remedy = "mend the file, or delete it and run `slipway create manifests`";
    Finding::failure(Check::Files, path, message.as_str()).remedy(remedy)
}
