//! The table of the race.

use std::fmt::Write as _;
use std::time::Duration;

use super::legs::{Figures, FirstClone};
use super::racer::Kind;
use crate::section;

pub(super) const GUIDE: &str = "docs/guides/benchmarks.md";
const HEADING: &str = "## The race";

type All = [(Kind, Figures); 3];

pub(super) fn write(figures: &All, minutes: u64) -> anyhow::Result<()> {
    section::replace(GUIDE, HEADING, &body(figures, minutes))
}

/// Above the table, which is written by the race itself.
const INTRODUCTION: &str = "\
<!-- not run: it measures for three quarters of an hour -->
```console
$ cargo xtask race
$ cargo xtask race --legs make,password    # parts of it
```

The same simulated vCenters as above, and the same machines: `Machine` objects from one install-config for slipway's operator and for
the vSphere controller of OpenShift's machine-api-operator, and the pairs of VSphereMachine and Machine from the same files for Cluster API with CAPV. All with
their defaults; the operator is built as for its image. The time of machines runs from `kubectl apply` until all run, asked past the vCenter's API.
*First clone* runs from `kubectl apply` of one more machine to the first call that clones it. The 1,000 settled machines were there before the
controller started, each with its virtual machine and a node. Calls per settled machine and hour are counted for ten and a half minutes, one period of the others.
Memory is the peak of resident memory, of both managers for Cluster API. With a dead vCenter, 60 machines are asked for on three vCenters, and the
time is that of the 40 on the two others. `cargo xtask race` writes this section.";

/// How a figure is written.
type Cell = Box<dyn Fn(&Figures) -> Option<String>>;

fn rows() -> Vec<(&'static str, Cell)> {
    let time = |took: Option<Duration>| {
        took.map_or_else(|| "not in time".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()))
    };
    let mut rows: Vec<(&str, Cell)> = vec![
        ("200 machines", Box::new(|all: &Figures| all.made.map(made))),
        ("calls per machine made", Box::new(|all: &Figures| all.made.map(calls_each))),
    ];
    let first = [
        "first clone, nothing else there",
        "first clone, 200 settled",
        "first clone, 1,000 settled",
        "first clone, 1,000 settled, right after a restart",
    ];
    for (index, what) in first.into_iter().enumerate() {
        rows.push((
            what,
            Box::new(move |all: &Figures| all.first[index].map(|FirstClone(after)| time(after))),
        ));
    }
    rows.push((
        "calls per settled machine and hour",
        Box::new(|all: &Figures| all.settled_calls.map(|calls| format!("{calls:.1}"))),
    ));
    for (index, what) in ["memory, 200 machines", "memory, 1,000 machines"].into_iter().enumerate() {
        rows.push((
            what,
            Box::new(move |all: &Figures| all.memory_kib[index].map(|kib| format!("{} MiB", kib / 1024))),
        ));
    }
    rows.push((
        "40 machines, three vCenters answer",
        Box::new(move |all: &Figures| all.beside.map(|both| time(both[0]))),
    ));
    rows.push((
        "40 machines, the third is dead",
        Box::new(move |all: &Figures| all.beside.map(|both| time(both[1]))),
    ));
    rows.push((
        "refused logins in the first minute, in the second",
        Box::new(|all: &Figures| all.logins.map(|[first, second]| format!("{first}, {second}"))),
    ));
    rows
}

fn made((count, took, _): (usize, Duration, u64)) -> String {
    format!(
        "{:.1} s{}",
        took.as_secs_f64(),
        if count < 200 { format!(" for {count}, then stopped") } else { String::new() }
    )
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn calls_each((count, _, calls): (usize, Duration, u64)) -> String {
    format!("{:.1}", calls as f64 / count.max(1) as f64)
}

fn body(figures: &All, minutes: u64) -> String {
    let mut text = format!("{INTRODUCTION}\n\n|");
    let titles = figures.iter().map(|(kind, _)| kind.title());
    for title in std::iter::once("figure").chain(titles) {
        let _ = write!(text, " {title} |");
    }
    text.push_str("\n|---|---|---|---|\n");
    for (what, cell) in rows() {
        let cells: Vec<Option<String>> = figures.iter().map(|(_, all)| cell(all)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "| {what} |");
        for cell in cells {
            let _ = write!(text, " {} |", cell.as_deref().unwrap_or("not measured"));
        }
        text.push('\n');
    }
    let _ = write!(text, "\nOne run, which took {minutes} minutes.");
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::body;
    use crate::race::legs::{Figures, FirstClone};
    use crate::race::racer::Kind;

    #[test]
    fn what_was_not_measured_is_said() {
        let mut figures = Kind::ALL.map(|kind| (kind, Figures::default()));
        figures[0].1.first[2] = Some(FirstClone(Some(Duration::from_millis(300))));
        figures[1].1.first[2] = Some(FirstClone(None));
        let text = body(&figures, 7);
        assert!(
            text.contains("| first clone, 1,000 settled | 0.3 s | not in time | not measured |\n"),
            "{text}"
        );
        assert!(!text.contains("| 200 machines"), "{text}");
    }
}
