//! Signatures of compatibility matrices: Ed25519 over a line that names the format, and the file as it is.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use slipway_config::secret::Secret;
use thiserror::Error;

/// Keeps a signature of a matrix from being one of anything else.
const CONTEXT: &str = "slipway.dev/matrix/v1\n";

/// Why a matrix is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureError {
    #[error("`{0}` is not a public key: it is the base64 of 32 bytes")]
    BadKey(String),
    #[error("no public key was given to check it with")]
    NoKey,
    #[error("it is not signed")]
    Unsigned,
    #[error("its signature is not the base64 of 64 bytes")]
    BadSignature,
    #[error("its signature was not made by any of the trusted keys, or the file was changed")]
    WrongSignature,
    #[error("the private key cannot be read: it must be a PKCS #8 document in base64")]
    BadPrivateKey,
    #[error("no key could be drawn")]
    NoRandomness,
}

/// A key that matrices can be checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl std::str::FromStr for PublicKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(PublicKey).ok_or_else(|| SignatureError::BadKey(text.to_owned()))
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

fn message(text: &str) -> Vec<u8> {
    [CONTEXT.as_bytes(), text.as_bytes()].concat()
}

/// Any of the keys will do, so that keys can be replaced.
pub fn verify(text: &str, signature: Option<&str>, keys: &[PublicKey]) -> Result<(), SignatureError> {
    if keys.is_empty() {
        return Err(SignatureError::NoKey);
    }
    let signature = signature.ok_or(SignatureError::Unsigned)?;
    let signature = STANDARD.decode(signature.trim()).map_err(|_| SignatureError::BadSignature)?;
    if signature.len() != 64 {
        return Err(SignatureError::BadSignature);
    }
    let message = message(text);
    let fits = |key: &PublicKey| UnparsedPublicKey::new(&ED25519, key.0).verify(&message, &signature).is_ok();
    if keys.iter().any(fits) { Ok(()) } else { Err(SignatureError::WrongSignature) }
}

/// Draws a private key; the second result is its public half.
pub fn draw() -> Result<(Secret, PublicKey), SignatureError> {
    let pair = Ed25519KeyPair::generate().map_err(|_| SignatureError::NoRandomness)?;
    let document = pair.to_pkcs8().map_err(|_| SignatureError::NoRandomness)?;
    let private = STANDARD.encode(document.as_ref());
    Ok((private.as_str().into(), public(&pair)?))
}

/// Signs a matrix; the result is the content of the file beside it.
pub fn sign(text: &str, private: &Secret) -> Result<(String, PublicKey), SignatureError> {
    let document = STANDARD.decode(private.expose().trim()).map_err(|_| SignatureError::BadPrivateKey)?;
    let pair = Ed25519KeyPair::from_pkcs8(&document).map_err(|_| SignatureError::BadPrivateKey)?;
    let signature = STANDARD.encode(pair.sign(&message(text)).as_ref());
    Ok((format!("{signature}\n"), public(&pair)?))
}

fn public(pair: &Ed25519KeyPair) -> Result<PublicKey, SignatureError> {
    pair.public_key().as_ref().try_into().map(PublicKey).map_err(|_| SignatureError::BadPrivateKey)
}

#[cfg(test)]
mod tests {
    use super::{SignatureError, draw, sign, verify};

    #[test]
    fn only_what_was_signed_is_trusted() {
        let (private, public) = draw().unwrap();
        let (_, other) = draw().unwrap();
        let (signature, by) = sign("matrix", &private).unwrap();
        assert_eq!((&by, public.to_string().parse()), (&public, Ok(public.clone())));
        let check = |text, signature, keys: &[_]| verify(text, signature, keys);
        assert_eq!(check("matrix", Some(&signature), &[other.clone(), public.clone()]), Ok(()));
        let wrong = Err(SignatureError::WrongSignature);
        assert_eq!(check("matrix ", Some(&signature), std::slice::from_ref(&public)), wrong);
        assert_eq!(check("matrix", Some(&signature), &[other]), wrong);
        assert_eq!(check("matrix", None, std::slice::from_ref(&public)), Err(SignatureError::Unsigned));
        assert_eq!(
            check("matrix", Some("x"), std::slice::from_ref(&public)),
            Err(SignatureError::BadSignature)
        );
        assert_eq!(check("matrix", Some(&signature), &[]), Err(SignatureError::NoKey));
    }
}
