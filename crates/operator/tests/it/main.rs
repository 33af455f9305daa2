//! The operator beside real clients, validators and API servers.

mod approver;
mod attacks;
mod machine_config;
mod served;
