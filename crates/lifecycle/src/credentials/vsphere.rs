//! Passwords of vCenters.

use std::io;
use std::path::Path;

use secrecy::SecretString;
use slipway_assets::Login;
use slipway_config::install_config::vsphere::{Password, VCenter};

use super::{Error, Missing, secret_file};
use crate::environment::Environment;

/// One login per vCenter, or every password that is missing.
pub(super) fn logins(
    vcenters: &[VCenter],
    directory: &Path,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Vec<Login>, Error> {
    let mut logins = Vec::new();
    let mut missing = Vec::new();
    for (index, vcenter) in vcenters.iter().enumerate() {
        match password(vcenter, directory, environment, warnings) {
            Ok(password) => logins.push(Login { user: vcenter.user.clone(), password }),
            Err((key, reason)) => missing.push(Missing {
                field: format!("platform.vsphere.vcenters[{index}].{key}"),
                server: vcenter.server.to_string(),
                reason,
            }),
        }
    }
    if missing.is_empty() { Ok(logins) } else { Err(Error::Passwords(missing)) }
}

/// The password, or the field that says where it should be and why it is not there.
fn password(
    vcenter: &VCenter,
    directory: &Path,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<SecretString, (&'static str, String)> {
    match &vcenter.password {
        Password::Inline(password) => Ok(password.clone()),
        Password::Env(name) => match environment.get(name.as_str()) {
            Some(password) => Ok(password.into()),
            None if environment.is_blank(name.as_str()) => {
                Err(("passwordEnv", format!("the environment variable {name} is empty")))
            }
            None => Err(("passwordEnv", format!("the environment variable {name} is not set"))),
        },
        Password::File(name) => {
            let path = directory.join(name);
            let text = secret_file::read(&path, warnings).map_err(|error| reason(&error, &path));
            let text = text.map_err(|reason| ("passwordFile", reason))?;
            match secret_file::without_line_break(&text) {
                "" => Err(("passwordFile", format!("`{}` is empty", path.display()))),
                password => Ok(password.into()),
            }
        }
    }
}

fn reason(error: &io::Error, path: &Path) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("`{}` does not exist", path.display()),
        io::ErrorKind::PermissionDenied => format!("`{}` may not be read by you", path.display()),
        io::ErrorKind::InvalidData => format!("`{}` is not UTF-8 text", path.display()),
        _ => error.to_string(),
    }
}
