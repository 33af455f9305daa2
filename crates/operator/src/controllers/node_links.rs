//! Which node is which machine: by the provider's id, and else by an address. What is not certain is told, never guessed.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | the links, and what a node is to have of its machine. Pure |
//! | `controller` | the loop |

mod controller;
mod decide;

pub use controller::{Settings, run};
