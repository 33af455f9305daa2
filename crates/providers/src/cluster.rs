//! A Kubernetes cluster: connecting, calls with a deadline, applying objects, and what goes wrong as types.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connect`](mod@connect) | a client from a kubeconfig, or from a pod's own account |
//! | [`call`](mod@call) | calls with a deadline |
//! | [`apply`](mod@apply) | server-side apply, and merge patches |
//! | [`kinds`] | plurals and scopes of kinds, as the API server has them |
//! | [`error`] | what can go wrong, and whether to try again |

pub mod apply;
pub mod call;
pub mod connect;
pub mod error;
pub mod kinds;

pub use self::apply::{
    Applier, Manager, apply, apply_status, is_applied_by, manager_name, merge, merge_part, merged,
};
pub use self::call::{CALL_TIMEOUT, call, call_within, or_absent};
pub use self::connect::{client_of, config_of, connect, connect_within};
pub use self::error::{AccessError, Cause, Retry};
pub use self::kinds::{Kinds, api_of, resource};
