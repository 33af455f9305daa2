//! The messages of vCenter's API, which calls itself VIM: built and read, without anybody to send them to.
//!
//! | module | what it holds |
//! |---|---|
//! | [`soap`] | replies as a tree of elements, requests through an escaping builder |
//! | [`fault`] | what went wrong, as types |
//! | [`moref`] | references to managed objects, with their vCenter |
//! | [`paths`] | names and inventory paths |

pub mod fault;
pub mod moref;
pub mod paths;
pub mod soap;
