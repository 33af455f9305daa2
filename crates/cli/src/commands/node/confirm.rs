//! Asking whether requests are to be approved.

use std::io::{BufRead, IsTerminal};

use slipway_operator::csr::Verdict;
use slipway_operator::csr::approve::Judged;

use crate::output::{GOOD, Printer};

pub(super) fn confirm(chosen: &[&Judged], printer: &Printer) -> bool {
    if !std::io::stdin().is_terminal() {
        printer.error(&anyhow::anyhow!("nobody is there to ask, and `--yes` was not given"));
        printer.hint("nothing was approved. Look at the requests, then add `--yes`");
        return false;
    }
    for judged in chosen {
        if let Verdict::Refuse(refusal) = &judged.verdict {
            printer.warning(&format!("the rules refuse {}: {}", judged.csr.name, refusal.reason()));
        }
    }
    let names: Vec<&str> = chosen.iter().map(|judged| judged.csr.name.as_str()).collect();
    printer.say(&format!("Type {GOOD}yes{GOOD:#} to approve {}: ", names.join(", ")));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let meant = read.is_ok() && answer.trim() == "yes";
    if !meant {
        printer.say("nothing was approved\n");
    }
    meant
}
