//! `slipway machine create`.

use kube::ResourceExt;
use slipway_config::yaml::to_yaml;
use slipway_lifecycle::machines::create::{apply, plan};

use super::{not_meant, on_cluster};
use crate::args::{CreateMachine, Output};
use crate::exit::Exit;
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &CreateMachine, printer: &Printer) -> anyhow::Result<Exit> {
    let CreateMachine { name, like, intent, access } = args;
    on_cluster(access, "nothing was created", printer, async |client| {
        let machine = plan(&client, name, like).await?;
        match printer.output {
            Output::Json => printer.json(&machine)?,
            Output::Text => printer.data(&to_yaml(&serde_json::to_value(&machine)?))?,
        }
        if let Some(end) = not_meant(*intent, &format!("create the Machine `{name}`"), printer).await? {
            return Ok(end);
        }
        let made = apply(&client, &machine).await?;
        printer.say(&format!(
            "{GOOD}made{GOOD:#} {}; `slipway machine list` shows how far it is\n",
            made.name_any()
        ));
        Ok(Exit::Ok)
    })
}
