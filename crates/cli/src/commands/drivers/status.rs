//! `slipway drivers status`.

use slipway_api::slipway::condition::OF_DRIVERS;
use slipway_lifecycle::drivers::status::{Connection, Driver, Health, Status, status};

use super::on_cluster;
use crate::args::{Access, Output};
use crate::commands::table::table;
use crate::exit::Exit;
use crate::output::{ERROR, FAINT, GOOD, HEADING, Printer, WARNING};

pub(crate) fn run(access: &Access, printer: &Printer) -> anyhow::Result<Exit> {
    on_cluster(access, "nothing was changed", printer, async |client| {
        let status = status(&client).await?;
        match printer.output {
            Output::Json => printer.json(&status)?,
            Output::Text => printer.data(&text(&status))?,
        }
        Ok(exit(&status))
    })
}

/// What scripts go by.
pub(super) fn exit(status: &Status) -> Exit {
    match status.verdict {
        Health::Healthy => Exit::Ok,
        Health::Progressing | Health::Degraded | Health::Unavailable | Health::NotInstalled => {
            Exit::Infrastructure
        }
    }
}

/// Everything, for people.
pub(super) fn text(status: &Status) -> String {
    let (style, word) = match status.verdict {
        Health::Healthy => (GOOD, "healthy"),
        Health::Progressing => (WARNING, "on their way"),
        Health::Degraded => (WARNING, "degraded"),
        Health::Unavailable => (ERROR, "not available"),
        Health::NotInstalled => (ERROR, "not installed"),
    };
    let mut text = format!("the drivers are {style}{word}{style:#}\n");
    text.push_str(&match &status.operator {
        Some(operator) => {
            format!("operator: {} ({} of {} copies)\n", operator.image, operator.available, operator.wanted)
        }
        None => "operator: none; `slipway drivers deploy` installs it\n".to_owned(),
    });
    if let Some(version) = &status.kubernetes_version {
        text.push_str(&format!("Kubernetes: {version}\n"));
    }
    if !status.drivers.is_empty() {
        let mut rows = vec![
            ["DRIVER", "VERSION", "WANTED", "AVAILABLE", "PROGRESSING", "DEGRADED", "UPGRADEABLE"]
                .map(str::to_owned),
        ];
        rows.extend(status.drivers.iter().map(row));
        text.push_str(&format!("\n{HEADING}drivers{HEADING:#}\n{}", table(&rows, "  ")));
        for driver in &status.drivers {
            if let Some(upgrade) = &driver.status.upgrade {
                text.push_str(&format!(
                    "  {}: from {} to {}, at {}\n",
                    driver.name, upgrade.from, upgrade.to, upgrade.step
                ));
            }
        }
    }
    if !status.connections.is_empty() {
        let mut rows =
            vec![["CONNECTION", "SERVER", "VERSION", "USER", "READY", "REASON"].map(str::to_owned)];
        rows.extend(status.connections.iter().map(connection));
        text.push_str(&format!("\n{HEADING}connections{HEADING:#}\n{}", table(&rows, "  ")));
    }
    if let Some(nodes) = &status.nodes {
        text.push_str(&format!(
            "\n{HEADING}nodes{HEADING:#}\n  {} ready, {} pending, {} skipped as not of a vCenter\n",
            nodes.ready, nodes.pending, nodes.skipped
        ));
        for (word, names) in [("pending", &nodes.pending_names), ("skipped", &nodes.skipped_names)] {
            if !names.is_empty() {
                text.push_str(&format!("  {FAINT}{word}: {}{FAINT:#}\n", names.join(", ")));
            }
        }
        if nodes.ready + nodes.pending == 0 && nodes.skipped > 0 {
            text.push_str(&format!(
                "    {GOOD}hint{GOOD:#}: `slipway check` lists those that are vSphere VMs\n"
            ));
        }
    }
    if let Some(checks) = &status.checks {
        text.push_str(&format!(
            "\n{HEADING}checks{HEADING:#}\n  {} failures, {} unknown, {} warnings, {} passed\n",
            checks.failures, checks.unknown, checks.warnings, checks.passed
        ));
        for finding in checks.findings.iter().filter(|finding| finding.outcome == "failure") {
            text.push_str(&format!(
                "  {ERROR}{}{ERROR:#} {}: {}\n",
                finding.check, finding.object, finding.message
            ));
        }
    }
    if !status.failures.is_empty() {
        text.push_str(&format!("\n{HEADING}what is wrong{HEADING:#}\n"));
        for failure in &status.failures {
            text.push_str(&format!(
                "  {ERROR}{}{ERROR:#} {}: {}\n",
                failure.reason, failure.subject, failure.message
            ));
            if let Some(remedy) = &failure.remedy {
                text.push_str(&format!("    {GOOD}hint{GOOD:#}: {remedy}\n"));
            }
        }
    }
    text
}

fn row(driver: &Driver) -> [String; 7] {
    let status = &driver.status;
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let of = |about: &str| {
        let found = status.conditions.iter().find(|one| one.type_ == about);
        found.map_or_else(|| "Unknown".to_owned(), |one| one.status.clone())
    };
    let [available, progressing, degraded, upgradeable] = OF_DRIVERS.map(of);
    [
        driver.name.to_owned(),
        or_none(&status.deployed_version),
        or_none(&status.wanted_version),
        available,
        progressing,
        degraded,
        upgradeable,
    ]
}

fn connection(one: &Connection) -> [String; 6] {
    let ready = match one.ready {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    [
        one.name.clone(),
        one.server.clone(),
        one.version.clone().unwrap_or_default(),
        one.user.clone().unwrap_or_default(),
        ready.to_owned(),
        one.reason.clone().unwrap_or_default(),
    ]
}
