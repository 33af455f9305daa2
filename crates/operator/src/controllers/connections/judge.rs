//! From what was seen to conditions and a status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_api::slipway::VSphereConnectionStatus;
use slipway_api::slipway::condition::{AUTHENTICATED, AUTHORIZED, REACHABLE, READY};
use slipway_api::slipway::connection::MissingPrivileges;

use super::observe::Observed;
use super::problem::Problem;
use crate::runtime::conditions::{ConditionStatus, ConditionUpdate, merge};

/// The status of a connection after a look.
pub fn judge(
    seen: &Observed,
    before: &VSphereConnectionStatus,
    generation: Option<i64>,
    now: Timestamp,
    next: Timestamp,
) -> VSphereConnectionStatus {
    let about = seen.about.as_ref();
    // What it was is better known than nothing while it cannot be asked.
    let text = |new: Option<&String>, old: &Option<String>| new.cloned().or_else(|| old.clone());
    VSphereConnectionStatus {
        observed_generation: generation,
        conditions: conditions(seen, &before.conditions, generation, now),
        version: text(about.map(|about| &about.version), &before.version),
        api_version: text(about.map(|about| &about.api_version), &before.api_version),
        build: text(about.map(|about| &about.build), &before.build),
        instance_uuid: text(about.map(|about| &about.instance_uuid), &before.instance_uuid),
        user: seen.user.clone(),
        credentials_version: match seen.user {
            Some(_) => seen.credentials_version.clone(),
            // They may still be good: the vCenter was not asked, or not reached.
            None => before.credentials_version.clone().filter(|_| before.observed_generation == generation),
        },
        missing_privileges: missing(&seen.problems),
        last_validation: Some(Time(now)),
        next_validation: Some(Time(next)),
    }
}

fn missing(problems: &[Problem]) -> Vec<MissingPrivileges> {
    let lists = problems.iter().filter_map(|problem| match problem {
        Problem::PrivilegeMissing(missing) => Some(missing.clone()),
        _ => None,
    });
    lists.flatten().take(100).collect()
}

fn conditions(
    seen: &Observed,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let good = [
        (REACHABLE, "Answers", "the vCenter answers, and its certificate is the expected one"),
        (AUTHENTICATED, "LoggedIn", "the user can log in"),
        (AUTHORIZED, "Sufficient", "the user has the privileges that are needed"),
    ];
    let mut verdicts = Vec::new();
    let mut blocked = false;
    for (about, reason, message) in good {
        let of: Vec<&Problem> = seen.problems.iter().filter(|problem| problem.condition() == about).collect();
        verdicts.push(match of.first() {
            Some(first) => ConditionUpdate::new(about, false, first.reason(), words(&of)),
            None if blocked => ConditionUpdate::new(
                about,
                ConditionStatus::Unknown,
                "NotChecked",
                "not checked: the step before it failed",
            ),
            None => ConditionUpdate::new(about, true, reason, message),
        });
        blocked |= !of.is_empty();
    }
    let all: Vec<&Problem> = seen.problems.iter().collect();
    verdicts.push(match all.first() {
        Some(first) => ConditionUpdate::new(READY, false, first.reason(), words(&all)),
        None => ConditionUpdate::new(READY, true, "Valid", "the drivers can use this connection"),
    });
    merge(before, verdicts, generation, now)
}

/// All problems, each with its cure.
fn words(problems: &[&Problem]) -> String {
    let each = problems.iter().map(|problem| format!("{problem}; {}", problem.remedy()));
    each.collect::<Vec<_>>().join(". ")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use slipway_api::slipway::VSphereConnectionStatus;
    use slipway_api::slipway::condition::OF_CONNECTION;
    use slipway_api::slipway::connection::MissingPrivileges;

    use super::judge;
    use crate::controllers::connections::observe::Observed;
    use crate::controllers::connections::problem::Problem;

    fn lacks() -> Problem {
        let privileges = vec!["Cns.Searchable".to_owned()];
        Problem::PrivilegeMissing(vec![MissingPrivileges { object: "/".to_owned(), privileges }])
    }

    #[rstest]
    #[case::good(vec![], ["True", "True", "True", "True"], "Valid")]
    #[case::gone(vec![Problem::Unreachable("x".into())], ["False", "Unknown", "Unknown", "False"], "Unreachable")]
    #[case::password(vec![Problem::InvalidLogin("x".into())], ["True", "False", "Unknown", "False"], "InvalidLogin")]
    #[case::privilege(vec![lacks()], ["True", "True", "False", "False"], "PrivilegeMissing")]
    #[case::both(
        vec![Problem::Unreachable("x".into()), Problem::CredentialsMissing("s".into())],
        ["False", "False", "Unknown", "False"], "Unreachable",
    )]
    fn conditions(#[case] problems: Vec<Problem>, #[case] expected: [&str; 4], #[case] reason: &str) {
        let seen = Observed { problems, ..Observed::default() };
        let now = Timestamp::UNIX_EPOCH;
        let status = judge(&seen, &VSphereConnectionStatus::default(), Some(3), now, now);
        let found: Vec<(&str, &str)> =
            status.conditions.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect();
        let expected: Vec<(&str, &str)> = OF_CONNECTION.into_iter().zip(expected).collect();
        assert_eq!(found, expected);
        assert_eq!(status.conditions[3].reason, reason);
        for problem in &seen.problems {
            assert!(status.conditions[3].message.contains(&*problem.remedy()), "all of them are named");
        }
    }
}
