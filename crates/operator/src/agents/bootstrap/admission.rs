//! Which control-plane machine comes in next: one after the other, so that etcd always has a majority that works.
//!
//! A machine's way in begins with a client certificate. All but one have to wait for theirs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

/// A machine that came in and did not get further within this time no longer keeps others out.
const ADMISSION_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);

/// How far a control-plane machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    /// When it asked for its first certificate, as long as that is undecided.
    pub asked: Option<Timestamp>,
    /// When it was let in.
    pub entered: Option<Timestamp>,
    /// What it still lacks; `None` if it is a full member.
    pub lacks: Option<String>,
}

impl Candidate {
    pub fn is_complete(&self) -> bool {
        self.lacks.is_none()
    }
}

/// The machine whose turn it is: the one that is on its way in, or the one that has waited longest.
pub fn turn(candidates: &[Candidate], now: Timestamp) -> Option<&str> {
    let entering = candidates
        .iter()
        .filter(|candidate| !candidate.is_complete())
        .filter_map(|candidate| Some((candidate.entered?, candidate)))
        .filter(|(entered, _)| now.duration_since(*entered) < ADMISSION_TIMEOUT)
        .min_by_key(|(entered, candidate)| (*entered, &candidate.name));
    let waiting = candidates
        .iter()
        .filter_map(|candidate| Some((candidate.asked?, candidate)))
        .min_by_key(|(asked, candidate)| (*asked, &candidate.name));
    entering.or(waiting).map(|(_, candidate)| candidate.name.as_str())
}

/// Those that have to wait, and why.
pub fn held(candidates: &[Candidate], now: Timestamp) -> BTreeMap<String, String> {
    let turn = turn(candidates, now);
    let why = match turn {
        Some(name) => {
            format!("control-plane machines come in one after the other, and it is `{name}`'s turn")
        }
        None => "control-plane machines come in one after the other, and its turn has not come".to_owned(),
    };
    let others = candidates.iter().filter(|candidate| Some(candidate.name.as_str()) != turn);
    others.map(|candidate| (candidate.name.clone(), why.clone())).collect()
}

/// Says of those who ask in vain why.
pub fn note_refused(candidates: &mut [Candidate], refused: &BTreeMap<String, String>) {
    for candidate in candidates.iter_mut().filter(|candidate| candidate.asked.is_some()) {
        if let Some(why) = refused.get(&candidate.name) {
            candidate.lacks = Some(format!("asks for its certificate, which is refused: {why}"));
        }
    }
}

/// What is waited for, machine by machine.
pub fn describe(candidates: &[Candidate], now: Timestamp) -> String {
    let turn = turn(candidates, now);
    let lack = |candidate: &Candidate| {
        let name = &candidate.name;
        match (&candidate.lacks, candidate.asked, turn) {
            (None, ..) => None,
            (Some(_), Some(_), Some(turn)) if turn != name => Some(format!("{name} waits for its turn")),
            (Some(lacks), ..) => Some(format!("{name} {lacks}")),
        }
    };
    let missing: Vec<String> = candidates.iter().filter_map(lack).collect();
    let complete = candidates.iter().filter(|candidate| candidate.is_complete()).count();
    format!("{complete} of {} control-plane machines are in; {}", candidates.len(), missing.join("; "))
}

/// What to add about machines that refuse the certificate of the machine-config server: they will never come by themselves.
pub fn distrust(who: &[IpAddr]) -> Option<String> {
    let who: Vec<String> = who.iter().map(ToString::to_string).collect();
    (!who.is_empty()).then(|| {
        format!(
            "; {} does not trust the machine-config server: its Ignition config is of another cluster, or its clock is wrong",
            who.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Candidate, describe, distrust, held, note_refused, turn};

    /// `<name> <asked> <entered> <complete>`, with minutes.
    fn candidates(lines: &[&str]) -> Vec<Candidate> {
        let minute = |text: &str| {
            text.parse::<u32>().ok().map(|m| format!("2026-11-16T12:{m:02}:00Z").parse().unwrap())
        };
        let candidate = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            Candidate {
                name: fields[0].to_owned(),
                asked: minute(fields[1]),
                entered: minute(fields[2]),
                lacks: (fields[3] != "in").then(|| "is not ready".to_owned()),
            }
        };
        lines.iter().map(candidate).collect()
    }

    #[rstest]
    #[case::nobody(&["a - - out", "b - - out"], None)]
    #[case::first_come(&["a 3 - out", "b 2 - out"], Some("b"))]
    #[case::at_once(&["b 2 - out", "a 2 - out"], Some("a"))]
    #[case::on_its_way(&["a 1 - out", "b - 2 out"], Some("b"))]
    #[case::next(&["a 1 - out", "b - 2 in", "c 2 - out"], Some("a"))]
    #[case::stuck(&["a 1 - out", "b - 2 out"], Some("b"))]
    #[case::all(&["a - 1 in", "b - 2 in"], None)]
    fn turns(#[case] lines: &[&str], #[case] expected: Option<&str>) {
        let candidates = candidates(lines);
        let now = "2026-11-16T12:10:00Z".parse().unwrap();
        assert_eq!(turn(&candidates, now), expected);
        let held = held(&candidates, now);
        assert_eq!(held.len(), candidates.len() - usize::from(expected.is_some()), "all others wait");
    }

    #[test]
    fn a_machine_that_never_gets_further_does_not_keep_others_out_for_ever() {
        let candidates = candidates(&["a 1 - out", "b - 2 out"]);
        assert_eq!(turn(&candidates, "2026-11-16T12:16:59Z".parse().unwrap()), Some("b"));
        assert_eq!(turn(&candidates, "2026-11-16T12:17:00Z".parse().unwrap()), Some("a"));
    }

    #[test]
    fn who_asks_in_vain_is_told_with_the_reason() {
        let mut candidates = candidates(&["a 3 - out", "b - 2 out"]);
        let refused =
            [("a".to_owned(), "another key".to_owned()), ("b".to_owned(), "late".to_owned())].into();
        note_refused(&mut candidates, &refused);
        assert_eq!(
            describe(&candidates, "2026-11-16T12:20:00Z".parse().unwrap()),
            "0 of 2 control-plane machines are in; a asks for its certificate, which is refused: another key; b is not ready"
        );
    }

    #[test]
    fn who_is_behind_is_said() {
        let candidates = candidates(&["a 3 - out", "b - 2 out", "c - 1 in"]);
        assert_eq!(
            describe(&candidates, "2026-11-16T12:04:00Z".parse().unwrap()),
            "1 of 3 control-plane machines are in; a waits for its turn; b is not ready"
        );
        assert_eq!(distrust(&[]), None);
        assert!(
            distrust(&["10.0.0.7".parse().unwrap()]).is_some_and(|text| text.starts_with("; 10.0.0.7 does"))
        );
    }
}
