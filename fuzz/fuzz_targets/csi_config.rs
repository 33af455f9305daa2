//! No text makes the reader of the storage driver's configuration panic or hang, and what is read can be written
//! and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_config::driver_config::csi::read;

fuzz_target!(|text: &str| {
    let reading = read(text);
    assert_eq!(reading.report.source.len(), text.len());
    for finding in &reading.report.findings {
        assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
    }
    if let Some(config) = reading.config {
        let ini = config.to_ini().expect("what was read can be written");
        assert_eq!(read(&ini).config, Some(config));
    }
});
