//! An asset directory, opened once per command: its lock, the install-config, the credentials and the state. What the
//! user edits while a command runs is seen by the next one, whole.

use jiff::Timestamp;
use slipway_assets::{Credentials, Named};
use slipway_config::findings::Report;
use slipway_config::install_config::vsphere::OsImage;
use slipway_config::install_config::{self, ImageRef, InstallConfig};

use crate::create::{Error, Request, read_install_config};
use crate::credentials::{self, Resolved};
use crate::release::{self, ReleaseError};
use crate::store::{self, INSTALL_CONFIG, ReleaseOsImage, State, Store};

/// What a command works with.
#[derive(Debug)]
pub struct Workspace<'a> {
    request: Request<'a>,
    text: String,
    config: InstallConfig,
    report: Report,
    resolved: Option<Resolved>,
    /// What the release says machines boot from, where the install-config leaves it to the release.
    os_image: Option<OsImage>,
    /// The directory is ours alone as long as this is there.
    store: Option<Store>,
}

impl<'a> Workspace<'a> {
    /// Reads the install-config, and nothing it points to.
    pub fn open(request: &Request<'a>) -> Result<Self, Error> {
        let text = read_install_config(request.directory)?;
        let loaded = install_config::load(&text);
        let Some(config) = loaded.config else {
            let path = request.directory.join(INSTALL_CONFIG);
            return Err(Error::InstallConfig { path, report: Box::new(loaded.report) });
        };
        let report = loaded.report;
        Ok(Workspace { request: *request, text, config, report, resolved: None, os_image: None, store: None })
    }

    pub fn request(&self) -> &Request<'a> {
        &self.request
    }

    pub fn config(&self) -> &InstallConfig {
        &self.config
    }

    /// The configuration with the image that machines are made from, as far as it is known.
    pub(crate) fn config_for_machines(&self) -> InstallConfig {
        self.config.clone().with_os_image(self.os_image.as_ref())
    }

    /// The release that has to be asked which OS image machines are made from.
    pub fn release_to_ask(&self) -> Option<&ImageRef> {
        let release = self.config.release_with_os_image()?;
        self.os_image.is_none().then_some(release)
    }

    /// Finds out which OS image machines are made from, if the install-config leaves it to the release: as it was found out before,
    /// or from the release image itself.
    pub async fn find_os_image(&mut self) -> Result<(), ReleaseError> {
        // A state that cannot be read is reported by what needs the rest of it.
        if let Ok(Some(state)) = store::peek(self.request.directory) {
            self.recall_os_image(&state);
        }
        if let Some(release) = self.release_to_ask() {
            self.os_image = Some(release::os_image(&self.config, release.as_str()).await?);
        }
        Ok(())
    }

    /// Takes what an earlier command found out.
    fn recall_os_image(&mut self, state: &State) {
        let known = state.release_os_image.as_ref();
        if let (Some(release), Some(known)) = (self.release_to_ask(), known)
            && state.cluster == self.config.name.as_str()
            && known.release == release.as_str()
        {
            self.os_image = Some(OsImage { url: known.url.as_str().into(), sha256: known.sha256.clone() });
        }
    }

    /// Keeps what was found out, so that later commands mean the same image and need no registry.
    pub(crate) fn remember_os_image(
        &mut self,
        store: &mut Store,
        state: &mut State,
    ) -> Result<(), store::Error> {
        self.recall_os_image(state);
        if let (Some(release), Some(image)) = (self.config.release_with_os_image(), &self.os_image) {
            let found = ReleaseOsImage {
                release: release.as_str().to_owned(),
                url: image.url.expose().to_owned(),
                sha256: image.sha256.clone(),
            };
            if state.release_os_image.as_ref() != Some(&found) {
                state.release_os_image = Some(found);
                store.save(state)?;
            }
        }
        Ok(())
    }

    /// What was found in the install-config; no errors.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The install-config as the user wrote it, secrets included.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How to log in to what the install-config names. Looked up the first time, and then the same for the whole command.
    pub(crate) fn credentials(&mut self) -> Result<Credentials, Error> {
        let Resolved { credentials, .. } = self.resolve()?;
        Ok(credentials.clone())
    }

    /// What people should know about where the credentials come from.
    pub(crate) fn warnings(&mut self) -> Result<Vec<String>, Error> {
        let Resolved { warnings, .. } = self.resolve()?;
        Ok(warnings.clone())
    }

    /// [`Self::warnings`] as far as credentials were needed so far.
    pub(crate) fn known_warnings(&self) -> Vec<String> {
        self.resolved.as_ref().map(|resolved| resolved.warnings.clone()).unwrap_or_default()
    }

    /// The configuration with its names, as far as they are drawn. Does not wait for the directory's lock.
    pub(crate) fn named(&self) -> Result<Named, Error> {
        let config = self.config_for_machines();
        let state = store::peek(self.request.directory)?;
        Ok(match state.filter(|state| state.cluster == config.name.as_str()) {
            Some(state) => Named { config, identity: state.identity },
            None => Named::undrawn(config),
        })
    }

    fn resolve(&mut self) -> Result<&Resolved, Error> {
        let resolved = match self.resolved.take() {
            Some(resolved) => resolved,
            None => credentials::resolve(&self.config, self.request.directory, self.request.environment)?,
        };
        Ok(self.resolved.insert(resolved))
    }

    /// The directory, for the caller alone: as an earlier step of this command left it, or locked now.
    pub(crate) fn take_store(&mut self) -> Result<Store, store::Error> {
        let Request { directory, command, .. } = self.request;
        match self.store.take() {
            Some(store) => Ok(store),
            None => Store::open(directory, command, Timestamp::now()),
        }
    }

    /// Keeps the directory locked for the next step of this command.
    pub(crate) fn keep(&mut self, store: Store) {
        self.store = Some(store);
    }

    /// Whether a state is of the cluster that the install-config names.
    pub(crate) fn check_cluster(&self, state: &State) -> Result<(), Error> {
        state.check_cluster(&self.config, self.request.directory)
    }
}
