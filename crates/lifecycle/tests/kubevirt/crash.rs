//! A process may die at any moment: the next one goes on, with no second copy and nothing lost.

use slipway_lifecycle::install::Purpose;

use crate::bench::{Bench, Tenancy};
use crate::mortal::Moment;

/// Creates and destroys, and dies once at every step of both, before or after the call.
fn dies_everywhere(moment: Moment) {
    // Two machines have every kind of step that five have.
    let small = |text: String| text.replace("name: master, replicas: 3", "name: master, replicas: 1");
    let bench = Bench::edited(Tenancy::new(), "harbour", small).unwrap();
    let steps = bench.run(Purpose::Create);
    let whole = bench.tenancy.contents();
    bench.run(Purpose::Destroy);
    let mut at = 0;
    loop {
        let died = bench.die_at(Purpose::Create, at, moment);
        bench.run(Purpose::Create);
        assert_eq!(bench.tenancy.contents(), whole, "{moment:?} {at}");
        let died_again = bench.die_at(Purpose::Destroy, at, moment);
        bench.run(Purpose::Destroy);
        assert!(bench.tenancy.contents().is_empty(), "{moment:?} {at}");
        if !died && !died_again {
            break;
        }
        at += 1;
    }
    assert!(at >= steps, "{at} of {steps}");
}

#[test]
fn dies_before_calls() {
    dies_everywhere(Moment::Intended);
}

#[test]
fn dies_after_calls() {
    dies_everywhere(Moment::Performed);
}
