//! The drivers: our own kinds, and the objects that are made from them.

mod apply;
mod compare;
mod differences;
mod estate;
mod kinds;
mod manager;
mod manifests;
mod objects;
mod operator;
