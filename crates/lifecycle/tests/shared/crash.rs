//! A process may die at any moment: the next one goes on, with no second copy and nothing lost.

use slipway_lifecycle::install::Purpose;

use crate::directory::Subject;
use crate::mortal::Moment;

/// Creates and destroys, and dies once at every step of both, before or after the call.
pub(crate) fn dies_everywhere(subject: &impl Subject, moment: Moment) {
    let before = subject.contents();
    let steps = subject.run(Purpose::Create);
    let whole = subject.contents();
    subject.run(Purpose::Destroy);
    let mut at = 0;
    loop {
        let died = subject.die_at(Purpose::Create, at, moment);
        subject.run(Purpose::Create);
        assert_eq!(subject.contents(), whole, "{moment:?} {at}");
        let died_again = subject.die_at(Purpose::Destroy, at, moment);
        subject.run(Purpose::Destroy);
        assert_eq!(subject.contents(), before, "{moment:?} {at}");
        if !died && !died_again {
            break;
        }
        at += 1;
    }
    assert!(at >= steps, "{at} of {steps}");
}
