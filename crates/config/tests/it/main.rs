//! The install-config from outside: what is found in it, and what it becomes.

mod estate;
mod judge;
mod limits;
mod mutations;
mod resolved;
mod rules;
