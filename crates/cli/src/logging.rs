//! What is logged, and how much of it: on standard error as much as is asked for, and in the asset directory every call.

mod file;

use std::io::{self, Write};

use slipway_config::private_url::mask_urls;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) use self::file::keep_in;
use crate::args::LogLevel;

/// Only our own words are logged: libraries log headers, and headers hold sessions.
pub(crate) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let own = |level: LevelFilter| Targets::new().with_target("slipway", level);
    let told = tracing_subscriber::fmt::layer().with_writer(|| Masked(io::stderr())).with_ansi(false);
    let kept = tracing_subscriber::fmt::layer().with_writer(|| Masked(file::Writer)).with_ansi(false);
    let layers = told.with_filter(own(level)).and_then(kept.with_filter(own(LevelFilter::DEBUG)));
    // A second start in one process, as in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(layers).try_init();
}

/// Writes lines without the logins of the URLs in them. A line comes whole.
struct Masked<W>(W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(mask_urls(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
