//! `slipway drivers users`.

use secrecy::ExposeSecret;
use slipway_assets::drivers::Connection;
use slipway_lifecycle::drivers::configure::{DriverSelection, config, configure, configure_machines};
use slipway_lifecycle::drivers::login::Administrator;
use slipway_lifecycle::drivers::users::{Change, Component, Request, User};

use super::login::{Given, tls};
use crate::args::{CreateUsers, Driver, Output, VCenterUsers};
use crate::commands::connect;
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{ERROR, FAINT, GOOD, HEADING, Printer, WARNING};
use crate::runtime::Runtime;

pub(crate) fn verify(args: &VCenterUsers, printer: &Printer) -> anyhow::Result<Exit> {
    let administrator = administrator(args)?;
    Runtime::new()?.block_on(async {
        let planned = unless_interrupted(administrator.plan(&request(args))).await;
        log_out(&administrator, printer).await;
        let Some(planned) = planned else { return interrupt::report("nothing was changed", printer) };
        let planned = planned?;
        show(&planned, printer)?;
        let right = planned.iter().all(User::is_right);
        Ok(if right { Exit::Ok } else { Exit::Infrastructure })
    })
}

const QUESTION: Question<'_> = Question {
    word: "yes",
    deed: "create what is missing",
    otherwise: "nothing was created",
    look: "`--plan` shows what would be",
};

pub(crate) fn create(args: &CreateUsers, printer: &Printer) -> anyhow::Result<Exit> {
    let CreateUsers { access, users: vcenter, name, plan, yes } = args;
    let administrator = administrator(vcenter)?;
    let tls = tls(&vcenter.certificate)?;
    Runtime::new()?.block_on(async {
        // Before anything is made: a password that cannot be kept is lost.
        let cluster = if *plan { None } else { Some(connect(access).await?) };
        if let Some(cluster) = &cluster {
            config(cluster).await?;
        }
        let work = async {
            let planned = unless_interrupted(administrator.plan(&request(vcenter))).await;
            let Some(planned) = planned else { return interrupt::report(QUESTION.otherwise, printer) };
            let planned = planned?;
            show(&planned, printer)?;
            let Some(cluster) = cluster else { return Ok(Exit::Ok) };
            let refused = if *yes { None } else { refused(&QUESTION, printer).await? };
            if let Some(end) = refused {
                return Ok(end);
            }
            // From here on it is not given up halfway: a password that is set and not kept is lost.
            let told = |what: &str| printer.say(&format!("{GOOD}made{GOOD:#} {what}\n"));
            let made = administrator.create(&planned, told).await?;
            let base = name.clone().unwrap_or_else(|| Connection::name_for(&vcenter.server));
            for one in made {
                let name = format!("{base}-{}", one.component.word());
                let mut wanted = DriverSelection::default();
                let component = one.component;
                match component {
                    Component::CloudProvider => {
                        (wanted.cloud_provider, wanted.cloud_connections) = (true, vec![name.clone()]);
                    }
                    Component::StorageProvider => {
                        (wanted.storage_provider, wanted.storage_connections) = (true, vec![name.clone()]);
                    }
                    Component::Machines => {}
                }
                let connection = Connection {
                    name,
                    server: vcenter.server.clone(),
                    port: vcenter.port,
                    datacenters: vcenter
                        .datacenter
                        .iter()
                        .map(|path| path.trim_start_matches('/').to_owned())
                        .collect(),
                    tls: tls.clone(),
                    user: one.login,
                    password: one.password.expose_secret().into(),
                };
                let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
                if component == Component::Machines {
                    configure_machines(&cluster, &connection, told).await?;
                } else {
                    configure(&cluster, &[connection], &wanted, told).await?;
                }
            }
            anyhow::Ok(Exit::Ok)
        };
        let done = work.await;
        log_out(&administrator, printer).await;
        done
    })
}

async fn log_out(administrator: &Administrator, printer: &Printer) {
    if administrator.log_out().await.is_err() {
        printer.warning("could not log out the administrator; the session expires by itself");
    }
}

fn request(args: &VCenterUsers) -> Request {
    let mut components = match &*args.driver {
        // With `--machines` alone the drivers keep the users they have.
        [] if args.machines => Vec::new(),
        [] => vec![Component::CloudProvider, Component::StorageProvider],
        some => some
            .iter()
            .map(|driver| match driver {
                Driver::CloudProvider => Component::CloudProvider,
                Driver::StorageProvider => Component::StorageProvider,
            })
            .collect(),
    };
    components.extend(args.machines.then_some(Component::Machines));
    Request {
        prefix: args.prefix.clone(),
        domain: args.domain.clone(),
        components,
        datacenters: args.datacenter.clone(),
        datastores: args.datastore.clone(),
        folders: args.folder.clone(),
        file_clusters: args.file_cluster.clone(),
    }
}

fn administrator(args: &VCenterUsers) -> anyhow::Result<Administrator> {
    let tls = tls(&args.certificate)?;
    let given = Given {
        variable: args.admin_password_env.as_deref(),
        file: args.admin_password_file.as_deref(),
        flags: "`--admin-password-env` or `--admin-password-file`",
    };
    let password = given.password_of(&args.admin_user)?;
    Ok(Administrator::new(&args.server, args.port, &tls, &args.admin_user, password)?)
}

fn show(planned: &[User], printer: &Printer) -> anyhow::Result<()> {
    if printer.output == Output::Json {
        return printer.json(&serde_json::json!({"users": planned}));
    }
    let mut text = String::new();
    let mark = |change: Change| match change {
        Change::Create => format!("{GOOD}missing{GOOD:#}"),
        Change::Update => format!("{WARNING}differs{WARNING:#}"),
        Change::Keep => format!("{FAINT}there{FAINT:#}"),
    };
    for user in planned {
        text.push_str(&format!("{HEADING}{}{HEADING:#} {}\n", user.login(), mark(user.change)));
        for role in &user.roles {
            let privileges: Vec<&str> = role.privileges.iter().map(String::as_str).collect();
            text.push_str(&format!(
                "  role {} {}: {}\n",
                role.name,
                mark(role.change),
                privileges.join(", ")
            ));
        }
        for grant in &user.grants {
            let reach = if grant.propagate { ", and below" } else { "" };
            text.push_str(&format!("  {} on {}{reach} {}\n", grant.role, grant.object, mark(grant.change)));
            if !grant.too_much.is_empty() {
                let list: Vec<&str> = grant.too_much.iter().map(String::as_str).take(8).collect();
                let more = grant.too_much.len().saturating_sub(list.len());
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                text.push_str(&format!("    {ERROR}too much{ERROR:#}: {}{more}\n", list.join(", ")));
            }
        }
    }
    Ok(printer.data(&text)?)
}
