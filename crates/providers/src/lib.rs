//! Clients of the platforms clusters run on: sessions, batches, and faults as types.
//!
//! | module | platform |
//! |---|---|
//! | [`vsphere`] | vCenter, by SOAP and REST |

pub mod vsphere;
