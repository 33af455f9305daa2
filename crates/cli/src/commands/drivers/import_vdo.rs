//! `slipway drivers import-vdo`.

use serde_json::json;
use slipway_config::yaml::to_yaml;
use slipway_lifecycle::access::Applier;
use slipway_lifecycle::drivers::FIELD_MANAGER;
use slipway_lifecycle::drivers::import_vdo::{Copied, copy_secret, read};

use super::on_cluster;
use crate::args::{ImportVdo, Output};
use crate::exit::Exit;
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &ImportVdo, printer: &Printer) -> anyhow::Result<Exit> {
    on_cluster(&args.access, "what was applied stays", printer, async |client| {
        let imported = read(&client).await?;
        for note in &imported.notes {
            printer.warning(note);
        }
        if args.apply {
            let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
            let applier = Applier::new(&client, FIELD_MANAGER);
            for copied in &imported.secrets {
                told(&applier.apply(&copy_secret(&client, copied).await?).await?);
            }
            for object in &imported.objects {
                told(&applier.apply(object).await?);
            }
            return Ok(Exit::Ok);
        }
        match printer.output {
            Output::Json => printer.json(&json!({"objects": imported.objects, "notes": imported.notes}))?,
            Output::Text => {
                let documents: Vec<String> = imported.objects.iter().map(to_yaml).collect();
                printer.data(&documents.join("---\n"))?;
                for Copied { connection, secret, server } in &imported.secrets {
                    printer.hint(&format!(
                        "copy the Secret kube-system/{secret} to slipway-system/{connection}, with `server: {server}` beside its \
                         login; `--apply` does so"
                    ));
                }
            }
        }
        Ok(Exit::Ok)
    })
}
