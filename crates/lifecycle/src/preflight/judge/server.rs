//! The vCenter itself: its version and its clock.

use std::cmp::Ordering;

use crate::preflight::estate::{Clocks, Depth, Estate};
use crate::preflight::report::{Check, Finding};

/// From this difference on it should be known, and from the second on machines refuse certificates of others.
pub(crate) const NOTABLE_SECONDS: i64 = 60;
pub(crate) const BREAKING_SECONDS: i64 = 300;

/// The first version and builds that work, as OpenShift's installer has them.
const OLDEST: [u32; 3] = [7, 0, 2];
const OLDEST_BUILD_OF_7: u64 = 17_694_817;
const OLDEST_BUILD_SINCE_8: u64 = 20_519_528;

pub(super) fn judge(estate: &Estate) -> Vec<Finding> {
    let mut findings = vec![version(&estate.version, &estate.build)];
    match estate.clock {
        Some(clocks) => findings.push(clock(clocks)),
        None if estate.depth >= Depth::Clock => {
            let message = "the vCenter did not say what time it is";
            findings.push(Finding::unknown(Check::Clock, "clock", message));
        }
        None => {}
    }
    findings
}

fn version(version: &str, build: &str) -> Finding {
    let check = Check::VCenterVersion;
    let (Some(number), Ok(built)) = (numbers(version), build.parse::<u64>()) else {
        let message = format!("the version `{version}`, build `{build}`, cannot be understood");
        return Finding::unknown(check, version, message);
    };
    let named = format!("vCenter {version}, build {build}");
    if number < OLDEST {
        return Finding::failure(
            check,
            version,
            format!("{named}, is too old: 7.0.2 is the first that works"),
        )
        .remedy("upgrade the vCenter to 8.0 or later");
    }
    let oldest = if number[0] == 7 { OLDEST_BUILD_OF_7 } else { OLDEST_BUILD_SINCE_8 };
    if built < oldest {
        return Finding::failure(
            check,
            version,
            format!("{named}, is too old: build {oldest} is the first that works"),
        )
        .remedy("install the vCenter's updates");
    }
    if number[0] == 7 {
        return Finding::warning(check, version, format!("{named}, is no longer maintained by its vendor"))
            .remedy("upgrade the vCenter to 8.0 or later");
    }
    Finding::pass(check, version, named)
}

fn clock(Clocks { theirs, ours }: Clocks) -> Finding {
    let difference = theirs.duration_since(ours).as_secs();
    let direction = match difference.cmp(&0) {
        Ordering::Less => "behind",
        Ordering::Equal | Ordering::Greater => "ahead of",
    };
    let seconds = difference.abs();
    if seconds <= NOTABLE_SECONDS {
        return Finding::pass(Check::Clock, "clock", "the clock agrees with the one here");
    }
    let message = format!("the clock is {seconds} seconds {direction} the one here");
    let remedy = "make vCenter, ESXi hosts and this machine follow the same time servers";
    if seconds > BREAKING_SECONDS {
        let message = format!("{message}: certificates are refused when clocks differ that much");
        return Finding::failure(Check::Clock, "clock", message).remedy(remedy);
    }
    Finding::warning(Check::Clock, "clock", message).remedy(remedy)
}

/// The first three numbers of a version; what is missing is zero.
pub(crate) fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    for (number, text) in numbers.iter_mut().zip(version.split('.')) {
        *number = text.parse().ok()?;
    }
    Some(numbers)
}
