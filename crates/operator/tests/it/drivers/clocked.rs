//! What looks at the clock: `cargo xtask test` runs nothing beside it.

mod trouble;
