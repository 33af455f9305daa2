//! Machines on a real API server with OpenShift's own definition, beside simulated vCenters, with exactly the rights that are
//! shipped.

mod clocked;
mod crashes;
mod days;
mod faults;
mod gate;
mod life;
mod shape;
mod world;
