//! The INI dialect, beside gcfg itself.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use slipway_config::gcfg;
use slipway_testkit::reader::Reader;

use crate::samples::{awkward, matching, samples};

/// Lines that are mostly right, so that whole files are read, and now and then quite wrong.
fn texts() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        3 => awkward(),
        2 => awkward().prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))),
        1 => awkward().prop_map(|text| format!("\"{text}\"")),
        1 => matching("[a-z \"\\\\nt#;\r]{0,12}"),
    ];
    let name = prop_oneof![4 => matching("[a-zA-Z][a-zA-Z0-9-]{0,8}"), 1 => matching("[a-zäß日0-9-]{1,4}")];
    let line = prop_oneof![
        4 => (name.clone(), value).prop_map(|(name, value)| format!("{name} = {value}")),
        1 => name.clone(),
        2 => name.clone().prop_map(|name| format!("[{name}]")),
        2 => (name, awkward()).prop_map(|(name, sub)| format!("[{name} \"{}\"]", sub.replace('\n', ""))),
        1 => awkward().prop_map(|text| format!("; {}", text.replace('\n', ""))),
        1 => Just(String::new()),
        1 => matching("[\\[\\]\"= ;#a\\\\\r]{0,6}"),
    ];
    (vec(line, 0..8), any::<bool>()).prop_map(|(lines, headed)| {
        let text = lines.join("\n");
        if headed { format!("[Global]\n{text}") } else { text }
    })
}

fn ours(text: &str) -> Option<Value> {
    let file = gcfg::parse(text).ok()?;
    let variable = |variable: &gcfg::Variable| json!({"name": variable.name, "value": variable.value});
    let sections = file.sections.iter().map(|section| {
        json!({
            "section": section.name,
            "subsection": section.subsection.as_deref().unwrap_or_default(),
            "variables": section.variables.iter().map(variable).collect::<Vec<_>>(),
        })
    });
    Some(json!({"sections": sections.collect::<Vec<_>>()}))
}

#[test]
fn reads_what_gcfg_reads() {
    let texts = samples(texts());
    let answers = Reader::start("cpi-reader").unwrap().read_all("gcfg", &texts).unwrap();
    let mut accepted = 0;
    for (text, answer) in texts.iter().zip(&answers) {
        let theirs = answer.ok.then(|| answer.value.clone());
        assert_eq!(ours(text), theirs, "{text:?}: gcfg says {:?}", answer.error);
        accepted += usize::from(answer.ok);
    }
    println!("gcfg: {} texts, {accepted} of them valid, all read alike", texts.len());
    assert!(
        accepted > texts.len() / 10 && accepted < texts.len() * 9 / 10,
        "{accepted} valid of {}",
        texts.len()
    );
}
