//! `slipway drivers matrix`.

pub(crate) mod pin;
pub(crate) mod show;
pub(crate) mod sign;
pub(super) mod table;
pub(crate) mod validate;
