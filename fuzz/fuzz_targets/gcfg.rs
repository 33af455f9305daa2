//! No text makes the INI parser panic or hang, places lie in the text, and what is read can be written and read
//! again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_config::gcfg::{File, Writer, parse};

fuzz_target!(|text: &str| {
    let file = match parse(text) {
        Ok(file) => file,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset), "{error:?}");
            return;
        }
    };
    for section in &file.sections {
        assert!(text[section.offset..].starts_with('['), "{section:?}");
        for variable in &section.variables {
            assert!(text[variable.offset..].starts_with(&variable.name), "{variable:?}");
            assert!(text.get(variable.value_span.clone()).is_some(), "{variable:?}");
        }
    }
    if let Some(again) = rewritten(&file) {
        assert_eq!(content(&parse(&again).expect("what was written can be read")), content(&file));
    }
});

/// The file in our own writing, unless it has a name without a value, which we never write.
fn rewritten(file: &File) -> Option<String> {
    let mut writer = Writer::default();
    for section in &file.sections {
        writer.section(&section.name, section.subsection.as_deref()).ok()?;
        for variable in &section.variables {
            writer.variable(&variable.name, variable.value.as_deref()?).ok()?;
        }
    }
    Some(writer.finish())
}

/// Everything but the places.
fn content(file: &File) -> Vec<(&str, Option<&str>, Vec<(&str, Option<&str>)>)> {
    let sections = file.sections.iter().map(|section| {
        let variables = section.variables.iter();
        let variables = variables.map(|variable| (variable.name.as_str(), variable.value.as_deref()));
        (section.name.as_str(), section.subsection.as_deref(), variables.collect())
    });
    sections.collect()
}
