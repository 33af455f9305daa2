//! What the preflight judges vCenters by: the very machines that create makes, with the edits in their files.
//!
//! | module | what it holds |
//! |---|---|
//! | `expected` | what a configuration and its files want of each vCenter |
//! | `needs` | which privileges creating, running and destroying it needs |

mod expected;
mod needs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use slipway_assess::check::target::CheckTarget;
use slipway_assess::preflight::Request;
use slipway_assess::preflight::inspect::Inspection;
use slipway_assess::preflight::report::{Check, Finding};
use slipway_assess::vsphere::preflight::expected::ExpectedObjects;
pub use slipway_assess::vsphere::preflight::needs::NeededPrivilege;
use slipway_assess::vsphere::preflight::{Criteria, Derive, VCenter as Asked, VCenters, lookup};
use slipway_assets::{Credentials, Login, Named};
use slipway_config::install_config::Platform;
use slipway_config::install_config::vsphere::VCenter;
use slipway_providers::vsphere::inventory::Inventory;
use slipway_providers::vsphere::{self, Trust};

use super::{Blueprint, FOLDER, MACHINES, endpoint_of};
use crate::install;
use crate::platform::{Boot, BrokenFile};
use crate::preflight;

/// A cluster to be made on vCenters.
#[derive(Debug, Clone)]
pub struct Expectations {
    /// The install-config as text: names in it are looked up once vCenters can be asked.
    text: SecretString,
    named: Named,
    /// The machines as their files say, once there are files; or those that cannot be used.
    files: Option<Result<Blueprint, Vec<BrokenFile>>>,
}

impl Expectations {
    /// A cluster whose files are not written yet.
    pub fn new(text: SecretString, named: Named) -> Self {
        Expectations { text, named, files: None }
    }

    /// With the machines as the files of a directory say, if there are any.
    #[must_use]
    pub fn with_files(mut self, directory: &Path) -> Self {
        if directory.join(MACHINES).is_dir() {
            let read = Blueprint::read(directory, &self.named, Boot::NotNeeded);
            self.files = Some(read.map_err(|error| match error {
                install::Error::Files(broken) => broken,
                other => vec![BrokenFile { path: FOLDER.to_owned(), message: other.to_string() }],
            }));
        }
        self
    }

    /// With one login per vCenter, everything that is asked.
    pub fn request(self, logins: &[Login]) -> Request {
        let named = self.named.clone();
        preflight::request(&named, Some(self.inspection(logins)))
    }

    pub(super) fn inspection(self, logins: &[Login]) -> Arc<dyn Inspection> {
        let asked = self.vcenters().iter().zip(logins).map(|(vcenter, known)| Asked {
            endpoint: endpoint_of(vcenter).to_string(),
            server: vcenter.server.to_string(),
            port: vcenter.port.get(),
            trust: Trust::of(&vcenter.tls),
            login: login(known),
        });
        Arc::new(VCenters { vcenters: asked.collect(), derive: self })
    }

    /// Which privileges creating, running and destroying the cluster needs of a vCenter that has nothing of it yet.
    pub fn needs(&self, position: usize) -> Result<Vec<NeededPrivilege>, install::Error> {
        let blueprint = self.blueprint_of(&self.named)?;
        match expected::of(&self.named, &blueprint, position) {
            Some(wanted) => Ok(needs::of(&self.named, &blueprint, &wanted, &|_| false)?),
            None => Ok(Vec::new()),
        }
    }

    /// The machines that will be made: as their files say, or as they would be written.
    fn blueprint_of(&self, named: &Named) -> Result<Blueprint, install::Error> {
        match &self.files {
            Some(Ok(blueprint)) => Ok(blueprint.clone()),
            Some(Err(broken)) => Err(install::Error::Files(broken.clone())),
            None => Blueprint::of(named),
        }
    }

    fn vcenters(&self) -> &[VCenter] {
        match &self.named.config.platform {
            Platform::VSphere(platform) => &platform.vcenters,
            _ => &[],
        }
    }
}

impl Derive for Expectations {
    fn known(&self) -> Vec<Finding> {
        match &self.files {
            Some(Err(broken)) => broken.iter().map(unusable).collect(),
            _ => Vec::new(),
        }
    }

    fn expected(&self, position: usize) -> Option<ExpectedObjects> {
        let blueprint = self.blueprint_of(&self.named).ok()?;
        expected::of(&self.named, &blueprint, position)
    }

    fn terms(&self, position: usize, inventory: Option<&Inventory>) -> Criteria {
        let (mut config, mut findings) = (None, Vec::new());
        if let (Some(vcenter), Some(inventory)) = (self.vcenters().get(position), inventory) {
            (config, findings) = lookup::resolve(&self.text, &vcenter.server.to_string(), inventory);
        }
        let named = match config {
            // What the release said machines boot from is not in the text.
            Some(config) => Named {
                config: config.with_os_image(self.named.config.os_image()),
                identity: self.named.identity.clone(),
            },
            None => self.named.clone(),
        };
        let is_there = |path: &str| inventory.is_some_and(|inventory| inventory.at(path).is_some());
        let derived = self.blueprint_of(&named).map_err(|error| error.details().join("; "));
        let derived = derived.and_then(|blueprint| {
            let Some(wanted) = expected::of(&named, &blueprint, position) else { return Ok(None) };
            let needs =
                needs::of(&named, &blueprint, &wanted, &is_there).map_err(|error| error.to_string())?;
            Ok(Some((wanted, needs)))
        });
        match derived {
            Ok(Some((wanted, needs))) => Criteria { wanted: Some(wanted), needs, findings },
            Ok(None) => Criteria { findings, ..Criteria::default() },
            // What will be made is not known, so that nothing can be said about it.
            Err(message) => {
                if !matches!(self.files, Some(Err(_))) {
                    findings.push(Finding::unknown(Check::Files, FOLDER, message));
                }
                Criteria { findings, ..Criteria::default() }
            }
        }
    }
}

/// What `slipway check` asks of the vCenters of a cluster that runs already.
pub(super) fn check_subject(named: &Named, credentials: &Credentials) -> Option<CheckTarget> {
    let Named { config, identity } = named;
    let cluster_id = (!identity.cluster_id.is_nil()).then(|| identity.infra_id.to_string());
    let logins: Vec<vsphere::Login> = logins(credentials).iter().map(login).collect();
    CheckTarget::of_config(config, cluster_id, &logins)
}

/// One per vCenter.
pub(super) fn logins(credentials: &Credentials) -> &[Login] {
    match credentials {
        Credentials::VSphere(logins) => logins,
        _ => &[],
    }
}

fn login(Login { user, password }: &Login) -> vsphere::Login {
    vsphere::Login { user: user.clone(), password: password.clone() }
}

/// A file of the cluster that was edited, and cannot be used any more.
fn unusable(BrokenFile { path, message }: &BrokenFile) -> Finding {
    let remedy = "fix the file, or delete it and run `slipway create manifests`";
    Finding::failure(Check::Files, path, message.as_str()).remedy(remedy)
}
