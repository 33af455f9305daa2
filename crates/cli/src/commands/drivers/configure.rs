//! `slipway drivers configure`.

use std::io::IsTerminal;

use anyhow::bail;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use slipway_api::slipway::vdo_config::UpdatePolicy;
use slipway_assets::drivers::Connection;
use slipway_assets::drivers::operator::ALLOW_INSECURE;
use slipway_config::install_config::vsphere::Tls;
use slipway_lifecycle::drivers::configure::{DriverSelection, ExistingConfig, Plan, configure, there};
use slipway_lifecycle::drivers::deploy::running;
use slipway_lifecycle::drivers::login;

use super::login::{Given, tls};
use super::on_cluster;
use crate::args::{ConfigureDrivers, Output, Policy};
use crate::commands::connect;
use crate::exit::Exit;
use crate::input;
use crate::output::{GOOD, Printer};
use crate::runtime::Runtime;
use crate::survey::{DriversSurvey, KnownAnswers, Live, Stop, Terminal};

pub(crate) fn run(args: &ConfigureDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let plan = match &args.file {
        Some(file) => Some(Plan::read(&input::read(file)?)?),
        None if must_ask(args, printer) => {
            let access = &args.access;
            let there = Runtime::new()?.block_on(async {
                let client = connect(access).await?;
                anyhow::Ok(there(&client).await?)
            })?;
            match ask(args, there, printer) {
                Ok(plan) => Some(plan),
                Err(stop) => return Ok(stop.tell("nothing was applied", printer)),
            }
        }
        None => None,
    };
    let connection = if plan.is_none() { connection(args)? } else { None };
    on_cluster(&args.access, "what was applied stays", printer, async |client| {
        let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
        let wanted = wanted(args);
        if let Some(connection) = connection.as_ref().filter(|_| !args.skip_login)
            && let Err(error) = login::try_out(connection).await
        {
            printer.error(&error.into());
            printer.hint(
                "nothing was applied; `--skip-login` applies it where this machine does not reach the vCenter",
            );
            return Ok(Exit::Infrastructure);
        }
        let before = there(&client).await?;
        match &plan {
            Some(plan) => plan.apply(&client, told).await?,
            None => configure(&client, connection.as_slice(), &wanted, told).await?,
        }
        if connection.as_ref().is_some_and(|one| before.lacks_topology(&one.server, &wanted)) {
            printer.warning(
                "the cluster has several vCenters now, and no tag category says on which of them a node is: give \
                 `--topology-category`",
            );
        }
        if connection.as_ref().is_some_and(|one| one.tls == Tls::Insecure)
            && !running(&client).await?.arguments.iter().any(|one| one == ALLOW_INSECURE)
        {
            printer.warning(
                "the operator refuses vCenters whose certificate is not verified: `slipway drivers deploy --allow-insecure`",
            );
        }
        printer.hint("`slipway drivers status` shows how far the operator is");
        Ok(Exit::Ok)
    })
}

const PASSWORD_FLAGS: &str = "`--password-env` or `--password-file`";

/// There is a terminal to ask at, and something that a connection needs was not given.
fn must_ask(args: &ConfigureDrivers, printer: &Printer) -> bool {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let complete = args.server.is_some() && args.user.is_some() && given(args).is_there();
    terminal && printer.output == Output::Text && !complete
}

fn ask(args: &ConfigureDrivers, there: ExistingConfig, printer: &Printer) -> Result<Plan, Stop> {
    let given = given(args);
    let user = args.user.as_deref().unwrap_or_default();
    let password = if given.is_there() { Some(given.password_of(user)?) } else { None };
    let server = args.server.as_ref().map(|server| match args.port {
        443 => server.clone(),
        port if server.contains(':') => format!("[{server}]:{port}"),
        port => format!("{server}:{port}"),
    });
    let trust = tls(&args.certificate)?;
    let chosen = (!args.without_cloud_provider, !args.without_storage_provider);
    let told = KnownAnswers {
        server,
        name: args.name.clone(),
        tls: (trust != Tls::System).then_some(trust),
        user: args.user.clone(),
        password,
        datacenters: args.datacenter.clone(),
        drivers: (chosen != (true, true)).then_some(chosen),
        wanted: wanted(args),
        there,
        now: Timestamp::now(),
    };
    DriversSurvey::new(told, &mut Terminal::new(printer), &mut Live::new(printer)?).run()
}

fn wanted(args: &ConfigureDrivers) -> DriverSelection {
    DriverSelection {
        cloud_provider: !args.without_cloud_provider,
        storage_provider: !args.without_storage_provider,
        topology_categories: args.topology_category.clone(),
        registry: args.registry.clone(),
        pull_secrets: args.pull_secret.clone(),
        update_policy: args.update_policy.map(|policy| match policy {
            Policy::Latest => UpdatePolicy::Latest,
            Policy::Lts => UpdatePolicy::Lts,
            Policy::Disabled => UpdatePolicy::Disabled,
        }),
        ..DriverSelection::default()
    }
}

fn given(args: &ConfigureDrivers) -> Given<'_> {
    Given {
        variable: args.password_env.as_deref(),
        file: args.password_file.as_deref(),
        flags: PASSWORD_FLAGS,
    }
}

/// A vCenter from flags. Without one only the VDOConfig is made.
fn connection(args: &ConfigureDrivers) -> anyhow::Result<Option<Connection>> {
    let Some(server) = args.server.clone() else {
        let of_vcenter = [
            ("--name", args.name.is_some()),
            ("--user", args.user.is_some()),
            ("--password-env", args.password_env.is_some()),
            ("--password-file", args.password_file.is_some()),
            ("--datacenter", !args.datacenter.is_empty()),
            ("--ca-file", args.certificate.ca_file.is_some()),
            ("--thumbprint", args.certificate.thumbprint.is_some()),
            ("--insecure", args.certificate.insecure),
        ];
        if let Some((flag, _)) = of_vcenter.iter().find(|(_, is_there)| *is_there) {
            bail!("`{flag}` is about a vCenter: give its name or address with `--server`");
        }
        return Ok(None);
    };
    let Some(user) = args.user.clone() else {
        bail!("`--server` takes a login: add `--user NAME@DOMAIN`, and {PASSWORD_FLAGS}");
    };
    let password = given(args).password_of(&user)?;
    Ok(Some(Connection {
        name: args.name.clone().unwrap_or_else(|| Connection::name_for(&server)),
        server,
        port: args.port,
        datacenters: args.datacenter.clone(),
        tls: tls(&args.certificate)?,
        user,
        password: password.expose_secret().into(),
    }))
}
