//! A process may die at any moment.

use crate::bench::{Bench, Tenancy};
use crate::crash::dies_everywhere;
use crate::mortal::Moment;

/// Two machines have every kind of step that five have.
fn small() -> Bench {
    let edit = |text: String| text.replace("name: master, replicas: 3", "name: master, replicas: 1");
    Bench::edited(Tenancy::new(), "harbour", edit).unwrap()
}

#[test]
fn dies_before_calls() {
    dies_everywhere(&small(), Moment::Intended);
}

#[test]
fn dies_after_calls() {
    dies_everywhere(&small(), Moment::Performed);
}
