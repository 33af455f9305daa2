//! What serves machines.
//!
//! | module | what it holds |
//! |---|---|
//! | [`machine_config`] | hands machines their Ignition configurations, to those that know the token |

pub mod machine_config;
