//! The way into a vCenter: its certificate, a user, a password.

use std::rc::Rc;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use slipway_lifecycle::install_config::{PasswordAt, split_port};

use crate::input;
use crate::survey::contact::{Contact, Tried};
use crate::survey::draft::{Draft, Password, Question, VCenter};
use crate::survey::estate::{Lists, Target};
use crate::survey::prompt::{Ask, Echo, Stop};
use crate::survey::questions::TextQuestion;
use crate::survey::{By, Survey};

impl Survey<'_> {
    /// Asks until there is a vCenter that answers and whose certificate is trusted.
    pub(super) fn server(&mut self, v: usize) -> Result<By, Stop> {
        if self.draft.vcenters.len() == v {
            self.draft.vcenters.push(VCenter::default());
        }
        let flags = self.flags.vsphere.clone();
        let mut given = flags.server.filter(|_| v == 0).map(|server| {
            let vcenter = VCenter { server: Some(server), port: flags.port, ..VCenter::default() };
            ("--vcenter", vcenter.label())
        });
        let mut thumbprint = flags.thumbprint.filter(|_| given.is_some());
        loop {
            let number = if v == 0 { String::new() } else { format!(" {}", v + 1) };
            let by = self.text(TextQuestion {
                question: Question::Server(v),
                ask: Ask::new(format!("vCenter{number}"))
                    .help("its name or address, with :port if that is not 443"),
                default: None,
                given: given.take(),
                field: format!("platform.vsphere.vcenters[{v}]"),
                put: Rc::new(move |draft, text| {
                    let (server, port) = split_port(text);
                    let vcenter = &mut draft.vcenters[v];
                    (vcenter.server, vcenter.port) = (Some(server), port.filter(|port| *port != 443));
                }),
            })?;
            self.draft.vcenters[v].thumbprint = thumbprint.take();
            let mut target = self.target(v);
            let reached = self.contact().reach(&mut target)?;
            self.draft.vcenters[v].thumbprint = target.thumbprint.filter(|_| reached);
            if reached {
                return Ok(by);
            }
        }
    }

    fn contact(&mut self) -> Contact<'_> {
        Contact { prompter: &mut *self.prompter, estate: &mut *self.estate, now: self.now }
    }

    fn target(&self, v: usize) -> Target {
        let VCenter { server, port, thumbprint, .. } = &self.draft.vcenters[v];
        let (server, thumbprint) = (server.clone().unwrap_or_default(), thumbprint.clone());
        Target { server, port: *port, thumbprint, tls: None }
    }

    /// Asks for a password until the vCenter accepts it, three times at most, and reads the lists with it.
    pub(super) fn password(&mut self, v: usize) -> Result<By, Stop> {
        let vcenter = &self.draft.vcenters[v];
        let (label, user) = (vcenter.label(), vcenter.user.clone().unwrap_or_default());
        let mut by = By::Itself;
        let given = self.flags.vsphere.password.clone().filter(|_| v == 0);
        let mut password = given.map(resolve).transpose()?;
        loop {
            let tried = if let Some(password) = password.take() {
                password
            } else {
                by = By::User;
                self.typed(v, &user, &label)?
            };
            let target = self.target(v);
            let mut refusals = std::mem::take(&mut self.refusals);
            let result = self.contact().log_in(&target, &user, &tried.secret, &mut refusals);
            self.refusals = refusals;
            match result? {
                Tried::In(inventory) => {
                    self.draft.vcenters[v].password = Some(tried);
                    self.draft.vcenters[v].inventory = Some(Arc::from(inventory));
                    return Ok(by);
                }
                Tried::Refused => {}
                Tried::Unclear => password = Some(tried),
            }
        }
    }

    fn typed(&mut self, v: usize, user: &str, label: &str) -> Result<Password, Stop> {
        let put = move |draft: &mut Draft, text: &str| {
            let secret = SecretString::from(text);
            let at = PasswordAt::Inline(secret.clone());
            draft.vcenters[v].password = Some(Password { secret, at });
        };
        let check = self.check(&format!("platform.vsphere.vcenters[{v}].password"), Rc::new(put));
        let ask = Ask::new(format!("Password of {user} on {label}"))
            .help("it goes into the install-config; --vcenter-password-file keeps it out");
        let secret = self.prompter.secret(&ask, Echo::Stars, check)?;
        Ok(Password { at: PasswordAt::Inline(secret.clone()), secret })
    }

    /// Reads the lists again, with the password that worked before.
    pub(super) fn read_again(&mut self, v: usize) -> Result<Option<Lists>, Stop> {
        let vcenter = &self.draft.vcenters[v];
        let Some(Password { secret, .. }) = vcenter.password.clone() else { return Ok(None) };
        let (label, user) = (vcenter.label(), vcenter.user.clone().unwrap_or_default());
        match self.estate.read(&self.target(v), &user, &secret) {
            Ok(inventory) => Ok(Some(inventory)),
            Err(failure) => {
                self.contact().tell(&label, failure)?;
                Ok(None)
            }
        }
    }
}

/// The password behind a flag: without it nothing can be asked of the vCenter.
fn resolve(at: PasswordAt) -> Result<Password, Stop> {
    let secret = match &at {
        PasswordAt::Inline(secret) => secret.clone(),
        PasswordAt::File(path) => {
            let text = SecretString::from(input::read(path)?);
            let line = text.expose_secret();
            let line = line.strip_suffix('\n').unwrap_or(line);
            SecretString::from(line.strip_suffix('\r').unwrap_or(line))
        }
        PasswordAt::Env(name) => match std::env::var(name) {
            Ok(text) => text.into(),
            Err(_) => {
                return Err(Stop::Failed {
                    error: anyhow::anyhow!("the environment variable `{name}` holds no password"),
                    hint: Some("set it, or leave out --vcenter-password-env to be asked".to_owned()),
                });
            }
        },
    };
    Ok(Password { secret, at })
}
