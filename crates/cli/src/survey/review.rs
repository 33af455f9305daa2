//! The result, before it is written.

use slipway_config::findings::Severity;
use slipway_lifecycle::install_config::{Composed, compose};

use super::Survey;
use super::prompt::{Ask, Stop, Tone};
use super::rules::words;

impl Survey<'_> {
    /// Shows the install-config without its secrets and asks whether it is the one.
    pub(super) fn review(&mut self) -> Result<Composed, Stop> {
        // Every answer was judged, but flags that are no answers were not.
        let composed = compose(&self.draft.answers(&self.flags), None).map_err(Stop::Refused)?;
        let path = self.path.display().to_string();
        self.prompter.say(Tone::Plain, "");
        self.prompter.say(Tone::Plain, &format!("{path}, with secrets blanked out:"));
        self.prompter.say(Tone::Plain, "");
        for line in composed.report.source.lines() {
            self.prompter.say(Tone::Plain, &format!("  {}", shortened(line)));
        }
        self.prompter.say(Tone::Plain, "");
        for finding in composed.report.findings.iter().filter(|found| found.severity == Severity::Warning) {
            self.prompter.say(Tone::Warning, &format!("{}: {}", finding.path, words(finding)));
        }
        let ask = Ask::new(format!("Write {path}?")).help("it holds secrets and is for your eyes only");
        if self.prompter.confirm(&ask, true)? { Ok(composed) } else { Err(Stop::Abort) }
    }
}

/// Blanks without the length of what they hide.
fn shortened(line: &str) -> String {
    match line.find("***") {
        Some(at) if line[at..].chars().all(|c| c == '*' || c == ' ') => format!("{}********", &line[..at]),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::shortened;

    #[rstest]
    #[case("  password: ***", "  password: ********")]
    #[case("  password: ********************", "  password: ********")]
    #[case("  name: a***b", "  name: a***b")]
    #[case("  name: harbour", "  name: harbour")]
    fn blanks_have_one_length(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(shortened(line), expected);
    }
}
