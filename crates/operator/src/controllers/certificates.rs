//! The certificates of a machine's control plane: `slipway-operator certificates`.
//!
//! kubeadm makes them for a year, and renews them only when it is told to. Each control-plane machine looks at its own; when
//! one comes to its end, the machine waits for its turn, has kubeadm renew all of them, and the kubelet start the pods anew.
//!
//! | module | what it holds |
//! |---|---|
//! | [`look`] | until when certificates are good |
//! | [`pods`] | the control plane's static pods |
//! | [`renewal`] | what is remembered of a renewal that has begun |
//! | [`neighbours`] | whether the whole control plane is well |
//! | [`renewer`] | the loop |

pub mod look;
pub mod neighbours;
pub mod pods;
pub mod renewal;
pub mod renewer;

pub use neighbours::{ControlPlane, Neighbours};
pub use renewer::{Metrics, Renewer};
