//! The guide that says what came of them.

use std::fmt::Write as _;

use super::{Shown, Suite};
use crate::section;

pub(super) const PATH: &str = "docs/guides/strangers.md";

/// Writes what came of a suite. What other suites have shown stays.
pub(super) fn note(suite: &Suite, shown: &Shown, success: bool) -> anyhow::Result<()> {
    section::replace(PATH, &heading(suite), &body(suite, &suite.version()?, shown, success))
}

fn heading(suite: &Suite) -> String {
    format!("## {}", suite.name)
}

fn body(suite: &Suite, version: &str, shown: &Shown, success: bool) -> String {
    let verdict = match (success, shown.trying) {
        (true, _) => "everything below was shown.".to_owned(),
        (false, Some(step)) => format!("**failed** at \"{step}\"."),
        (false, None) => "**failed**.".to_owned(),
    };
    let mut text = format!("{}: `{}` {version}. Result: {verdict}\n", suite.title, suite.module);
    for step in &shown.steps {
        let _ = write!(text, "\n- {step}");
    }
    text.push_str("\n\nWhat this does not show:\n");
    for limit in suite.limits {
        let _ = write!(text, "\n- {limit}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{PATH, body, heading};
    use crate::command::root;
    use crate::strangers::{SUITES, Shown, autoscaler};

    /// A result is of the version that is pinned, or it is none. One that was never run has no section.
    #[test]
    fn the_guide_is_about_what_is_pinned() -> anyhow::Result<()> {
        let guide = fs_err::read_to_string(root().join(PATH))?;
        for suite in SUITES {
            let rest = guide.split_once(&format!("{}\n", heading(suite))).map(|(_, rest)| rest);
            let Some(section) = rest.and_then(|rest| rest.split("\n## ").next()) else { continue };
            let line = format!("`{}` {}. Result: ", suite.module, suite.version()?);
            assert!(
                section.contains(&line),
                "{PATH} is about another version than {} {}: run `cargo xtask strangers {}`",
                suite.module,
                suite.version()?,
                suite.name
            );
        }
        Ok(())
    }

    #[test]
    fn a_failure_names_the_step() {
        let shown = Shown { steps: vec!["it starts"], trying: Some("it ends") };
        let text = body(&autoscaler::SUITE, "v1.0.0", &shown, false);
        assert!(text.contains("v1.0.0. Result: **failed** at \"it ends\".\n\n- it starts\n\nWhat"), "{text}");
    }
}
