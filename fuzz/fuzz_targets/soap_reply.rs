//! No reply makes the reader panic or hang, whatever fault it claims to be, and what was read can be sent back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slipway_providers::vim::fault::Fault;
use slipway_providers::vim::moref::Reference;
use slipway_providers::vim::soap::{Body, Element, element};

fuzz_target!(|xml: &[u8]| {
    let Ok(root) = element::parse(xml) else { return };
    visit(&root, 0);
    let _ = format!("{:?}", Body::new().echo("echo", &root));
});

fn visit(element: &Element, depth: usize) {
    assert!(depth < 100, "what nests deeper is refused");
    assert!(element.children.is_empty() || element.text.is_empty(), "an element has text or children");
    for fault in [Fault::of_message(element), Fault::of_method(element)] {
        let _ = (fault.to_string(), fault.is_transient());
    }
    let _ = (element.integer("field"), element.boolean("field"), Reference::of(element).to_string());
    for child in &element.children {
        visit(child, depth + 1);
    }
}
