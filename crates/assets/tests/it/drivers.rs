//! The drivers: our own kinds, and the objects that are made from them.

mod kinds;
