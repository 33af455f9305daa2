//! Starts the third-party servers that tests run against. For tests only.
//!
//! | module | what it holds |
//! |---|---|
//! | [`peers`] | what the servers are, how they are built, where they are found |
//! | [`control_plane`] | etcd and a Kubernetes API server, with controllers, scheduler and kwok if asked |
//! | [`vcenter`] | simulated vCenters, with inventories, faults and a log of requests |
//! | [`estate`] | inventories for them, and install-configs that fit |
//! | [`ccm`] | the vSphere cloud controller manager |
//! | [`cluster_api`] | Cluster API and its vSphere provider |
//! | [`engine`] | a simulated oVirt engine, with its API, faults and a log of requests |
//! | [`kubevirt`] | a stand-in for what moves KubeVirt's objects on |
//! | [`lab`] | machines that boot, and a switch between them |
//! | [`proxy`] | an HTTP proxy |
//! | [`registry`] | a registry with images |
//! | [`reader`] | the drivers' own configuration readers |
//! | [`clock`] | time that other tests do not disturb |
//! | [`nodes`] | nodes as their kubelets register them |
//! | [`ova`] | appliances to import |
//! | [`python`] | the official clients of vSphere and oVirt |
//! | [`network`] | free ports, and private networks in which servers have names and any port |
//! | [`process`], [`scratch`], [`pki`], [`kubectl`] | what these are made of |

pub mod ccm;
pub mod clock;
pub mod cluster_api;
pub mod control_plane;
mod dialogue;
pub mod engine;
pub mod estate;
pub mod kubectl;
pub mod kubevirt;
pub mod lab;
pub mod network;
pub mod nodes;
pub mod ova;
pub mod peers;
pub mod pki;
pub mod process;
pub mod proxy;
pub mod python;
pub mod reader;
pub mod registry;
pub mod scratch;
pub mod vcenter;
