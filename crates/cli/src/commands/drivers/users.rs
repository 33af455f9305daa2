//! `slipway drivers users`.

use std::io::{BufRead, IsTerminal};

use anyhow::{Context, bail};
use secrecy::SecretString;
use slipway_config::install_config::vsphere::Tls;
use slipway_lifecycle::drivers::configure::{Login, Trust, Wanted, configure};
use slipway_lifecycle::drivers::users::{self, Change, Component, Request, User};
use slipway_operator::csr::approve::connect;
use slipway_providers::vsphere::{self, Client, Endpoint};

use crate::args::{CreateUsers, Driver, Output, VCenterUsers};
use crate::exit::Exit;
use crate::output::{ERROR, FAINT, GOOD, HEADING, Printer, WARNING};

pub(crate) fn verify(args: &VCenterUsers, printer: &Printer) -> anyhow::Result<Exit> {
    let client = client(args)?;
    runtime()?.block_on(async {
        let planned = users::plan(&client, &request(args)).await;
        log_out(&client, printer).await;
        let planned = planned?;
        show(&planned, printer)?;
        let right = planned.iter().all(User::is_right);
        Ok(if right { Exit::Ok } else { Exit::Infrastructure })
    })
}

pub(crate) fn create(args: &CreateUsers, printer: &Printer) -> anyhow::Result<Exit> {
    let CreateUsers { access, users: vcenter, name, plan, yes } = args;
    let client = client(vcenter)?;
    let trust = trust(vcenter)?;
    runtime()?.block_on(async {
        // Before anything is made: a password that cannot be kept is lost.
        let cluster = if *plan {
            None
        } else {
            Some(connect(access.kubeconfig.as_deref(), access.context.as_deref()).await?)
        };
        let work = async {
            let planned = users::plan(&client, &request(vcenter)).await?;
            show(&planned, printer)?;
            let Some(cluster) = cluster else { return Ok(Exit::Ok) };
            if !yes && !confirmed(printer) {
                return Ok(Exit::Other);
            }
            let told = |what: &str| printer.say(&format!("{GOOD}made{GOOD:#} {what}\n"));
            let made = users::create(&client, &planned, told).await?;
            let base = name.clone().unwrap_or_else(|| vcenter.server.to_lowercase().replace(':', "-"));
            for one in made {
                let name = format!("{base}-{}", one.component.word());
                let mut wanted = Wanted::default();
                match one.component {
                    Component::CloudProvider => {
                        (wanted.cloud_provider, wanted.cloud_connections) = (true, vec![name.clone()]);
                    }
                    Component::StorageProvider => {
                        (wanted.storage_provider, wanted.storage_connections) = (true, vec![name.clone()]);
                    }
                }
                let login = Login {
                    name,
                    server: vcenter.server.clone(),
                    port: vcenter.port,
                    datacenters: vcenter
                        .datacenter
                        .iter()
                        .map(|path| path.trim_start_matches('/').to_owned())
                        .collect(),
                    trust: trust.clone(),
                    user: one.login,
                    password: one.password,
                };
                let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
                configure(&cluster, Some(&login), &wanted, told).await?;
            }
            anyhow::Ok(Exit::Ok)
        };
        let done = work.await;
        log_out(&client, printer).await;
        done
    })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting to ask")
}

async fn log_out(client: &Client, printer: &Printer) {
    if client.logout().await.is_err() {
        printer.warning("the administrator's session could not be ended; it ends by itself");
    }
}

fn request(args: &VCenterUsers) -> Request {
    let components = match &*args.driver {
        [] => vec![Component::CloudProvider, Component::StorageProvider],
        some => some
            .iter()
            .map(|driver| match driver {
                Driver::CloudProvider => Component::CloudProvider,
                Driver::StorageProvider => Component::StorageProvider,
            })
            .collect(),
    };
    Request {
        prefix: args.prefix.clone(),
        components,
        datacenters: args.datacenter.clone(),
        datastores: args.datastore.clone(),
        folders: args.folder.clone(),
        file_clusters: args.file_cluster.clone(),
    }
}

fn trust(args: &VCenterUsers) -> anyhow::Result<Trust> {
    Ok(match (&args.ca_file, &args.thumbprint, args.insecure) {
        (Some(file), _, _) => Trust::Authorities(fs_err::read_to_string(file)?),
        (None, Some(thumbprint), _) => Trust::Thumbprint(thumbprint.clone()),
        (None, None, true) => Trust::Insecure,
        (None, None, false) => Trust::System,
    })
}

/// A client of the vCenter, as its administrator.
fn client(args: &VCenterUsers) -> anyhow::Result<Client> {
    let tls = match trust(args)? {
        Trust::System => Tls::System,
        Trust::Authorities(pem) => Tls::CaBundle(pem),
        Trust::Insecure => Tls::Insecure,
        Trust::Thumbprint(text) => {
            let bytes: Option<Vec<u8>> =
                text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
            let bytes = bytes.filter(|bytes| matches!(bytes.len(), 20 | 32));
            Tls::Thumbprint(bytes.context("`--thumbprint` is not 20 or 32 bytes with colons between them")?)
        }
    };
    let endpoint = Endpoint::new(&args.server, args.port, &tls);
    let login = vsphere::Login { user: args.admin_user.clone(), password: password(args)? };
    Ok(Client::new(endpoint, login)?)
}

fn password(args: &VCenterUsers) -> anyhow::Result<SecretString> {
    if let Some(variable) = &args.admin_password_env {
        let password =
            std::env::var(variable).with_context(|| format!("reading the variable `{variable}`"))?;
        return Ok(password.into());
    }
    if let Some(file) = &args.admin_password_file {
        return Ok(fs_err::read_to_string(file)?.trim_end_matches(['\r', '\n']).into());
    }
    if !std::io::stdin().is_terminal() {
        bail!(
            "nobody is there to ask for the password; give `--admin-password-env` or `--admin-password-file`"
        );
    }
    let question = format!("Password of {}:", args.admin_user);
    Ok(inquire::Password::new(&question).without_confirmation().prompt()?.into())
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

fn confirmed(printer: &Printer) -> bool {
    if !std::io::stdin().is_terminal() {
        printer.error(&anyhow::anyhow!("nobody is there to ask, and `--yes` was not given"));
        printer.hint("nothing was done. `--plan` shows what would be; then add `--yes`");
        return false;
    }
    printer.say(&format!("Type {GOOD}yes{GOOD:#} to make what is missing: "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}
