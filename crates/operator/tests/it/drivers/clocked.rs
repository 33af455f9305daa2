//! What looks at the clock, and waits most of the time: `cargo xtask test` runs nothing beside it but more of that.

mod trouble;
