//! Files that hold secrets.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use slipway_config::install_config::InstallConfig;

use crate::regular;
use crate::store::INSTALL_CONFIG;

/// A password, a kubeconfig, a bundle of certificates: none of them is larger.
const MAX_BYTES: u64 = 4 << 20;

/// Reads a file and says so when everyone on this machine can.
pub(super) fn read(path: &Path, warnings: &mut Vec<String>) -> io::Result<String> {
    let file = regular::open(path)?;
    let metadata = file.metadata()?;
    if metadata.permissions().mode() & 0o004 != 0 {
        warnings.push(format!(
            "everyone on this machine can read `{0}`; `chmod 600 {0}` keeps it to you",
            path.display()
        ));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("`{}` is larger than {} MiB", path.display(), MAX_BYTES >> 20),
        ));
    }
    Ok(text)
}

/// Says so when others on this machine can read an install-config that has secrets in it.
pub(super) fn exposed(config: &InstallConfig, directory: &Path) -> Option<String> {
    let path = directory.join(INSTALL_CONFIG);
    let mode = fs_err::metadata(&path).ok()?.permissions().mode();
    (mode & 0o044 != 0 && config.has_inline_secrets()).then(|| {
        format!(
            "others on this machine can read `{0}`, which has secrets in it; `chmod 600 {0}` keeps them to you",
            path.display()
        )
    })
}

/// Editors and `echo` end a file with a line break that is not part of the password.
pub(super) fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
