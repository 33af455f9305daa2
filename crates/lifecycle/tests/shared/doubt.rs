//! Nothing is removed or made on doubt, on any platform.

use slipway_lifecycle::install::{Directly, Error, Purpose};

use crate::directory::Subject;

/// A cluster with which people meddle.
pub(crate) trait Meddled: Subject {
    /// The whole name of a machine: `master-1`.
    fn machine_name(&self, role: &str) -> String;

    /// The marks of a machine go, by hand.
    fn lose_marks(&self, role: &str);

    /// A machine goes, by hand.
    fn vanish(&self, role: &str);

    /// An object of another user gets the name of one that is to be made. That name.
    fn take_a_name(&self) -> String;
}

pub(crate) fn a_machine_without_marks_keeps_everything_from_going(subject: &impl Meddled) {
    subject.run(Purpose::Create);
    subject.lose_marks("master-1");
    let machine = subject.machine_name("master-1");
    let before = subject.contents();
    let error = subject.run_with(Purpose::Destroy, &Directly).unwrap_err();
    let Error::Unreadable { endpoints } = error else { panic!("{error}") };
    assert!(endpoints.join(" ").contains(&machine), "{endpoints:?}");
    assert_eq!(subject.contents(), before);
    let planned = subject.plan(Purpose::Create).unwrap();
    assert!(planned.plan.steps.is_empty());
    assert!(!planned.plan.unknown.is_empty() || !planned.plan.stops.is_empty());
}

pub(crate) fn a_name_that_is_taken_is_left_alone(subject: &impl Meddled) {
    let name = subject.take_a_name();
    let before = subject.contents();
    let outcome = subject.run_with(Purpose::Create, &Directly).unwrap();
    let taken = outcome.ends.iter().filter(|(id, end)| *id.name == *name && !end.is_done()).count();
    assert!(taken > 0, "{:#?}", outcome.ends);
    subject.run(Purpose::Destroy);
    assert_eq!(subject.contents(), before);
}

pub(crate) fn a_machine_that_vanished_is_not_made_again_unasked(subject: &impl Meddled) {
    let before = subject.contents();
    subject.run(Purpose::Create);
    subject.vanish("master-0");
    let planned = subject.plan(Purpose::Create).unwrap();
    assert!(planned.plan.steps.is_empty(), "{:#?}", planned.plan.steps);
    let told = planned.plan.stops.iter().any(|stop| stop.cause.message.contains("is not there now"));
    assert!(told, "{:#?}", planned.plan.stops);
    subject.run(Purpose::Destroy);
    assert_eq!(subject.contents(), before);
}
