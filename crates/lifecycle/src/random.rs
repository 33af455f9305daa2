//! Randomness from the operating system.

use slipway_assets::random::Random;

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

#[cfg(test)]
mod tests {
    use slipway_assets::random::Random;

    use super::OsRandom;

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
