//! Numbers of versions, and how old is too old.

use crate::finding::Judgement;

/// The first three numbers of a version; what is missing is zero.
pub(crate) fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    for (number, text) in numbers.iter_mut().zip(version.split('.')) {
        *number = text.parse().ok()?;
    }
    Some(numbers)
}

/// What to do about an old vCenter.
pub(crate) const UPGRADE: &str = "upgrade the vCenter to 8.0 or later";

/// A vCenter that works: its vendor may have stopped caring about it.
pub(crate) fn maintained(number: [u32; 3], named: String) -> Judgement {
    if number[0] < 8 {
        return Judgement::warning(format!("{named}: its vendor no longer maintains this version"))
            .remedy(UPGRADE);
    }
    Judgement::pass(named)
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn versions_are_numbers() {
        for (text, expected) in
            [("8.0.3.0", Some([8, 0, 3])), ("7.0", Some([7, 0, 0])), ("new", None), ("", None)]
        {
            assert_eq!(numbers(text), expected, "{text}");
        }
    }
}
