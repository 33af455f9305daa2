//! The command as its users run it: whole runs, with everything they print.

mod explain;
mod files;
mod run;
mod schema;
mod shells;
mod validate;
