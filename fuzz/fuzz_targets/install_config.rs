//! No text makes the install-config loader panic or hang, and places always lie in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_config::install_config::load;

fuzz_target!(|text: &str| {
    let loaded = load(text);
    assert_eq!(loaded.config.is_none(), loaded.report.has_errors());
    assert_eq!(loaded.report.source.len(), text.len());
    for finding in &loaded.report.findings {
        assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
    }
});
