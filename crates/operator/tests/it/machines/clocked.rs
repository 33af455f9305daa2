//! What looks at the clock.

mod scale;
