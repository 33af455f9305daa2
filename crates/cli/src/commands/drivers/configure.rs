//! `slipway drivers configure`.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use secrecy::SecretString;
use slipway_lifecycle::drivers::configure::{Login, Trust, Wanted, configure};

use super::on_cluster;
use crate::args::ConfigureDrivers;
use crate::exit::Exit;
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &ConfigureDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let login = login(args)?;
    let wanted = Wanted {
        cloud_provider: !args.without_cloud_provider,
        storage_provider: !args.without_storage_provider,
        topology_categories: args.topology_category.clone(),
        registry: args.registry.clone(),
        pull_secrets: args.pull_secret.clone(),
        ..Wanted::default()
    };
    on_cluster(&args.access, "what was applied stays", printer, async |client| {
        let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
        configure(&client, login.as_ref(), &wanted, told).await?;
        printer.hint("`slipway drivers status` shows what the operator makes of it");
        Ok(Exit::Ok)
    })
}

/// A vCenter from flags, and from whoever sits there.
fn login(args: &ConfigureDrivers) -> anyhow::Result<Option<Login>> {
    let there = std::io::stdin().is_terminal();
    let ask = |question: &str, flag: &str| -> anyhow::Result<String> {
        if !there {
            bail!("nobody is there to ask for it, and `{flag}` was not given");
        }
        Ok(inquire::Text::new(question).prompt()?.trim().to_owned())
    };
    let server = match &args.server {
        Some(server) => server.clone(),
        None if there => ask("Name or address of the vCenter:", "--server")?,
        // Only the VDOConfig is made.
        None => return Ok(None),
    };
    let user = match &args.user {
        Some(user) => user.clone(),
        None => ask("User, as name@domain:", "--user")?,
    };
    let password = password(args, &user, there)?;
    let trust = match (&args.ca_file, &args.thumbprint, args.insecure) {
        (Some(file), _, _) => Trust::Authorities(fs_err::read_to_string(file)?),
        (None, Some(thumbprint), _) => Trust::Thumbprint(thumbprint.clone()),
        (None, None, true) => Trust::Insecure,
        (None, None, false) => Trust::System,
    };
    let name = args.name.clone().unwrap_or_else(|| server.to_lowercase().replace(':', "-"));
    let (port, datacenters) = (args.port, args.datacenter.clone());
    Ok(Some(Login { name, server, port, datacenters, trust, user, password }))
}

fn password(args: &ConfigureDrivers, user: &str, there: bool) -> anyhow::Result<SecretString> {
    if let Some(variable) = &args.password_env {
        let password =
            std::env::var(variable).with_context(|| format!("reading the variable `{variable}`"))?;
        return Ok(password.into());
    }
    if let Some(file) = &args.password_file {
        let text = fs_err::read_to_string(file)?;
        return Ok(text.trim_end_matches(['\r', '\n']).into());
    }
    if !there {
        bail!("nobody is there to ask for the password; give `--password-env` or `--password-file`");
    }
    let question = format!("Password of {user}:");
    Ok(inquire::Password::new(&question).without_confirmation().prompt()?.into())
}
