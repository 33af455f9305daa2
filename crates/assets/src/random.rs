//! Where keys and names come from.

use slipway_config::install_config::{Curve, SignerKey};

/// A source of randomness. Tests pass one that repeats itself.
pub trait Random: Sync {
    fn fill(&self, buffer: &mut [u8]);

    /// A private key in PEM (PKCS #8).
    fn key(&self, kind: SignerKey) -> Result<String, rcgen::Error> {
        use rcgen::{KeyPair, RsaKeySize};
        let key = match kind {
            SignerKey::Ecdsa(Curve::P256) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
            SignerKey::Ecdsa(Curve::P384) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384)?,
            SignerKey::Ecdsa(Curve::P521) => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512)?,
            SignerKey::Rsa(bits) => {
                let size = match bits {
                    ..=2048 => RsaKeySize::_2048,
                    ..=3072 => RsaKeySize::_3072,
                    _ => RsaKeySize::_4096,
                };
                KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size)?
            }
        };
        Ok(key.serialize_pem())
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
