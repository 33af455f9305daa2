//! Files that may be read to their end.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a file that is one. Opening a pipe would wait for someone to write into it, and a device may never end.
pub(crate) fn open(path: &Path) -> io::Result<fs_err::File> {
    let kind = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => metadata.file_type(),
        // If there is none, opening it says so.
        _ => return fs_err::File::open(path),
    };
    let what = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let error = if kind.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(error, format!("`{}` is {what}, not a file", path.display())))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (pipe.as_path(), "a named pipe"),
            (socket.as_path(), "a socket"),
            (folder.path(), "a directory"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            let error = super::open(path).unwrap_err().to_string();
            assert_eq!(error, format!("`{}` is {what}, not a file", path.display()));
        }
    }
}
