//! Hashes as text, and names that are made short with them.

use aws_lc_rs::digest;

/// Names of managers of fields have 128 characters at most; prefixes have fewer than 28.
const MAX_NAME: usize = 100;

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// A manager of fields for each name, so that none takes another's entry away.
pub(crate) fn manager(prefix: &str, name: &str) -> String {
    if name.len() <= MAX_NAME {
        format!("{prefix}-{name}")
    } else {
        format!("{prefix}-{}", sha256(name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::manager;

    #[test]
    fn long_names_have_managers_of_their_own() {
        assert_eq!(manager("slipway-node", "a"), "slipway-node-a");
        let [one, other] =
            ["1", "2"].map(|end| manager("slipway-certificates", &format!("{}{end}", "a".repeat(200))));
        assert_ne!(one, other);
        assert!(one.len() <= 128);
    }
}
