//! Rules about machines that the operator goes by and the command line foretells.
//!
//! | module | what it holds |
//! |---|---|
//! | [`names`] | labels, annotations, phases and conditions of machines |
//! | [`deletion`] | which machines of a set go first |
//! | [`domain`] | the failure domain of a machine |
//! | [`pods`] | which pods have to leave a node that is drained |
//! | [`disruption`] | which of them a disruption budget would keep there |
//! | [`time`] | times as Go writes them |

pub mod deletion;
pub mod disruption;
pub mod domain;
pub mod names;
pub mod pods;
pub mod time;
