//! Whether a platform has what a cluster needs, before anything is made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`inspect`] | what a platform brings along: its endpoints, how they are read, the rules |
//! | [`network`] | DNS and virtual IPs |
//! | [`report`] | findings, their order and their codes |
//!
//! No platform is named here: the rules of vSphere are in [`crate::vsphere::preflight`].

pub mod inspect;
pub mod network;
pub mod report;

use std::sync::Arc;

use tokio::time::timeout;

use self::inspect::Inspection;
use self::network::{ExpectedNetwork, Probe};
use self::report::{Check, Finding, Report};
pub use crate::runner::Options;
use crate::runner::Tasks;

/// What is examined.
#[derive(Debug, Clone)]
pub struct Request {
    /// The cluster's name.
    pub cluster: String,
    pub platform: Platform,
    pub network: ExpectedNetwork,
    /// What is known before anything is asked.
    pub findings: Vec<Finding>,
}

/// Where the machines will be.
#[derive(Debug, Clone)]
pub enum Platform {
    /// Its endpoints are asked.
    Inspected(Arc<dyn Inspection>),
    /// There are no rules for it: its name, and what people call its endpoints.
    NotInspected { name: &'static str, endpoints: &'static str },
    /// The user makes the machines, so that there is nothing to ask.
    None,
}

/// Asks all endpoints and the network at once. What one of them does not answer is a finding about that one. `None` if it was
/// cancelled: then all sessions are ended, too.
pub async fn examine<P: Probe>(
    request: Request,
    options: Options,
    probe: P,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    let Request { cluster, platform, network, mut findings } = request;
    let mut tasks = Tasks::new();
    let (whole, stopped) = (options.whole, tasks.stopped());
    let network = ExpectedNetwork { begun: options.machines_run, ..network };
    let network = network::examine(network, Arc::new(probe));
    tasks.spawn(async move {
        let late = |_| vec![Finding::unknown(Check::Dns, "network", format!("no answer within {whole:?}"))];
        let looked = stopped.or(timeout(whole, network)).await;
        looked.map_or_else(Vec::new, |found| found.unwrap_or_else(late))
    });
    match platform {
        Platform::Inspected(inspection) => {
            findings.extend(inspection.known());
            let count = inspection.targets().len();
            // Nothing that could be asked is no reason to call anything ready.
            if count == 0 {
                let message = "not checked: there is no endpoint to ask";
                findings.push(Finding::warning(Check::Platform, "endpoints", message));
            }
            for position in 0..count {
                tasks.spawn(inspection.clone().examine(position, options.clone(), tasks.stopped()));
            }
        }
        Platform::NotInspected { name, endpoints } => findings.push(not_inspected(name, endpoints)),
        Platform::None => {}
    }
    for found in tasks.join(cancelled).await? {
        findings.extend(found.unwrap_or_else(|| vec![Finding::broken_off(Check::Platform)]));
    }
    Some(Report::new(cluster, findings))
}

/// What is not looked at must not look like passed.
fn not_inspected(name: &str, endpoints: &str) -> Finding {
    let message =
        format!("{endpoints} are not checked yet on this platform; only DNS and virtual IPs were checked");
    Finding::warning(Check::Platform, name, message)
        .remedy("check capacity, names and permissions there by hand")
}
