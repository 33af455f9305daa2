//! What users of Slipway write, and the rules about it. No I/O, no Kubernetes types.
//!
//! | module | what it holds |
//! |---|---|
//! | [`install_config`] | the install-config, one module per section and platform |
//! | [`driver_config`] | the cloud provider's and the storage driver's configuration files |
//! | [`matrix`] | which versions of the drivers go with which Kubernetes and vCenters |
//! | [`placement`] | which machine goes to which failure domain |
//! | [`gcfg`] | the INI dialect of the vSphere drivers |
//! | [`private_url`], [`secret`] | what is not shown |
//! | [`logins`] | logins for registries, as podman and docker keep them |
//! | [`features`] | feature sets and gates |
//! | [`findings`] | problems with place and cure, and the rules they come from |
//! | [`shape`] | field tables, `explain` look-ups, JSON Schema |
//! | [`decode`] | from YAML nodes to typed values |
//! | [`yaml`] | YAML as nodes that remember their place |
//! | [`names`], [`net`], [`quantity`], [`inventory`], [`ids`] | the value types |

pub mod decode;
pub mod driver_config;
pub mod features;
pub mod findings;
pub mod gcfg;
pub mod ids;
pub mod install_config;
pub mod inventory;
pub mod logins;
pub mod matrix;
pub mod names;
pub mod net;
pub mod placement;
pub mod private_url;
pub mod quantity;
pub mod secret;
pub mod shape;
pub mod yaml;
