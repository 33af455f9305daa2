//! Whether a vCenter's clock agrees with ours.

use jiff::Timestamp;
use slipway_providers::vsphere::soap::Body;
use slipway_providers::vsphere::{Client, Error, Reference};

use crate::finding::Judgement;
use crate::runner::Clock;

/// From this difference on it should be known, and from the second on machines refuse certificates of others.
const NOTABLE_SECONDS: i64 = 60;
const BREAKING_SECONDS: i64 = 300;

/// What two clocks said at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    pub theirs: Timestamp,
    pub ours: Timestamp,
}

/// What time it is there, and here.
pub(crate) async fn read(client: &Client, clock: &Clock) -> Result<Option<Clocks>, Error> {
    let instance = client.moref(Reference::new("ServiceInstance", "ServiceInstance"));
    let before = clock();
    let reply = client.read(&instance, "CurrentTime", &Body::new()).await?;
    let after = clock();
    let theirs: Option<Timestamp> = reply.text_of("returnval").parse().ok();
    let ours = before.checked_add(after.duration_since(before) / 2).unwrap_or(after);
    Ok(theirs.map(|theirs| Clocks { theirs, ours }))
}

pub(crate) fn judge(clocks: Option<Clocks>) -> Judgement {
    let Some(Clocks { theirs, ours }) = clocks else {
        return Judgement::unknown("the vCenter did not say what time it is");
    };
    let difference = theirs.duration_since(ours).as_secs();
    let seconds = difference.abs();
    if seconds <= NOTABLE_SECONDS {
        return Judgement::pass("the clock agrees with the one here");
    }
    let direction = if difference < 0 { "behind" } else { "ahead of" };
    let message = format!("the clock is {seconds} seconds {direction} the one here");
    let remedy = "make vCenter, ESXi hosts, nodes and this machine follow the same time servers";
    if seconds > BREAKING_SECONDS {
        let message = format!("{message}: certificates and tokens are refused when clocks differ that much");
        return Judgement::failure(message).remedy(remedy);
    }
    Judgement::warning(message).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use rstest::rstest;

    use super::{Clocks, judge};
    use crate::finding::Outcome;

    #[rstest]
    #[case(0, Outcome::Pass)]
    #[case(60, Outcome::Pass)]
    #[case(-61, Outcome::Warning)]
    #[case(300, Outcome::Warning)]
    #[case(-301, Outcome::Failure)]
    fn differences(#[case] seconds: i64, #[case] outcome: Outcome) {
        let ours = Timestamp::UNIX_EPOCH;
        let judged = judge(Some(Clocks { theirs: ours + SignedDuration::from_secs(seconds), ours }));
        assert_eq!(judged.outcome, outcome);
        let direction = if seconds < 0 { "behind" } else { "ahead of" };
        assert!(outcome == Outcome::Pass || judged.message.contains(direction), "{judged:?}");
    }
}
