//! The controllers of machines on a real API server, each with the rights that are shipped for it and no others.

mod address_pools;
mod drain;
mod fuse;
mod harness;
mod health_checks;
mod links;
mod out_of_service;
mod outage;
mod sets;
