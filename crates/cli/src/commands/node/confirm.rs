//! Asking whether requests are to be approved.

use slipway_assess::csr::Decision;
use slipway_assess::csr::approve::Judged;

use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::output::Printer;

/// How the command ends, if they are not.
pub(super) async fn not_approved(chosen: &[&Judged], printer: &Printer) -> anyhow::Result<Option<Exit>> {
    for judged in chosen {
        if let Decision::Refuse(refusal) = &judged.verdict {
            printer.warning(&format!("the rules refuse {}: {}", judged.csr.name, refusal.reason()));
        }
    }
    let names: Vec<&str> = chosen.iter().map(|judged| judged.csr.name.as_str()).collect();
    let question = Question {
        word: "yes",
        deed: &format!("approve {}", names.join(", ")),
        otherwise: "nothing was approved",
        look: "look at the requests",
    };
    refused(&question, printer).await
}
