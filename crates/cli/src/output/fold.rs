//! Long lines on a terminal: broken between words, and indented so that columns stay columns.

use std::borrow::Cow;

/// Terminals are not believed to be narrower than this.
const MIN_WIDTH: usize = 40;

/// What follows in the same paragraph is this much further in, where there is no column to stay in.
const INDENT: usize = 4;

/// Lines no longer than `width`, where they have a place to be broken at. Source code with its line numbers stays as it
/// is.
pub(super) fn fold(text: &str, width: usize) -> Cow<'_, str> {
    let width = width.max(MIN_WIDTH);
    if text.lines().all(|line| visible(line) <= width || is_source(line)) {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if visible(line) <= width || is_source(line) {
            folded.push_str(line);
        } else {
            fold_line(line, width, &mut folded);
        }
        folded.push_str(end);
    }
    Cow::Owned(folded)
}

fn fold_line(line: &str, width: usize, folded: &mut String) {
    let indent = hanging(line, width);
    let mut column = 0;
    for word in words(line) {
        let (gap, bare) = word.split_at(word.len() - word.trim_start_matches(' ').len());
        let wide = visible(bare);
        if column > indent && column + gap.len() + wide > width {
            folded.push('\n');
            folded.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            folded.push_str(gap);
            column += gap.len();
        }
        folded.push_str(bare);
        column += wide;
    }
}

/// Words, each with the spaces before it.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[start..].find(' ').map_or(rest.len(), |end| start + end);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Where the next lines begin: below the last column of a table that begins in the left half, or a little further in than
/// the first line.
fn hanging(line: &str, width: usize) -> usize {
    let plain = anstream::adapter::strip_str(line).to_string();
    let leading = plain.len() - plain.trim_start_matches(' ').len();
    let mut column = None;
    let (mut at, mut gap) = (0, 0);
    for letter in plain.chars() {
        if letter == ' ' {
            gap += 1;
        } else {
            if gap >= 2 && at > leading && at <= width / 2 {
                column = Some(at);
            }
            gap = 0;
        }
        at += 1;
    }
    column.unwrap_or(leading + INDENT).min(width / 2)
}

/// As many columns as a line takes, without its colours.
fn visible(line: &str) -> usize {
    anstream::adapter::strip_str(line).map(|part| part.chars().count()).sum()
}

/// A line of a file, with its number or marks in the margin.
fn is_source(line: &str) -> bool {
    let plain = anstream::adapter::strip_str(line).to_string();
    let margin = plain.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit());
    ["|", "-->", ":::", "..."].iter().any(|mark| margin.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn long_lines_keep_their_columns() {
        let text = "to create harbour: 3 steps\n\n127.0.0.1:443\n    1  clone the machine `harbour-x7k2p-master-0` into /north/vm/harbour\n\
                    error: the vCenter `north.example.com` cannot be reached at the moment\n\
                    12 |     networks: [a-network-with-a-name-that-is-quite-long-indeed, another]\n";
        insta::assert_snapshot!(fold(text, 44), @r"
        to create harbour: 3 steps

        127.0.0.1:443
            1  clone the machine
               `harbour-x7k2p-master-0` into
               /north/vm/harbour
        error: the vCenter `north.example.com`
            cannot be reached at the moment
        12 |     networks: [a-network-with-a-name-that-is-quite-long-indeed, another]
        ");
    }

    #[test]
    fn colours_take_no_room_and_short_lines_are_left_alone() {
        let red = "\u{1b}[31merror\u{1b}[0m: this has forty columns, not one more\n";
        assert_eq!(fold(red, 44), red);
        let long = format!("{}\n", "x".repeat(90));
        assert_eq!(fold(&long, 44), long, "there is no place to break it");
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_space_changes(text in "[a-z` :,.\u{e9}\n]{0,300}", width in 40_usize..100) {
            let folded = fold(&text, width);
            let bare = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            proptest::prop_assert_eq!(bare(&folded), bare(&text));
            for line in folded.lines().filter(|line| line.chars().count() > width) {
                proptest::prop_assert!(line.trim().chars().any(|letter| letter != ' '));
            }
        }
    }
}
