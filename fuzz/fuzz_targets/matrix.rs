//! No text makes the reader of compatibility matrices panic or hang, and whatever is read yields a choice that fits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_config::matrix::{Driver, Environment, Policy, Release, choose, read};

fuzz_target!(|text: &str| {
    let reading = read(text);
    assert_eq!(reading.report.source.len(), text.len());
    for finding in &reading.report.findings {
        assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
    }
    let Some(matrix) = reading.matrix else { return };
    let environment = Environment {
        kubernetes: Release::new(1, 34, 4),
        vcenters: vec![Release::new(8, 0, 3), Release::new(7, 0, 3)],
        policy: Policy::Latest,
        pinned: None,
        deployed: None,
    };
    for driver in Driver::ALL {
        if let Some(row) = choose(&matrix, driver, &environment).row {
            assert!(row.kubernetes.contains(environment.kubernetes) && row.blocked.is_none());
            assert!(environment.vcenters.iter().all(|vcenter| row.vsphere.contains(*vcenter)));
        }
    }
});
