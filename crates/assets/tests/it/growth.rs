//! Twice the machines take twice the time, not four times.

use std::fmt::Write;
use std::time::Duration;

use slipway_testkit::clock::processor_time;

use crate::fixtures::{EVERYTHING, cluster};

/// A cluster whose compute machines all have addresses of their own, and files of their own with them.
pub(crate) fn with_machines(count: usize) -> String {
    let compute = count - 3;
    let (head, _) = EVERYTHING.split_once("    - role: compute\n").unwrap();
    let mut text = head.replace("  replicas: 2\n", &format!("  replicas: {compute}\n"));
    for index in 0..compute {
        let (high, low) = (index / 200 + 2, index % 200 + 1);
        write!(
            text,
            "    - role: compute\n      networkDevice:\n        ipAddrs: [10.30.{high}.{low}/16]\n        \
             gateway: 10.30.0.1\n        nameservers: [10.30.0.2]\n"
        )
        .unwrap();
    }
    text
}

#[test]
fn time_grows_with_the_machines_and_no_faster() {
    let best = |count: usize| -> (Duration, usize) {
        let cluster = cluster(&with_machines(count));
        let mut files = 0;
        let best = (0..5)
            .map(|_| {
                let start = processor_time().unwrap();
                let manifests = slipway_assets::manifests(&cluster).unwrap();
                slipway_assets::ignition(&cluster, &manifests).unwrap();
                files = manifests.len();
                processor_time().unwrap().saturating_sub(start)
            })
            .min();
        (best.unwrap(), files)
    };
    let (few, _) = best(3);
    let (some, _) = best(252);
    let (many, files) = best(501);
    assert!(files > 3 * 498, "a machine, a claim and an address each: {files}");
    let (first_half, second_half) = (some.saturating_sub(few), many.saturating_sub(some));
    assert!(
        second_half < 2 * first_half,
        "3 machines took {few:?}, 252 {some:?}, 501 {many:?}: that is not a straight line"
    );
}
