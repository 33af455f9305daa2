//! Names of machines that are being made, written on the set before the first of them is. A controller that starts again makes the
//! same ones first: a call that was under way then finds its machine made, instead of making one too many.

use std::collections::BTreeSet;

use slipway_api::openshift::MachineSet;
use slipway_assess::machines::names::{MAKING, annotation};

use super::naming::free_names;

/// The names that are written on a set.
pub(super) fn written(set: &MachineSet) -> Vec<String> {
    let text = annotation(&set.metadata, MAKING).unwrap_or_default();
    text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The names of the next machines: first what is written and not there, then new ones.
pub(super) fn chosen(
    written: &[String],
    set: (&str, &str),
    count: usize,
    exists: impl Fn(&str) -> bool,
    was_used: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut names: Vec<String> = written.iter().filter(|name| !exists(name)).take(count).cloned().collect();
    let known: BTreeSet<&String> = written.iter().collect();
    let is_taken = |name: &str| exists(name) || was_used(name) || known.contains(&name.to_owned());
    let new = free_names(set.0, set.1, count - names.len(), is_taken);
    names.extend(new);
    names
}

/// What is to be written before these are made; `None` if it is there.
pub(super) fn to_write(
    written: &[String],
    names: &[String],
    exists: impl Fn(&str) -> bool,
) -> Option<String> {
    if names.iter().all(|name| written.contains(name)) {
        return None;
    }
    let open = written.iter().filter(|name| !exists(name) && !names.contains(name));
    Some(open.chain(names).cloned().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::{chosen, to_write};

    #[test]
    fn what_was_begun_comes_first() {
        let row = chosen(&[], ("set", "1"), 3, |_| false, |_| false);
        assert_eq!(to_write(&[], &row, |_| false), Some(row.join(",")));
        // A crash: the first was made, and a machine that was there before is gone, whose name is free again.
        let begun = row[1..].to_vec();
        let again = chosen(&begun, ("set", "1"), 1, |name| name == begun[0], |_| false);
        assert_eq!(again, begun[1..], "not the one that is free");
        assert_eq!(to_write(&begun, &again, |name| name == begun[0]), None);
        let more = chosen(&begun, ("set", "1"), 2, |name| name == begun[0], |_| false);
        assert_eq!(more, [row[2].clone(), row[0].clone()]);
        assert_eq!(to_write(&begun, &more, |name| name == begun[0]), Some(format!("{},{}", row[2], row[0])));
    }
}
