//! Hands machines their Ignition configurations.
//!
//! A machine's pointer configuration names this server, the authority that vouches for it and a token; the server
//! answers `/config/<role>` in the version of Ignition's specification that the machine asks for.
//!
//! | module | what it holds |
//! |---|---|
//! | [`role`] | names of roles, which are names of files as well |
//! | [`spec`] | versions of the specification, and configurations turned from one into another |
//! | [`accept`] | which version a request asks for |
//! | [`token`] | what a request must know |
//! | [`source`] | where configurations come from |
//! | [`directory`] | a directory as a source |
//! | [`cluster`] | a running cluster as a source |
//! | [`joining`] | the token that a machine joins with, fresh when a cluster hands it out |
//! | [`rotate`](mod@rotate) | new tokens in a running cluster |
//! | [`answer`] | a request's answer, and its name in logs and metrics |
//! | [`metrics`] | how often each answer was given |
//! | `throttle` | lines of the log that anybody can cause |
//! | [`routes`] | the paths that are served |

pub mod accept;
pub mod answer;
pub mod cluster;
pub mod directory;
pub mod joining;
pub mod metrics;
pub mod role;
pub mod rotate;
pub mod routes;
pub mod source;
pub mod spec;
mod throttle;
pub mod token;
