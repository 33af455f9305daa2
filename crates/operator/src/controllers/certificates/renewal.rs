//! What is remembered of a renewal that has begun: which pods there were, and the files as they were before.

use std::collections::BTreeSet;
use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::look::{FOLDER, renewed};
use crate::runtime::host::Files;

/// Is there from before the first certificate changes until all pods have been started with the new ones.
const MARK: &str = "/var/lib/slipway/renewing-certificates";
/// Certificates, keys and kubeconfigs as they were: kubeadm writes them in place, and a power cut can leave half a file.
const BEFORE: &str = "/var/lib/slipway/certificates-before-renewal";

/// A renewal that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    begun: Timestamp,
    /// The pods that there were before. What is started later has the new certificates.
    pub pods: BTreeSet<String>,
}

/// Whether a renewal has begun that is not over.
pub fn has_begun(files: &Files) -> bool {
    files.exists(MARK)
}

/// What was written down about it; nothing where an earlier release began it.
pub fn read(files: &Files) -> io::Result<Option<Renewal>> {
    Ok(files.read_if_there(MARK)?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Keeps the files as they are, and writes down that a renewal begins.
pub fn begin(files: &Files, now: Timestamp, pods: BTreeSet<String>) -> io::Result<Renewal> {
    files.remove_folder(BEFORE)?;
    files.make_private_folder(BEFORE)?;
    for name in renewed() {
        if let Some(text) = files.read_if_there(format!("{FOLDER}/{name}"))? {
            files.write(format!("{BEFORE}/{}", flat(&name)), 0o600, &text)?;
        }
    }
    let renewal = Renewal { begun: now, pods };
    files.write(MARK, 0o600, &format!("{}\n", json!(renewal)))?;
    Ok(renewal)
}

/// Puts the files back as they were before; whether there were any.
pub fn restore(files: &Files) -> io::Result<bool> {
    let mut any = false;
    for name in renewed() {
        let Some(text) = files.read_if_there(format!("{BEFORE}/{}", flat(&name)))? else { continue };
        let is_public = std::path::Path::new(&name).extension().is_some_and(|end| end == "crt");
        let mode = if is_public { 0o644 } else { 0o600 };
        files.write(format!("{FOLDER}/{name}"), mode, &text)?;
        any = true;
    }
    Ok(any)
}

/// It is over. The mark goes last: as long as it is there, the next run does the rest.
pub fn end(files: &Files) -> io::Result<()> {
    files.remove_folder(BEFORE)?;
    files.remove(MARK)
}

/// One folder for all of them.
fn flat(name: &str) -> String {
    name.replace('/', "_")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{BEFORE, begin, end, has_begun, read, restore};
    use crate::runtime::host::Files;

    #[test]
    fn half_a_file_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        let (server, key) = ("/etc/kubernetes/pki/etcd/server.crt", "/etc/kubernetes/pki/etcd/server.key");
        files.write(server, 0o644, "certificate").unwrap();
        files.write(key, 0o600, "key").unwrap();
        let now = "2026-11-18T12:00:00Z".parse().unwrap();
        let renewal = begin(&files, now, ["kube-system_etcd-a_1".to_owned()].into()).unwrap();
        let mode = |path: &str| std::fs::metadata(files.at(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(BEFORE), 0o700);
        assert_eq!(mode(&format!("{BEFORE}/pki_etcd_server.key")), 0o600);
        assert_eq!(read(&files).unwrap(), Some(renewal));
        files.write(server, 0o644, "cert").unwrap();
        assert!(restore(&files).unwrap());
        assert_eq!((files.read(server).unwrap(), mode(server)), ("certificate".to_owned(), 0o644));
        assert_eq!((files.read(key).unwrap(), mode(key)), ("key".to_owned(), 0o600));
        end(&files).unwrap();
        assert!(!has_begun(&files) && !files.exists(BEFORE));
        assert!(!restore(&files).unwrap());
    }
}
