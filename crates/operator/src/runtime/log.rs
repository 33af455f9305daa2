//! What is said while running: to standard error, as text or as JSON.

use tracing::Level;

use crate::args::LogFormat;

/// Installs the writer. Called once, before anything else happens.
pub(crate) fn install(format: LogFormat, level: Level) {
    let builder = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // Fails only if there is a writer already, as in tests.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
