//! What requests may say is what the published model says.

use slipway_testkit::engine::{judge, schema};

#[test]
fn every_field_that_is_accepted_is_in_the_published_model() {
    let judge = judge::published().expect("the model is fetched with the peers");
    let unknown: Vec<_> = schema::fields().filter(|(kind, field)| !judge.has(kind, field)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(schema::fields().count() > 300);
}
