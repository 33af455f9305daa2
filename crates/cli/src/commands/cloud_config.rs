//! `slipway cloud-config`.

pub(crate) mod convert;
pub(crate) mod validate;
