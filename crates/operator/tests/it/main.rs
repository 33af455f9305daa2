//! The operator beside real clients, validators and API servers.

mod attacks;
mod machine_config;
mod served;
