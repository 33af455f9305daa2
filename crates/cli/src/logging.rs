//! What is logged, and how much of it.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::LogLevel;

/// Logs go to standard error. Only our own: libraries log headers, and headers hold sessions.
pub(crate) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let own = Targets::new().with_target("slipway", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second start in one process, as in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(own).with(layer).try_init();
}
