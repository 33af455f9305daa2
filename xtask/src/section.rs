//! Sections of guides that are written by what measures or tries something.

use crate::command::root;

/// Writes a section of a guide anew: from its heading to the next one of that rank, or the end. A new one is put at the end.
pub(crate) fn replace(guide: &str, heading: &str, body: &str) -> anyhow::Result<()> {
    let path = root().join(guide);
    let text = fs_err::read_to_string(&path)?;
    fs_err::write(path, with(&text, heading, body))?;
    Ok(())
}

fn with(text: &str, heading: &str, body: &str) -> String {
    let section = format!("{heading}\n\n{}\n", body.trim_end());
    let rank = format!("{} ", heading.split(' ').next().unwrap_or_default());
    let mut lines = text.lines().peekable();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    before.extend(std::iter::from_fn(|| lines.next_if(|line| *line != heading)));
    if lines.next().is_some() {
        after.extend(lines.skip_while(|line| !line.starts_with(&rank)));
    }
    let (before, after) = (before.join("\n"), after.join("\n"));
    let tail = if after.is_empty() { String::new() } else { format!("\n{after}\n") };
    format!("{}\n\n{section}{tail}", before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::with;

    const GUIDE: &str = "# A\n\ntext\n\n## One\n\nold\n\n### Deeper\n\nold\n\n## Two\n\nkept\n";

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        assert_eq!(with(GUIDE, "## One", "new"), "# A\n\ntext\n\n## One\n\nnew\n\n## Two\n\nkept\n");
        let last = "# A\n\ntext\n\n## One\n\nold\n\n### Deeper\n\nold\n\n## Two\n\nnew\n";
        assert_eq!(with(GUIDE, "## Two", "new\n"), last);
        assert_eq!(with(GUIDE, "## Three", "new"), format!("{GUIDE}\n## Three\n\nnew\n"));
    }
}
