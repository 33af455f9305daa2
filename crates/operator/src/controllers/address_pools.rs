//! Gives the addresses of AddressPools to the claims of machines, for clusters that have no other program for it.
//!
//! An address is an IPAddress object whose name follows from pool and address: the API server gives each name once, and so each address,
//! whatever a copy says. When its claim has gone it rests, marked with the time, before it is given out again.
//!
//! | module | what it holds |
//! |---|---|
//! | `range` | the addresses of a pool. Pure |
//! | `decide` | which claim is given which address, and which addresses rest. Pure |
//! | `controller` | the loop |

mod controller;
mod decide;
mod range;

pub use controller::{Settings, run};
