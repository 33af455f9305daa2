//! The way into a vCenter: its certificate, a user, a password.

use std::rc::Rc;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use slipway_lifecycle::install_config::{PasswordAt, split_port};

use crate::input;
use crate::survey::draft::{Draft, Password, Question, VCenter};
use crate::survey::estate::{Certificate, Failure, Greeting, Inventory, Target, certificate};
use crate::survey::prompt::{Ask, Echo, Stop, Tone};
use crate::survey::questions::TextQuestion;
use crate::survey::{By, Survey};

/// Wrong passwords until the survey ends: vCenters lock accounts after a few more.
const ATTEMPTS: u32 = 3;

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
            if self.reach(v)? {
                return Ok(by);
            }
            self.draft.vcenters[v].thumbprint = None;
        }
    }

    /// Whether the vCenter answers, with a certificate that is trusted.
    fn reach(&mut self, v: usize) -> Result<bool, Stop> {
        let label = self.draft.vcenters[v].label();
        self.prompter.say(Tone::Plain, &format!("connecting to {label} …"));
        loop {
            match self.estate.greet(&self.target(v)) {
                Ok(Greeting::Trusted(product)) => {
                    self.prompter.say(Tone::Info, &format!("{label} is a {product}"));
                    return Ok(true);
                }
                Ok(Greeting::Untrusted { reason, certificate }) => {
                    if !self.trusts(&label, &reason, &certificate)? {
                        self.prompter.say(Tone::Info, &format!("nothing was sent to {label}"));
                        let hint =
                            "name another one, or add its authority to those the system trusts and try again";
                        self.prompter.say(Tone::Hint, hint);
                        return Ok(false);
                    }
                    self.draft.vcenters[v].thumbprint = Some(certificate.sha256);
                }
                Err(failure) => {
                    self.tell(&label, failure)?;
                    return Ok(false);
                }
            }
        }
    }

    /// Shows a certificate and asks whether it is the right one.
    fn trusts(&mut self, label: &str, reason: &str, certificate: &Certificate) -> Result<bool, Stop> {
        self.prompter.say(Tone::Warning, &format!("the certificate of {label} is not trusted: {reason}"));
        for line in certificate::lines(certificate, self.now) {
            self.prompter.say(Tone::Plain, &line);
        }
        let ask = Ask::new("Trust this certificate, and no other?")
            .help("compare the fingerprint with the one the vCenter's administrator sees; it is pinned");
        match self.prompter.confirm(&ask, false) {
            Err(Stop::Back) => Ok(false),
            answer => answer,
        }
    }

    fn tell(&mut self, label: &str, failure: Failure) -> Result<(), Stop> {
        let (message, hint) = match failure {
            Failure::Interrupted => return Err(Stop::Abort),
            Failure::Login(message) => (message, None),
            Failure::Other { message, hint } => (message, hint),
        };
        self.prompter.say(Tone::Error, &format!("{label}: {message}"));
        if let Some(hint) = hint {
            self.prompter.say(Tone::Hint, &hint);
        }
        Ok(())
    }

    fn target(&self, v: usize) -> Target {
        let VCenter { server, port, thumbprint, .. } = &self.draft.vcenters[v];
        Target { server: server.clone().unwrap_or_default(), port: *port, thumbprint: thumbprint.clone() }
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
            self.prompter.say(Tone::Plain, &format!("logging in to {label} as {user} …"));
            match self.estate.read(&self.target(v), &user, &tried.secret) {
                Ok(inventory) => {
                    self.refused.remove(&(label, user));
                    self.draft.vcenters[v].password = Some(tried);
                    self.draft.vcenters[v].inventory = Some(Arc::new(inventory));
                    return Ok(by);
                }
                Err(Failure::Login(words)) => {
                    self.prompter.say(Tone::Error, &format!("{label} refuses {user}: {words}"));
                    let refused = self.refused.entry((label.clone(), user.clone())).or_default();
                    *refused += 1;
                    if *refused == ATTEMPTS {
                        return Err(Stop::Failed {
                            error: anyhow::anyhow!("{label} refused {user} {ATTEMPTS} times"),
                            hint: Some(
                                "check user and password, and that the account is not locked; nothing was written"
                                    .to_owned(),
                            ),
                        });
                    }
                }
                Err(failure) => {
                    self.tell(&label, failure)?;
                    if self.prompter.confirm(&Ask::new("Try again?"), true)? {
                        password = Some(tried);
                    } else {
                        return Err(Stop::Back);
                    }
                }
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
    pub(super) fn read_again(&mut self, v: usize) -> Result<Option<Inventory>, Stop> {
        let vcenter = &self.draft.vcenters[v];
        let Some(Password { secret, .. }) = vcenter.password.clone() else { return Ok(None) };
        let (label, user) = (vcenter.label(), vcenter.user.clone().unwrap_or_default());
        match self.estate.read(&self.target(v), &user, &secret) {
            Ok(inventory) => Ok(Some(inventory)),
            Err(failure) => {
                self.tell(&label, failure)?;
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
