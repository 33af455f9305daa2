//! What the asset directory has.

use std::fmt::Write;
use std::path::Path;

use secrecy::ExposeSecret;
use slipway_assets::Credentials;
use slipway_config::install_config::{InstallConfig, Platform};

use super::Bundle;
use crate::create::{self, Request};
use crate::platform::{self, MachineFiles};
use crate::store;
use crate::workspace::Workspace;

/// More of a journal than this is cut, from its beginning.
const MAX_BYTES: usize = 16 << 20;

/// Whether there is anything of a cluster in a directory: what the user wrote, or what was made of it.
pub fn has_cluster(directory: &Path) -> bool {
    [store::INSTALL_CONFIG, ".slipway", "metadata.json"].iter().any(|name| directory.join(name).exists())
}

/// Adds the secrets that are known, and then the files. A directory that is broken is gathered as far as it goes.
pub fn of_directory(request: &Request<'_>, bundle: &mut Bundle) {
    let directory = request.directory;
    match store::peek(directory) {
        Ok(Some(state)) => {
            bundle.redactor().add(state.identity.kubeadmin_password.expose());
            bundle.redactor().add(state.identity.kubeadmin_hash.expose());
            for (name, contents) in state.pki.files() {
                // What others may know is what certificates are there for.
                if !matches!(name.rsplit('.').next(), Some("crt" | "pub")) {
                    bundle.redactor().add(contents);
                }
            }
        }
        Ok(None) => {
            bundle.missing(".slipway/state.json", "there is none: nothing was created in this directory");
        }
        Err(error) => bundle.missing(".slipway/state.json", &error.to_string()),
    }
    // Also one that cannot be used has passwords.
    if let Ok(text) = create::read_install_config(directory)
        && let Ok(value) = slipway_config::yaml::from_yaml(&text)
    {
        bundle.redactor().add_named(&value);
    }
    let mut config = None;
    let opened = Workspace::open(request).and_then(|mut workspace| {
        config = Some(workspace.config().clone());
        let credentials = workspace.credentials()?;
        Ok((workspace, credentials))
    });
    // What it holds itself is known even where credentials are not to be had.
    if let Some(config) = &config {
        if let Some(secret) = &config.pull_secret {
            bundle.redactor().add(secret.expose_secret());
        }
        add_urls(config, bundle);
    }
    match opened {
        Ok((workspace, credentials)) => {
            add_credentials(&credentials, bundle);
            add_install_config(workspace.text(), bundle);
        }
        // Without knowing what is secret in it, it stays out.
        Err(error) => {
            let why: Vec<String> = std::iter::once(error.to_string()).chain(error.details()).collect();
            bundle.missing(store::INSTALL_CONFIG, &why.join(": "));
        }
    }
    let journal = directory.join(".slipway/journal.jsonl");
    match fs_err::read(&journal) {
        Ok(bytes) => {
            let start = bytes.len().saturating_sub(MAX_BYTES);
            bundle.text("directory/journal.jsonl", &String::from_utf8_lossy(&bytes[start..]));
        }
        Err(error) => bundle.missing("the journal", &error.to_string()),
    }
    // There is none before a command has done anything.
    for name in ["slipway.log", "slipway.log.1"] {
        if let Ok(bytes) = fs_err::read(directory.join(".slipway").join(name)) {
            bundle.text(&format!("directory/{name}"), &String::from_utf8_lossy(&bytes));
        }
    }
    match fs_err::read_to_string(directory.join("metadata.json")) {
        Ok(text) => bundle.text("directory/metadata.json", &text),
        Err(error) => bundle.missing("metadata.json", &error.to_string()),
    }
    for files in platform::machine_files(config.as_ref()) {
        add_machines(directory, files, bundle);
    }
    let mut listing = String::new();
    list(directory, Path::new(""), &mut listing);
    bundle.text("directory/files.txt", &listing);
}

fn add_credentials(credentials: &Credentials, bundle: &mut Bundle) {
    match credentials {
        Credentials::VSphere(logins) => {
            for login in logins {
                bundle.redactor().add(login.password.expose_secret());
            }
        }
        Credentials::Ovirt(engine) => bundle.redactor().add(engine.login.password.expose_secret()),
        Credentials::KubeVirt(infra) => {
            match slipway_config::yaml::from_yaml(infra.kubeconfig.expose_secret()) {
                // Most of its values are common words, which must stay readable.
                Ok(value) => bundle.redactor().add_named(&value),
                Err(_) => bundle.redactor().add(infra.kubeconfig.expose_secret()),
            }
        }
        Credentials::None => {}
    }
}

fn add_urls(config: &InstallConfig, bundle: &mut Bundle) {
    let proxies = config.proxy.iter().flat_map(|proxy| proxy.http.iter().chain(&proxy.https));
    // Elsewhere a URL with a login is refused.
    let image = match &config.platform {
        Platform::VSphere(platform) => platform.os_image.as_ref().map(|image| &image.url),
        _ => None,
    };
    proxies.chain(image).for_each(|url| bundle.redactor().add_url(url));
}

/// As JSON, where fields have names.
fn add_install_config(text: &str, bundle: &mut Bundle) {
    match slipway_config::yaml::from_yaml(text) {
        Ok(value) => bundle.json("directory/install-config.json", value),
        Err(_) => bundle.missing(store::INSTALL_CONFIG, "it is not YAML"),
    }
}

/// The files of the machines, as JSON, where fields have names.
fn add_machines(directory: &Path, MachineFiles { folder, prefix }: MachineFiles, bundle: &mut Bundle) {
    let entries = match fs_err::read_dir(directory.join(folder)) {
        Ok(entries) => entries,
        Err(error) => return bundle.missing(folder, &error.to_string()),
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if !name.starts_with(prefix) {
            continue;
        }
        let text = crate::regular::open(&path).and_then(std::io::read_to_string);
        match text.map(|text| slipway_config::yaml::from_yaml(&text)) {
            Ok(Ok(value)) => bundle.json(&format!("directory/{folder}/{name}.json"), value),
            Ok(Err(_)) => bundle.missing(&format!("{folder}/{name}"), "it is not YAML"),
            Err(error) => bundle.missing(&format!("{folder}/{name}"), &error.to_string()),
        }
    }
}

/// Names, sizes and modes; never contents.
fn list(root: &Path, below: &Path, listing: &mut String) {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs_err::read_dir(root.join(below)) else { return };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        let Ok(found) = fs_err::symlink_metadata(root.join(&path)) else { continue };
        let _ = writeln!(listing, "{:o} {:>9} {}", found.mode() & 0o7777, found.len(), path.display());
        if found.is_dir() && path.components().count() < 4 {
            list(root, &path, listing);
        }
    }
}
