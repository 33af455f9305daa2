//! `slipway drivers configure`.

use std::io::IsTerminal;

use anyhow::bail;
use secrecy::ExposeSecret;
use slipway_assets::drivers::Connection;
use slipway_lifecycle::drivers::configure::{Wanted, configure};

use super::login::{Given, tls};
use super::on_cluster;
use crate::args::ConfigureDrivers;
use crate::exit::Exit;
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &ConfigureDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let connection = connection(args)?;
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
        configure(&client, connection.as_ref(), &wanted, told).await?;
        printer.hint("`slipway drivers status` shows what the operator makes of it");
        Ok(Exit::Ok)
    })
}

/// A vCenter from flags, and from whoever sits there.
fn connection(args: &ConfigureDrivers) -> anyhow::Result<Option<Connection>> {
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
    let given = Given {
        variable: args.password_env.as_deref(),
        file: args.password_file.as_deref(),
        flags: "`--password-env` or `--password-file`",
    };
    let password = given.password_of(&user)?;
    let tls = tls(&args.certificate)?;
    let name = args.name.clone().unwrap_or_else(|| Connection::name_for(&server));
    let (port, datacenters) = (args.port, args.datacenter.clone());
    Ok(Some(Connection {
        name,
        server,
        port,
        datacenters,
        tls,
        user,
        password: password.expose_secret().into(),
    }))
}
