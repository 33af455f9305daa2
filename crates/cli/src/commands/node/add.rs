//! `slipway node add`.

mod steps;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use slipway_assess::csr::approve::bootstrappers_of;
use slipway_assess::csr::host::{Host, survey};
use slipway_assess::csr::{Bootstrapper, Decision, Signer};
use slipway_config::names::is_node_name;
use slipway_lifecycle::bare_metal;

use super::confirm::not_approved;
use super::show::Request;
use super::{approve_and_remember, given};
use crate::args::{Add, Output};
use crate::commands::connect;
use crate::exit::{Exit, Usage};
use crate::interrupt::{self, unless_interrupted};
use crate::output::{GOOD, Printer};
use crate::progress::seconds;
use crate::runtime::Runtime;

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// A node that asks for nothing for so long had its certificates approved by another client.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &Add, printer: &Printer) -> anyhow::Result<Exit> {
    let (given, limit) = (given(&args.known)?, args.timeout);
    if !is_node_name(&args.bare_metal) {
        let name = &args.bare_metal;
        let cause = format!("`{name}` cannot be the name of a node: it must be a DNS name in lower case");
        return Err(Usage(cause).into());
    }
    let runtime = Runtime::new()?;
    let reach = || runtime.block_on(connect(&args.access));
    let (worker, client) = if let Some(dir) = &args.dir {
        (bare_metal::worker_of(dir)?, None)
    } else {
        let client = reach()?;
        (runtime.block_on(bare_metal::worker_from(&client))?, Some(client))
    };
    let file = args.write.clone().unwrap_or_else(|| format!("{}.ign", args.bare_metal).into());
    let ignition = bare_metal::ignition(&worker, &args.bare_metal);
    bare_metal::write(&file, &ignition)?;
    let steps = steps::Steps::new(args, &file, &ignition);
    match printer.output {
        Output::Text => printer.data(&steps.text())?,
        Output::Json => printer.json(&steps)?,
    }
    if args.no_wait {
        return Ok(Exit::Ok);
    }
    let client = client.map_or_else(reach, Ok)?;
    let host = Host {
        name: args.bare_metal.clone(),
        names: args.dns_name.iter().cloned().collect(),
        addresses: args.address.iter().copied().collect(),
    };
    let wait = async {
        let bootstrappers = match given {
            Some(given) => given,
            None => bootstrappers_of(&client).await?,
        };
        wait(args, &client, &bootstrappers, &host, limit, printer).await
    };
    match runtime.block_on(unless_interrupted(wait)) {
        Some(exit) => exit,
        None => interrupt::report("the host continues by itself; its requests stay pending", printer),
    }
}

/// Approves what the host asks for, until it is a node with both of its certificates.
async fn wait(
    args: &Add,
    client: &kube::Client,
    bootstrappers: &[Bootstrapper],
    host: &Host,
    limit: Duration,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut quiet = Instant::now();
    let name = &host.name;
    printer.say(&format!("waiting for the certificate requests of {name}\n"));
    while started.elapsed() < limit {
        let sight = match survey(client, bootstrappers, &args.known.vip, host).await {
            Ok(sight) => sight,
            // The control plane may be busy; the host is not there yet anyway.
            Err(error) => {
                printer.warning(&format!("{error}"));
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
        };
        let mut served = false;
        for judged in &sight.requests {
            quiet = Instant::now();
            if !told.insert(judged.csr.uid.clone()) {
                continue;
            }
            printer.say(&Request::of(judged).text());
            let Decision::Approve(ground) = &judged.verdict else {
                printer.hint("it stays pending. To approve it anyway: slipway node approve NAME");
                continue;
            };
            let refused = if args.yes { None } else { not_approved(&[judged], printer).await? };
            if let Some(end) = refused {
                return Ok(end);
            }
            approve_and_remember(client, judged, &ground.to_string(), Some(host), printer).await?;
            served |= judged.csr.signer == Signer::Serving;
            // What was judged before does not know of it yet.
            break;
        }
        if served || (sight.is_node && quiet.elapsed() > IDLE_TIMEOUT) {
            printer.say(&format!("{GOOD}{name} is a node{GOOD:#}\n"));
            return Ok(Exit::Ok);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    printer.error(&anyhow::anyhow!("{name} did not join within {}", seconds(args.timeout)));
    printer.hint("look at its console; run the same command again to keep waiting");
    Ok(Exit::Other)
}
