//! How the commands about drivers get to a vCenter: whom they trust, and with which password.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, bail};
use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;

use crate::args::Certificate;
use crate::survey;

pub(super) fn tls(args: &Certificate) -> anyhow::Result<Tls> {
    Ok(match (&args.ca_file, &args.thumbprint, args.insecure) {
        (Some(file), _, _) => Tls::CaBundle(fs_err::read_to_string(file)?),
        (None, Some(thumbprint), _) => {
            Tls::by_thumbprint(thumbprint).context("`--thumbprint` is not 20 or 32 bytes in hexadecimal")?
        }
        (None, None, true) => Tls::Insecure,
        (None, None, false) => Tls::System,
    })
}

/// Where a password is, if it need not be asked for.
pub(super) struct Given<'a> {
    pub(super) variable: Option<&'a str>,
    pub(super) file: Option<&'a Path>,
    /// The flags that say so.
    pub(super) flags: &'a str,
}

impl Given<'_> {
    /// Whether a flag says where the password is.
    pub(super) fn is_there(&self) -> bool {
        self.variable.is_some() || self.file.is_some()
    }

    pub(super) fn password_of(&self, user: &str) -> anyhow::Result<SecretString> {
        if let Some(variable) = self.variable {
            let password =
                std::env::var(variable).with_context(|| format!("reading the variable `{variable}`"))?;
            return Ok(password.into());
        }
        if let Some(file) = self.file {
            return Ok(fs_err::read_to_string(file)?.trim_end_matches(['\r', '\n']).into());
        }
        if !std::io::stdin().is_terminal() {
            bail!("stdin is not a terminal, so no password can be typed; give {}", self.flags);
        }
        survey::password(&format!("Password of {user}:"))
    }
}
