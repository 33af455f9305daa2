//! A process may die at any moment.

use crate::bench::Bench;
use crate::crash::dies_everywhere;
use crate::mortal::Moment;

#[test]
fn dies_before_calls() {
    dies_everywhere(&Bench::new("harbour"), Moment::Intended);
}

#[test]
fn dies_after_calls() {
    dies_everywhere(&Bench::new("harbour"), Moment::Performed);
}
