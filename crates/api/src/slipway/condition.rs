//! Types of conditions. Every condition carries `observedGeneration`; there are no phases.

/// Of a connection: the server answers, and its certificate is the expected one.
pub const REACHABLE: &str = "Reachable";
/// Of a connection: the user can log in.
pub const AUTHENTICATED: &str = "Authenticated";
/// Of a connection: the user has the privileges, and the objects exist.
pub const AUTHORIZED: &str = "Authorized";
/// Of a connection: all of these.
pub const READY: &str = "Ready";

/// Of the drivers, and of each: they serve.
pub const AVAILABLE: &str = "Available";
/// Of the drivers, and of each: something is being rolled out.
pub const PROGRESSING: &str = "Progressing";
/// Of the drivers, and of each: something is wrong, whether or not they still serve.
pub const DEGRADED: &str = "Degraded";
/// Of the drivers, and of each: a newer version may be installed.
pub const UPGRADEABLE: &str = "Upgradeable";

/// Of the health checks: the storage driver may be installed where it is not yet.
pub const INSTALLABLE: &str = "Installable";

/// The types of a connection, in the order they are found out.
pub const OF_CONNECTION: [&str; 4] = [REACHABLE, AUTHENTICATED, AUTHORIZED, READY];
/// The types of the drivers.
pub const OF_DRIVERS: [&str; 4] = [AVAILABLE, PROGRESSING, DEGRADED, UPGRADEABLE];
