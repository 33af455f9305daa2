//! Names of new machines: a row of them for each set, which follows from its id. Whoever makes a machine takes the first names of the
//! row that are free, so that two controllers at the same time make one machine and not two.

use aws_lc_rs::digest::{Context, SHA256};

/// Without vowels and what looks alike, as Kubernetes' own.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// Hosts have at most 63 characters.
const MAX_NAME: usize = 63;

/// The first names of a set's row that are not taken.
pub(super) fn free_names(set: &str, uid: &str, count: usize, is_taken: impl Fn(&str) -> bool) -> Vec<String> {
    (0_u64..).map(|place| name(set, uid, place)).filter(|name| !is_taken(name)).take(count).collect()
}

fn name(set: &str, uid: &str, place: u64) -> String {
    let mut hash = Context::new(&SHA256);
    hash.update(uid.as_bytes());
    hash.update(&place.to_be_bytes());
    let bytes = hash.finish();
    let letters = bytes.as_ref().chunks(4).take(SUFFIX_LENGTH).map(|four| {
        let number = four.iter().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte));
        char::from(ALPHABET[number % ALPHABET.len()])
    });
    let letters: String = letters.collect();
    let stem: String = set.chars().take(MAX_NAME - SUFFIX_LENGTH - 1).collect();
    format!("{}-{letters}", stem.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{free_names, name};

    #[test]
    fn what_is_missing_has_the_same_name_whoever_makes_it() {
        let row = free_names("worker-0", "1", 3, |_| false);
        assert_eq!(row.iter().collect::<BTreeSet<_>>().len(), 3);
        assert!(row.iter().all(|name| name.starts_with("worker-0-") && name.len() == 14), "{row:?}");
        // Two were made before the crash.
        assert_eq!(
            free_names("worker-0", "1", 1, |name| row[..2].iter().any(|one| one == name)),
            [row[2].clone()]
        );
        assert_ne!(
            free_names("worker-0", "2", 3, |_| false),
            row,
            "a set that was created anew has another row"
        );
    }

    #[test]
    fn a_row_is_long_enough() {
        let names: BTreeSet<String> = (0..2000).map(|place| name("set", "1", place)).collect();
        assert!(names.len() > 1990, "{}", names.len());
        let known = &names;
        let fresh = free_names("set", "1", 10, |name| known.contains(name));
        assert!(fresh.iter().all(|name| !names.contains(name)));
    }

    #[test]
    fn names_stay_names_of_hosts() {
        let long = format!("{}-{}", "a".repeat(56), "b".repeat(20));
        let name = name(&long, "1", 0);
        assert_eq!((name.len(), name.contains("--")), (62, false), "{name}");
    }
}
