//! oVirt's own configuration file.

use std::path::{Path, PathBuf};

use slipway_assets::{Login, OvirtEngine};
use slipway_config::yaml::At;

use super::tree::Foreign;
use super::{Error, secret_file};
use crate::environment::Environment;

const WHAT: &str = "the oVirt engine";
const VARIABLE: &str = "OVIRT_CONFIG";

/// The engine that `OVIRT_CONFIG`, else `~/.ovirt/ovirt-config.yaml`, describes.
pub(super) fn engine(environment: &Environment, warnings: &mut Vec<String>) -> Result<OvirtEngine, Error> {
    let path = match environment.get(VARIABLE) {
        Some(path) => PathBuf::from(path),
        None => environment
            .in_home(".ovirt/ovirt-config.yaml")
            .ok_or(Error::NoHome { what: WHAT, variable: VARIABLE })?,
    };
    let text = match secret_file::read(&path, warnings) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoFile { what: WHAT, variable: VARIABLE, path });
        }
        text => text?,
    };
    read(Foreign::parse(&path, text)?, warnings)
}

fn read(mut file: Foreign, warnings: &mut Vec<String>) -> Result<OvirtEngine, Error> {
    let url = file.required(At::ROOT, "ovirt_url");
    let user = file.required(At::ROOT, "ovirt_username");
    let password = file.required(At::ROOT, "ovirt_password");
    let insecure = file.switch(At::ROOT, "ovirt_insecure");
    if let (Some(url), Some(at)) = (&url, file.field(At::ROOT, "ovirt_url"))
        && !url.starts_with("https://")
    {
        file.wrong(at, "`ovirt_url` is not of the form https://ENGINE/ovirt-engine/api");
    }
    if let (Some(user), Some(at)) = (&user, file.field(At::ROOT, "ovirt_username"))
        && !user.contains('@')
    {
        file.wrong(at, "`ovirt_username` names no profile; write it as admin@internal");
    }
    let bundle = file.text(At::ROOT, "ovirt_ca_bundle");
    let bundle = match file.text(At::ROOT, "ovirt_cafile") {
        _ if bundle.is_some() => bundle,
        Some(name) => authorities(&mut file, &name),
        None => None,
    };
    let path = file.path.display().to_string();
    file.finish()?;
    if insecure {
        warnings.push(format!("`{path}` says that the engine's certificate is not verified"));
    }
    // What is required is there, or finishing would have failed.
    Ok(OvirtEngine {
        url: url.unwrap_or_default(),
        login: Login { user: user.unwrap_or_default(), password: password.unwrap_or_default().into() },
        insecure,
        ca_bundle: bundle,
    })
}

/// The certificates in the file that `ovirt_cafile` names.
fn authorities(file: &mut Foreign, name: &str) -> Option<String> {
    let path = file.path.parent().unwrap_or(Path::new("")).join(name);
    // Certificates are no secret: other users may read the file.
    match secret_file::read(&path, &mut Vec::new()) {
        Ok(bundle) => Some(bundle),
        Err(error) => {
            let at = file.field(At::ROOT, "ovirt_cafile").unwrap_or(At::ROOT);
            file.wrong(at, format!("`ovirt_cafile`: {error}"));
            None
        }
    }
}
