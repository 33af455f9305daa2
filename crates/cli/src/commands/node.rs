//! `slipway node`.

mod add;
mod approve;
mod confirm;
mod show;

use jiff::Timestamp;
use kube::Client;
use slipway_assess::csr::Bootstrapper;
use slipway_assess::csr::approve::{self as csr_approve, Judged};
use slipway_assess::csr::host::Host;
use slipway_assets::drivers::operator::NAMESPACE;

use crate::args::{CertificateRules, Node};
use crate::exit::{Exit, Usage};
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &Node, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Node::Add(args) => add::run(args, printer),
        Node::Approve(args) => approve::run(args, printer),
    }
}

/// Who asks for first certificates, where it was said.
fn given(known: &CertificateRules) -> Result<Option<Vec<Bootstrapper>>, Usage> {
    let mut given = Vec::new();
    for text in &known.bootstrapper {
        match Bootstrapper::of(text) {
            Some(bootstrapper) => given.push(bootstrapper),
            None => {
                return Err(Usage(format!(
                    "`--bootstrapper {text}` is neither `system:serviceaccount:<namespace>:<name>` nor \
                     `system:bootstrap:<id>`, nor one of them after `master=` or `worker=`"
                )));
            }
        }
    }
    Ok((!given.is_empty()).then_some(given))
}

/// Approves a request and writes down what was confirmed with it; `host` is what is known of one that has no machine.
async fn approve_and_remember(
    client: &Client,
    judged: &Judged,
    message: &str,
    host: Option<&Host>,
    printer: &Printer,
) -> anyhow::Result<()> {
    csr_approve::approve(client, &judged.object, message, Timestamp::now()).await?;
    printer.say(&format!("{GOOD}approved{GOOD:#} {}\n", judged.csr.name));
    // Without the operator's namespace no operator reads it.
    match judged.remember(client, NAMESPACE, host).await {
        Err(error) if !error.is_absent() => {
            printer.warning(&format!("{error}: renewals will have to be approved with slipway node approve"));
        }
        _ => {}
    }
    Ok(())
}
