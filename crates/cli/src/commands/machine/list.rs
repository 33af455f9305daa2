//! `slipway machine list`.

use jiff::Timestamp;
use slipway_lifecycle::machines::age;
use slipway_lifecycle::machines::list::{Overview, Row, list};

use super::on_cluster;
use crate::args::{ListMachines, Output};
use crate::commands::table::table;
use crate::exit::Exit;
use crate::output::{FAINT, Printer};

pub(crate) fn run(args: &ListMachines, printer: &Printer) -> anyhow::Result<Exit> {
    on_cluster(&args.access, "nothing was changed", printer, async |client| {
        let overview = list(&client).await?;
        match printer.output {
            Output::Json => printer.json(&overview)?,
            Output::Text => printer.data(&text(&overview, Timestamp::now()))?,
        }
        let all_well = overview.machines.iter().all(|row| row.state.is_good());
        Ok(if all_well { Exit::Ok } else { Exit::Infrastructure })
    })
}

fn text(overview: &Overview, now: Timestamp) -> String {
    let Overview { machines, other_nodes } = overview;
    let mut text = if machines.is_empty() {
        "there are no machines\n".to_owned()
    } else {
        let mut rows = vec![
            ["MACHINE", "STATE", "NODE", "FAILURE DOMAIN", "VM", "HOST", "AGE", "REASON"].map(str::to_owned),
        ];
        rows.extend(machines.iter().map(|row| cells(row, now)));
        table(&rows, "")
    };
    if !other_nodes.is_empty() {
        text.push_str(&format!("{FAINT}nodes without a machine: {}{FAINT:#}\n", other_nodes.join(", ")));
    }
    text
}

fn cells(row: &Row, now: Timestamp) -> [String; 8] {
    let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), plain);
    [
        row.name.clone(),
        row.state.as_str().to_owned(),
        or_none(&row.node),
        or_none(&row.failure_domain),
        or_none(&row.instance_state),
        or_none(&row.host),
        age(row.created, now),
        row.reason.as_deref().map(plain).unwrap_or_default(),
    ]
}

/// In one line, and without what a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use slipway_lifecycle::machines::list::{Overview, Row, State};

    use super::text;

    fn row(name: &str, state: State, node: Option<&str>, reason: Option<&str>) -> Row {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Row {
            name: name.to_owned(),
            role: None,
            set: None,
            state,
            node: owned(node),
            failure_domain: owned(node.map(|_| "east/a on vc1.example.com")),
            provider_id: None,
            instance_state: owned(node.map(|_| "poweredOn")),
            host: owned(node.map(|_| "esx-1.example.com")),
            created: Some(Timestamp::from_second(1_799_990_000).unwrap()),
            reason: owned(reason),
        }
    }

    #[test]
    fn one_table() {
        let overview = Overview {
            machines: vec![
                row("harbour-master-0", State::Running, Some("harbour-master-0"), None),
                row(
                    "harbour-worker-0-b9nqz",
                    State::Provisioning,
                    None,
                    Some("no space on\ndatastore `fast`"),
                ),
            ],
            other_nodes: vec!["metal-0".to_owned()],
        };
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        insta::assert_snapshot!(anstream::adapter::strip_str(&text(&overview, now)).to_string(), @r"
        MACHINE                 STATE         NODE              FAILURE DOMAIN             VM         HOST               AGE  REASON
        harbour-master-0        running       harbour-master-0  east/a on vc1.example.com  poweredOn  esx-1.example.com  2h
        harbour-worker-0-b9nqz  provisioning  -                 -                          -          -                  2h   no space on datastore `fast`
        nodes without a machine: metal-0
        ");
    }
}
