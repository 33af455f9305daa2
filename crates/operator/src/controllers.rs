//! The controllers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connections`] | whether vCenters can be used, and if not, why |
//! | [`drivers`] | the cloud provider and the storage driver: installed, healthy, upgraded |
//! | [`checks`] | health checks of vCenters and nodes, again and again |
//! | [`csr`] | which certificates nodes may have, and the controller that approves them |
//! | [`objects`] | what connections, drivers and checks all look at |
//! | [`certificates`] | the certificates of a machine's control plane, renewed in time |

pub mod certificates;
pub mod checks;
pub mod connections;
pub mod csr;
pub mod drivers;
pub mod objects;
