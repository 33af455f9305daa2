//! The vCenter itself: its version and its clock.

use crate::preflight::report::{Check, Finding};
use crate::vsphere::clock;
use crate::vsphere::preflight::snapshot::{Depth, VCenterSnapshot};
use crate::vsphere::version::{UPGRADE, maintained, numbers};

/// The first version and builds that work, as OpenShift's installer has them.
const OLDEST: [u32; 3] = [7, 0, 2];
const OLDEST_BUILD_OF_7: u64 = 17_694_817;
const OLDEST_BUILD_SINCE_8: u64 = 20_519_528;

pub(super) fn judge(snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let mut findings = vec![version(&snapshot.version, &snapshot.build)];
    if snapshot.depth >= Depth::Clock {
        findings.push(Finding::judged(Check::Clock, "clock", clock::judge(snapshot.clock)));
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
        .remedy(UPGRADE);
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
    Finding::judged(check, version, maintained(number, named))
}
