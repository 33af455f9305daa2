//! No text makes the readers of cloud configs panic or hang, and what is read can be written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_config::driver_config::cloud::read;

fuzz_target!(|text: &str| {
    let reading = read(text);
    assert_eq!(reading.report.source.len(), text.len());
    for finding in &reading.report.findings {
        assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
    }
    if let Some(config) = reading.config {
        let mut expected = config.clone();
        expected.legacy = Default::default();
        assert_eq!(read(&config.to_yaml()).config, Some(expected));
        if let Ok(ini) = config.to_ini() {
            assert_eq!(read(&ini).config, Some(config));
        }
    }
});
