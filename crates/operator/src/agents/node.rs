//! Virtual addresses, the API's balancer and names on this machine, kept up to date with the machines there are.
//!
//! | module | what it holds |
//! |---|---|
//! | [`local_network`] | this machine's interface, addresses and DNS servers |
//! | [`nodes`] | machines from Node objects |
//! | [`machine_files`] | configurations and static pods on the disk, and who is told |
//! | [`mod@follow`] | the loop on a machine of the cluster |

pub mod follow;
pub mod local_network;
pub mod machine_files;
pub mod nodes;

pub use follow::follow;
pub use local_network::LocalNetwork;
pub use machine_files::MachineFiles;

/// Why a machine's files cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OnpremError {
    #[error(transparent)]
    Files(#[from] std::io::Error),
    #[error(transparent)]
    Invalid(#[from] slipway_assets::onprem::Invalid),
    #[error("this machine has no address in the families of the virtual addresses")]
    NoAddress,
    #[error("no network interface has the address {0}")]
    NoInterface(std::net::IpAddr),
}
