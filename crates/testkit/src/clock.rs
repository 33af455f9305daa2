//! Time that other tests do not disturb.

use std::time::Duration;

use anyhow::Context;

/// The processor time of this thread.
pub fn processor_time() -> anyhow::Result<Duration> {
    let stat = fs_err::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = stat.split(' ').next().context("no figures of this thread")?;
    Ok(Duration::from_nanos(nanoseconds.parse().context("the processor time")?))
}
