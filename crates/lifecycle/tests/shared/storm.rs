//! An endpoint that fails in every way: the cluster is made, or it is said why not, and nothing is left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_engine::Outcome;
use slipway_lifecycle::install::{Directly, Error, Purpose, Timeouts};
use slipway_lifecycle::platform::StateOf;

use crate::dice::Dice;
use crate::directory::Subject;

/// In a storm; when it is over there is time.
const TIMEOUTS: Timeouts = Timeouts {
    call: Duration::from_secs(2),
    address: Duration::from_secs(3),
    silence: Duration::from_secs(3),
};

/// A cluster whose endpoint can be made to fail.
pub(crate) trait Stormy: Subject {
    /// One more trouble that the dice say.
    fn trouble(&self, dice: &mut Dice);

    /// All troubles are over.
    fn calm(&self);
}

/// What was met and what was made, of all seeds.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    pub(crate) seeds: usize,
    /// Clusters that were made in the storm, without another run.
    pub(crate) made: usize,
}

impl Weather {
    /// The seeds, one after the other, on one endpoint.
    pub(crate) fn of(subject: &impl Stormy, seeds: impl IntoIterator<Item = u64>) -> Self {
        let mut weather = Weather::default();
        let before = subject.contents();
        subject.run(Purpose::Create);
        let whole = subject.contents();
        subject.run(Purpose::Destroy);
        for seed in seeds {
            weather.seeds += 1;
            weather.made += usize::from(one(subject, seed, &before, &whole));
        }
        weather
    }
}

/// One seed. Whether the cluster was made in the storm.
fn one(subject: &impl Stormy, seed: u64, before: &BTreeSet<String>, whole: &BTreeSet<String>) -> bool {
    let mut dice = Dice::new(seed);
    let made = in_storm(subject, Purpose::Create, &mut dice, seed);
    if made {
        let plan = subject.plan(Purpose::Create).unwrap().plan;
        assert!(plan.is_empty(), "seed {seed}: it is not as desired: {plan:#?}");
    }
    // The weather clears up: the same command goes on from there.
    if dice.once_in(2) {
        subject.run(Purpose::Create);
        assert_eq!(subject.contents(), *whole, "seed {seed}");
    }
    if dice.once_in(2) {
        in_storm(subject, Purpose::Destroy, &mut dice, seed);
    }
    match subject.run_with(Purpose::Destroy, &Directly) {
        Ok(outcome) => assert!(outcome.is_done(), "seed {seed}: {:#?}", outcome.ends),
        // Gone already.
        Err(error) => assert!(matches!(error, Error::NothingFound { .. }), "seed {seed}: {error}"),
    }
    assert_eq!(subject.contents(), *before, "seed {seed}");
    made
}

fn in_storm<S: Stormy>(subject: &S, purpose: Purpose, dice: &mut Dice, seed: u64) -> bool {
    for _ in 0..2 + dice.below(3) {
        subject.trouble(dice);
    }
    let result: Result<Outcome<StateOf<S::Spec>>, Error> = subject.run_within(purpose, &Directly, TIMEOUTS);
    subject.calm();
    match result {
        Ok(outcome) => outcome.is_done(),
        Err(error) => {
            assert!(error.hint().is_some(), "seed {seed}: {error}");
            false
        }
    }
}
