//! The operator on a real control plane with controllers, scheduler and kwok, with exactly the rights that are shipped,
//! beside simulated vCenters, the real cloud controller manager and the storage driver's own reader.

mod checked;
mod clocked;
mod estate;
mod installed;
mod memory;
mod process;
mod published;
mod upgraded;
