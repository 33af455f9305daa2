//! `slipway drivers deploy`.

use std::time::Duration;

use anyhow::{Context, bail};
use kube::Client;
use slipway_assets::drivers::operator::{ALLOW_INSECURE, Placed};
use slipway_config::private_url::PrivateUrl;
use slipway_lifecycle::drivers::bundle::Bundle;
use slipway_lifecycle::drivers::deploy::{self, DeployError};
use slipway_lifecycle::drivers::status::{Health, Status, status};
use tokio::time::Instant;

use super::{on_cluster, status};
use crate::args::{DeployDrivers, Output, Waiting};
use crate::exit::Exit;
use crate::input;
use crate::output::{GOOD, Printer};

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Nodes that have not come by then, with healthy drivers, have a trouble of their own.
const NODES_TIMEOUT: Duration = Duration::from_mins(1);
/// What happens without us.
pub(super) const GOES_ON: &str = "the operator continues; `slipway drivers status` shows its progress";

pub(crate) fn run(args: &DeployDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let DeployDrivers {
        access,
        waiting,
        image,
        pull_secret,
        matrix,
        matrix_key,
        matrix_ca_file,
        matrix_proxy,
        allow_insecure,
        bundle,
    } = args;
    let objects = if let Some(file) = bundle {
        let text = input::read(file)?;
        Bundle::read(&text).with_context(|| format!("reading {}", input::name(file)))?.objects
    } else {
        if matrix_proxy.as_ref().is_some_and(|proxy| proxy.contains('@')) {
            bail!(
                "`--matrix-proxy` has credentials, which are visible in the operator's pods; give a proxy without them"
            );
        }
        if matrix.as_deref().is_some_and(|place| PrivateUrl::from(place).has_login_or_signature()) {
            bail!(
                "`--matrix` has credentials or a signature, which are visible in the operator's pods; give a URL without them, \
                 or a ConfigMap"
            );
        }
        let mut arguments: Vec<String> = matrix.iter().map(|place| format!("--matrix={place}")).collect();
        arguments.extend(matrix_key.iter().map(|key| format!("--matrix-key={key}")));
        arguments.extend(matrix_proxy.iter().map(|proxy| format!("--matrix-proxy={proxy}")));
        arguments.extend(allow_insecure.then(|| ALLOW_INSECURE.to_owned()));
        let authorities = matrix_ca_file.as_deref().map(fs_err::read_to_string).transpose()?;
        arguments.extend(authorities.iter().map(|_| format!("--matrix-ca={}", deploy::MATRIX_CA)));
        let placed = Placed { image: image.as_deref(), pull_secrets: pull_secret, arguments: &arguments };
        let mut objects = deploy::objects(&placed)?;
        if let Some(pem) = authorities {
            deploy::before_operator(&mut objects, deploy::matrix_authorities(&pem));
        }
        objects
    };
    on_cluster(access, GOES_ON, printer, async |client| {
        let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
        deploy::deploy(&client, &objects, told).await?;
        wait(&client, waiting, printer).await
    })
}

/// Waits for the operator, and for the drivers and the nodes if there is something it was told to do.
pub(super) async fn wait(client: &Client, waiting: &Waiting, printer: &Printer) -> anyhow::Result<Exit> {
    if waiting.no_wait {
        return Ok(Exit::Ok);
    }
    let limit = waiting.timeout;
    let end = Instant::now() + limit;
    printer.say("waiting for the operator\n");
    match deploy::wait(client, limit).await {
        Ok(()) => {}
        Err(error @ DeployError::NotUp { .. }) => {
            printer.error(&error.into());
            printer.hint("look at its pods: kubectl --namespace slipway-system get pods,events");
            return Ok(Exit::Infrastructure);
        }
        Err(error) => return Err(error.into()),
    }
    let mut shown = String::new();
    let mut changed = Instant::now();
    loop {
        let now = status(client).await?;
        let summary = summary(&now);
        if summary != shown {
            printer.say(&format!("{summary}\n"));
            shown = summary;
            changed = Instant::now();
        }
        let pending = now.nodes.as_ref().map_or(0, |nodes| nodes.pending);
        let settled = match now.verdict {
            Health::NotInstalled => true,
            Health::Healthy => pending == 0 || changed.elapsed() > NODES_TIMEOUT,
            Health::Progressing | Health::Degraded | Health::Unavailable => false,
        };
        if settled || Instant::now() > end {
            let unwanted = now.verdict == Health::NotInstalled;
            if now.verdict == Health::Healthy {
                let told = |what: &str| printer.say(&format!("{GOOD}removed{GOOD:#} {what}\n"));
                deploy::remove_old_copies(client, told).await?;
            }
            if unwanted {
                printer.hint("the operator waits for a VDOConfig: `slipway drivers configure` creates one");
            } else if pending > 0 {
                printer.hint("not all nodes are served yet: `slipway check` says what is wrong with them");
            }
            match printer.output {
                Output::Json => printer.json(&now)?,
                Output::Text => printer.data(&status::text(&now))?,
            }
            return Ok(if unwanted { Exit::Ok } else { status::exit(&now) });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// One line about everything.
fn summary(status: &Status) -> String {
    let mut parts: Vec<String> = Vec::new();
    for driver in &status.drivers {
        let progress = driver.status.conditions.iter().find(|one| one.type_ == "Progressing");
        let message = progress.map(|one| one.reason.clone()).unwrap_or_default();
        let version = driver.status.wanted_version.clone().unwrap_or_default();
        parts.push(format!("{} {version} {message}", driver.name));
    }
    for one in status.connections.iter().filter(|one| one.ready != Some(true)) {
        parts.push(format!("{} {}", one.name, one.reason.as_deref().unwrap_or("not validated yet")));
    }
    if let Some(nodes) = &status.nodes {
        parts.push(format!("{} of {} nodes", nodes.ready, nodes.ready + nodes.pending));
    }
    if parts.is_empty() { "waiting for the operator to look".to_owned() } else { parts.join("; ") }
}
