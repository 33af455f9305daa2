//! Configurations with mistakes in them: we refuse what the driver refuses, and say where we refuse more.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use slipway_config::findings::{Finding, Severity};

/// A place where we are deliberately stricter than a driver's reader, and why.
pub(crate) struct Stricter {
    pub(crate) why: &'static str,
    pub(crate) is: fn(&Finding) -> bool,
}

/// What came of many broken texts.
pub(crate) struct Tally {
    stricter: &'static [Stricter],
    pub(crate) both_accept: usize,
    both_refuse: usize,
    excused: Vec<usize>,
}

impl Tally {
    pub(crate) fn new(stricter: &'static [Stricter]) -> Self {
        Tally { stricter, both_accept: 0, both_refuse: 0, excused: vec![0; stricter.len()] }
    }

    /// Counts a verdict. A disagreement that is not on the list is a failure.
    pub(crate) fn judge(
        &mut self,
        text: &str,
        accepted: bool,
        findings: &[Finding],
        answer: Result<(), &str>,
    ) {
        match (accepted, answer) {
            (true, Ok(())) => self.both_accept += 1,
            (false, Err(_)) => self.both_refuse += 1,
            (true, Err(error)) => panic!("the driver refuses what we accept: {error}\n{text}"),
            (false, Ok(())) => {
                for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
                    let excuse = self.stricter.iter().position(|stricter| (stricter.is)(finding));
                    let excuse = excuse.unwrap_or_else(|| panic!("the driver accepts {finding:#?}\n{text}"));
                    self.excused[excuse] += 1;
                }
            }
        }
    }

    /// Every exception must be needed, and most texts must not need one.
    pub(crate) fn finish(self, name: &str) {
        println!(
            "{name}: {} broken texts accepted by both, {} refused by both; stricter:",
            self.both_accept, self.both_refuse
        );
        for (stricter, count) in self.stricter.iter().zip(&self.excused) {
            println!("  {count:>5} {}", stricter.why);
            assert!(*count > 0, "{name}: nothing needs the exception `{}`", stricter.why);
        }
        assert!(self.both_accept > 0 && self.both_refuse > 0);
    }
}

/// Where and how a text is broken.
#[derive(Debug, Clone)]
pub(crate) struct Break {
    operation: u8,
    line: Index,
    other: Index,
    key: &'static str,
    value: &'static str,
    header: &'static str,
    fitting: Option<Index>,
}

impl Break {
    /// A value that is wrong in a way the key may care about, or any.
    fn value(&self, key: &str, fitting: Fitting) -> &'static str {
        let values =
            fitting.iter().find(|(part, _)| key.to_lowercase().contains(part)).map(|(_, values)| *values);
        match (values, self.fitting) {
            (Some(values), Some(index)) => values[index.index(values.len())],
            _ => self.value,
        }
    }
}

/// Values by what the name of a key contains.
pub(crate) type Fitting = &'static [(&'static str, &'static [&'static str])];

pub(crate) fn breaks(
    keys: &'static [&'static str],
    values: &'static [&'static str],
    headers: &'static [&'static str],
) -> impl Strategy<Value = Vec<Break>> {
    let lines = (any::<Index>(), any::<Index>());
    let fitting = proptest::option::weighted(0.7, any::<Index>());
    let one = (0..7u8, lines, select(keys), select(values), select(headers), fitting).prop_map(
        |(operation, (line, other), key, value, header, fitting)| Break {
            operation,
            line,
            other,
            key,
            value,
            header,
            fitting,
        },
    );
    vec(one, 1..3)
}

/// Breaks lines of `key = value` and `[Section]`.
pub(crate) fn break_ini(text: &str, breaks: &[Break], fitting: Fitting) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for one in breaks {
        let Break { operation, line, other, key, header, .. } = one;
        let headers: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with('[')).collect();
        let variables: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(" = ")).collect();
        if variables.is_empty() || headers.is_empty() {
            break;
        }
        let variable = variables[line.index(variables.len())];
        let name = lines[variable].split(" = ").next().unwrap().to_owned();
        match operation {
            0 => lines[variable] = format!("{name} = {}", one.value(&name, fitting)),
            1 => drop(lines.remove(line.index(lines.len()))),
            2 => lines.insert(other.index(lines.len()) + 1, lines[variable].clone()),
            3 => lines[variable] = lines[variable].replacen(&name, key, 1),
            4 => (*header).clone_into(&mut lines[headers[line.index(headers.len())]]),
            5 => lines.insert(line.index(lines.len()) + 1, format!("{key} = {}", one.value(key, fitting))),
            _ => lines[variable] = name,
        }
    }
    lines.join("\n")
}

/// Breaks lines of `key: value` and the blocks below a key.
pub(crate) fn break_yaml(text: &str, breaks: &[Break], fitting: Fitting) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    for one in breaks {
        let Break { operation, line, other, key, .. } = one;
        let keyed: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(':')).collect();
        if keyed.is_empty() {
            break;
        }
        let at = keyed[line.index(keyed.len())];
        let depth = indent(&lines[at]);
        let name = lines[at].trim_start().split(':').next().unwrap().to_owned();
        let below = lines[at + 1..].iter().take_while(|line| indent(line) > depth).count();
        let written = format!("{}{name}: {}", " ".repeat(depth), one.value(&name, fitting));
        match operation {
            // Also of whole blocks: a section becomes a value.
            0 | 6 => drop(lines.splice(at..=at + below, [written])),
            1 => drop(lines.remove(line.index(lines.len()))),
            2 => lines.insert(at, lines[at].clone()),
            3 => lines[at] = lines[at].replacen(&name, key, 1),
            4 => lines[at] = written,
            _ => {
                let at = other.index(lines.len());
                let depth = indent(&lines[at]);
                lines.insert(at, format!("{}{key}: {}", " ".repeat(depth), one.value(key, fitting)));
            }
        }
    }
    lines.join("\n") + "\n"
}
