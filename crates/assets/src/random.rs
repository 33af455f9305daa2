//! Where keys and names come from.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use rcgen::KeyPair;
use slipway_config::install_config::{Curve, SignerKey};

/// A source of randomness. Tests pass one that repeats itself.
pub trait Random: Sync {
    fn fill(&self, buffer: &mut [u8]);

    /// A private key in PEM (PKCS #8).
    fn key(&self, kind: SignerKey) -> Result<String, rcgen::Error> {
        let key = match kind {
            SignerKey::Ecdsa(Curve::P256) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
            SignerKey::Ecdsa(Curve::P384) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384)?,
            SignerKey::Ecdsa(Curve::P521) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512)?,
            SignerKey::Rsa(bits) => rsa(bits)?,
        };
        Ok(key.serialize_pem())
    }

    /// So many lower-case letters and digits.
    fn letters(&self, count: usize) -> String {
        const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(ALPHABET[self.below(ALPHABET.len())])).collect()
    }

    /// A number below `bound`, each as likely as the others.
    fn below(&self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        // What is left of the range of a u64 beyond a multiple of the bound would be drawn more often.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let mut bytes = [0; 8];
            self.fill(&mut bytes);
            let drawn = u64::from_le_bytes(bytes);
            if drawn < limit {
                return usize::try_from(drawn % bound).unwrap_or_default();
            }
        }
    }
}

/// The random source of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    /// # Panics
    ///
    /// When the operating system has no randomness to give: no key made without it is worth having, and there is
    /// nothing a caller could do instead.
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            panic!("the operating system has no random numbers: {error}");
        }
    }
}

fn rsa(bits: u32) -> Result<KeyPair, rcgen::Error> {
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        _ => return Err(rcgen::Error::KeyGenerationUnavailable),
    };
    let key = RsaKeyPair::generate(size).map_err(|_| rcgen::Error::KeyGenerationUnavailable)?;
    let der: Pkcs8V1Der<'_> = key.as_der().map_err(|_| rcgen::Error::KeyGenerationUnavailable)?;
    KeyPair::try_from(der.as_ref())
}

#[cfg(test)]
mod tests {
    use super::{OsRandom, Random};

    #[test]
    fn draws_differ() {
        let draw = || {
            let mut bytes = [0; 16];
            OsRandom.fill(&mut bytes);
            bytes
        };
        assert_ne!(draw(), draw());
        let (one, other) = (OsRandom.letters(16), OsRandom.letters(16));
        assert!(one.len() == 16 && one.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
        assert_ne!(one, other);
    }
}
