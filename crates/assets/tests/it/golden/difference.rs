//! A tree as its difference from another one, for people to read. Two trees have the same difference from a third one only if they
//! are the same.

use similar::TextDiff;

use super::Shown;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The tree of `base` with another name for its cluster, in paths and in texts.
pub(super) fn renamed(base: &Shown, from: &str, to: &str) -> Shown {
    base.iter().map(|(path, text)| (path.replace(from, to), text.replace(from, to))).collect()
}

/// Which files are the same and which are absent; then each other file, by what changes it or, where that is shorter, as it is.
pub(super) fn difference(base: &Shown, tree: &Shown) -> String {
    let mut same = String::new();
    let mut others = String::new();
    for (path, text) in tree {
        match base.get(path) {
            Some(before) if before == text => same.push_str(&format!("same: {path}\n")),
            before => {
                let changes = before.map(|before| {
                    let diff = TextDiff::from_lines(before.as_str(), text);
                    diff.unified_diff().context_radius(CONTEXT).to_string()
                });
                let section = match changes {
                    Some(changes) if changes.lines().count() < text.lines().count() => {
                        format!("\nchanged: {path}\n{changes}")
                    }
                    // A prefix, so that no line of a file looks like a line of this.
                    _ => {
                        let end = if text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
                        let lines: String =
                            text.split_inclusive('\n').map(|line| format!("| {line}")).collect();
                        format!("\nwhole: {path}\n{lines}{end}")
                    }
                };
                others.push_str(&section);
            }
        }
    }
    let absent = base.keys().filter(|path| !tree.contains_key(*path));
    let absent: String = absent.map(|path| format!("absent: {path}\n")).collect();
    format!("{same}{absent}{others}")
}

#[cfg(test)]
mod tests {
    use super::{Shown, difference, renamed};

    fn tree(files: &[(&str, &str)]) -> Shown {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn says_what_is_same_absent_changed_and_new() {
        let many = (1..=20).map(|line| format!("{line}\n")).collect::<String>();
        let base = tree(&[("a", "1\n"), ("b", "1\n"), ("galleon.yaml", "x: galleon\n"), ("many", &many)]);
        let changed = many.replace("10\n", "ten\n");
        let other =
            tree(&[("a", "1\n"), ("b", "2\n"), ("raft.yaml", "x: raft\n"), ("many", &changed), ("new", "n")]);
        insta::assert_snapshot!(difference(&renamed(&base, "galleon", "raft"), &other), @r"
        same: a
        same: raft.yaml

        whole: b
        | 2

        changed: many
        @@ -7,7 +7,7 @@
         7
         8
         9
        -10
        +ten
         11
         12
         13

        whole: new
        | n
        \ No newline at end of file
        ");
        assert_eq!(
            difference(&base, &tree(&[("a", "1\n")])),
            "same: a\nabsent: b\nabsent: galleon.yaml\nabsent: many\n"
        );
    }
}
