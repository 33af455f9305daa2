//! SOAP messages: what is sent and what comes back.

pub mod body;
pub mod element;

pub use body::Body;
pub use element::{Element, Malformed};
