//! PEM certificates and SSH keys: enough of a look to know that they are what they claim to be.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Check;
use crate::decode::Located;
use crate::findings::Rule;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Reports what is wrong with a bundle of certificates.
pub(super) fn check_certificates(bundle: &Located<String>, check: &mut Check<'_>) -> bool {
    match certificates(&bundle.value) {
        Ok(()) => true,
        Err(reason) => {
            // It may be a private key.
            check.conceal(bundle.at);
            check
                .findings
                .error(Rule::Certificates, bundle.at, reason)
                .hint("write a block with `|` that holds one or more PEM certificates");
            false
        }
    }
}

/// Whether a bundle holds certificates, and nothing else.
fn certificates(bundle: &str) -> Result<(), String> {
    let mut count = 0;
    let mut rest = bundle;
    while let Some(start) = rest.find("-----BEGIN ") {
        let block = &rest[start..];
        let Some(body) = block.strip_prefix(BEGIN) else {
            let kind = block["-----BEGIN ".len()..].split("-----").next().unwrap_or_default();
            return Err(match kind {
                kind if kind.contains("PRIVATE KEY") => "a private key does not belong here".to_owned(),
                _ => format!("block {} is not a certificate", count + 1),
            });
        };
        count += 1;
        let Some(end) = body.find(END) else { return Err(format!("certificate {count} has no end line")) };
        let text: String = body[..end].chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let der = STANDARD.decode(text).map_err(|_| format!("certificate {count} is not valid base64"))?;
        if !is_sequence(&der) {
            return Err(format!("block {count} does not hold a certificate"));
        }
        rest = &body[end + END.len()..];
    }
    if count == 0 { Err("there is no PEM certificate in it".to_owned()) } else { Ok(()) }
}

/// DER: one SEQUENCE that starts with another one and spans all of the bytes.
fn is_sequence(der: &[u8]) -> bool {
    let (length, header) = match der {
        [0x30, short, ..] if *short < 0x80 => (usize::from(*short), 2),
        [0x30, 0x81, a, ..] => (usize::from(*a), 3),
        [0x30, 0x82, a, b, ..] => (usize::from(*a) << 8 | usize::from(*b), 4),
        [0x30, 0x83, a, b, c, ..] => (usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c), 5),
        _ => return false,
    };
    der.len() == header + length && der.get(header) == Some(&0x30)
}

/// Key types FIPS allows.
const FIPS_KEYS: [&str; 4] = ["ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"];

/// Reports what is wrong with the SSH keys, one per line, and returns them.
pub(super) fn check_ssh_keys(
    keys: &Located<String>,
    fips: bool,
    check: &mut Check<'_>,
) -> Option<Vec<String>> {
    let mut valid = Vec::new();
    let lines = keys.value.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        if line.contains("PRIVATE KEY") {
            check.conceal(keys.at);
            check
                .findings
                .error(Rule::SshKey, keys.at, "this is a private key; it must never leave your machine")
                .hint("use the file that ends in .pub");
            return None;
        }
        let Some(kind) = ssh_key_type(line) else {
            check
                .findings
                .error(Rule::SshKey, keys.at, "not an SSH public key")
                .hint("write the line of the file that ends in .pub: `ssh-ed25519 AAAA… name`");
            return None;
        };
        if fips && !FIPS_KEYS.contains(&kind) {
            check
                .findings
                .error(Rule::SshKey, keys.at, format!("FIPS does not allow keys of type {kind}"))
                .hint("use an RSA or ECDSA key");
            return None;
        }
        valid.push(line.to_owned());
    }
    if valid.is_empty() {
        check.findings.error(Rule::SshKey, keys.at, "there is no SSH public key in it");
        return None;
    }
    Some(valid)
}

/// The type of a public key, if what follows really is a key of that type. Options may precede it.
fn ssh_key_type(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(16).collect();
    words.windows(2).find_map(|pair| {
        let blob = STANDARD.decode(pair[1]).ok()?;
        let length = u32::from_be_bytes(blob.get(..4)?.try_into().ok()?) as usize;
        let inner = blob.get(4..4usize.checked_add(length)?)?;
        (inner == pair[0].as_bytes() && blob.len() > 4 + length).then_some(pair[0])
    })
}

#[cfg(test)]
mod tests {
    use super::{certificates, ssh_key_type};

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9fDs3bmzqfkWCkcXWeHPa/dbMK4NrZbMQfcZ1CrnmI me@example";

    #[test]
    fn ssh_keys() {
        assert_eq!(ssh_key_type(KEY), Some("ssh-ed25519"));
        assert_eq!(ssh_key_type(&format!("no-pty {KEY}")), Some("ssh-ed25519"));
        assert_eq!(ssh_key_type(&KEY.replace("ssh-ed25519", "ssh-rsa")), None);
        assert_eq!(ssh_key_type("ssh-rsa AAAA"), None);
        assert_eq!(ssh_key_type(""), None);
    }

    #[test]
    fn certificate_blocks() {
        assert!(certificates("nothing").is_err());
        assert!(certificates("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_err());
        assert!(certificates("-----BEGIN CERTIFICATE-----\nAAAA\n").is_err());
        let key = certificates("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap_err();
        assert!(key.contains("private key"));
        let tiny = "-----BEGIN CERTIFICATE-----\nMAIwAA==\n-----END CERTIFICATE-----\n";
        assert_eq!(certificates(tiny), Ok(()));
        assert_eq!(certificates(&format!("# one\n{tiny}{tiny}")), Ok(()));
    }
}
