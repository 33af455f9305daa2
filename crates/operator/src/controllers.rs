//! The controllers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`address_pools`] | static addresses for machines, from pools of ours |
//! | [`connections`] | whether vCenters can be used, and if not, why |
//! | [`drivers`] | the cloud provider and the storage driver: installed, healthy, upgraded |
//! | [`checks`] | health checks of vCenters and nodes, again and again |
//! | [`machines`] | Machines become virtual machines, and go with them |
//! | [`csr`] | which certificates nodes may have, and the controller that approves them |
//! | [`objects`] | what connections, drivers and checks all look at |
//! | [`machine_sets`] | as many machines of a set as it says |
//! | [`machine_health_checks`] | machines that are unhealthy are replaced |
//! | [`node_links`] | which node is which machine |
//! | [`drain`] | nodes of machines that are being deleted lose their pods |
//! | [`out_of_service`] | nodes that are dead, by the word of the hypervisor |
//! | [`machine_objects`] | what the controllers of machines all look at |
//! | [`machine_metrics`] | what is counted about sets, health checks, drains and links |
//! | [`machine_conditions`] | conditions as `machine.openshift.io` has them |
//! | [`certificates`] | the certificates of a machine's control plane, renewed in time |
//! | [`control_plane`] | machines of the control plane come in, and leave etcd before they go |

pub mod address_pools;
pub mod certificates;
pub mod checks;
pub mod connections;
pub mod control_plane;
pub mod csr;
pub mod drain;
pub mod drivers;
pub mod machine_conditions;
pub mod machine_health_checks;
pub mod machine_metrics;
pub mod machine_objects;
pub mod machine_sets;
pub mod machines;
pub mod node_links;
pub mod objects;
pub mod out_of_service;
