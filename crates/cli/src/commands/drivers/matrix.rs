//! `slipway drivers matrix`.

pub(crate) mod show;
mod table;
pub(crate) mod validate;
