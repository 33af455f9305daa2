//! `slipway node approve`.

use slipway_assess::csr::approve::{Judged, bootstrappers_of, survey};
use slipway_assess::csr::{Bootstrapper, Decision, Roster};

use super::confirm::not_approved;
use super::show::Request;
use super::{approve_and_remember, given};
use crate::args::{Approve, Output};
use crate::commands::connect;
use crate::exit::Exit;
use crate::output::{HEADING, Printer};
use crate::runtime::Runtime;

/// What is written into a request that a person approved against the rules.
const BY_HAND: &str = "approved by hand with slipway node approve";

pub(crate) fn run(args: &Approve, printer: &Printer) -> anyhow::Result<Exit> {
    let Approve { names, access, known, yes } = args;
    let given = given(known)?;
    let runtime = Runtime::new()?;
    let (client, judged) = runtime.block_on(async {
        let client = connect(access).await?;
        let bootstrappers = match given {
            Some(given) => given,
            None => bootstrappers_of(&client).await?,
        };
        let named_alike = bootstrappers.iter().any(Bootstrapper::is_token);
        let roster = Roster { named_alike, ..Roster::default() };
        let judged = survey(&client, bootstrappers, &known.vip, &roster).await?;
        anyhow::Ok((client, judged))
    })?;
    let mut requests: Vec<Request> = judged.iter().map(Request::of).collect();
    if printer.output == Output::Text {
        printer.data(&listing(&requests))?;
    }
    let unknown: Vec<&String> =
        names.iter().filter(|name| !requests.iter().any(|request| request.name == **name)).collect();
    if !unknown.is_empty() {
        let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
        anyhow::bail!("no request of a kubelet is pending under the name {}", unknown.join(", "));
    }
    let chosen: Vec<&Judged> = judged.iter().filter(|judged| is_chosen(judged, names)).collect();
    let mut all_well = true;
    if !chosen.is_empty() {
        let refused = if *yes { None } else { runtime.block_on(not_approved(&chosen, printer))? };
        if let Some(end) = refused {
            if printer.output == Output::Json && end != Exit::Interrupted {
                printer.json(&serde_json::json!({ "requests": requests }))?;
            }
            return Ok(end);
        }
        for judged in chosen {
            let message = match &judged.verdict {
                Decision::Approve(ground) => ground.to_string(),
                Decision::Refuse(refusal) => format!("{BY_HAND}; the rules refuse it: {}", refusal.reason()),
            };
            let name = &judged.csr.name;
            match runtime.block_on(approve_and_remember(&client, judged, &message, None, printer)) {
                Ok(()) => {
                    requests
                        .iter_mut()
                        .filter(|request| request.name == *name)
                        .for_each(|one| one.approved = true);
                }
                Err(error) => {
                    all_well = false;
                    printer.error(&error);
                }
            }
        }
    }
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({ "requests": requests }))?;
    }
    Ok(if all_well { Exit::Ok } else { Exit::Other })
}

fn listing(requests: &[Request]) -> String {
    if requests.is_empty() {
        return "no request of a kubelet is pending\n".to_owned();
    }
    let mut text: Vec<String> = requests.iter().map(Request::text).collect();
    let good = requests.iter().filter(|request| request.verdict == "approve").count();
    text.push(format!(
        "{HEADING}{} pending{HEADING:#}: the rules approve {good} and refuse {}\n",
        requests.len(),
        requests.len() - good
    ));
    text.join("\n")
}

/// Those that are named, or else those that the rules approve.
fn is_chosen(judged: &Judged, names: &[String]) -> bool {
    if names.is_empty() {
        matches!(judged.verdict, Decision::Approve(_))
    } else {
        names.contains(&judged.csr.name)
    }
}
