//! How help pages look: commands in groups, global options as one short group, examples in the long form.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Args;

/// Commands of the top page. Names that do not exist are skipped; a command without a group is under the last heading.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Configuration", &["validate", "explain", "schema", "cloud-config"]),
    ("Cluster", &["create", "preflight", "plan", "status", "wait-for", "gather", "destroy"]),
    ("Day 2", &["check", "node", "machine", "failure-domain", "vcenter", "drift", "orphans", "adopt"]),
    ("Drivers", &["drivers"]),
];
const OTHERS: &str = "Other";

/// Options of every command, as the top page explains them.
pub const GLOBAL_OPTIONS: &str = "  -o, --output FORMAT    text (default), or json and yaml for programs
  -q, --quiet            Print only results, questions, warnings and errors
  -v, --verbose          Print more; -vv logs every call, -vvv everything
      --log-level LEVEL  Log on stderr: error, warn, info, debug or trace
      --color WHEN       auto (default), always, never; NO_COLOR is respected
  -h, --help             Print help: -h is a summary, --help has all details
  -V, --version          Print the version";

const GLOBAL_LINE: &str = "Global options: -o json, -q, -v, --log-level, --color (see `slipway -h`)";

/// The command line with its help pages.
pub fn command() -> Command {
    let command = Args::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} slipway COMMAND [OPTIONS]\n{}\n{}\n{GLOBAL_OPTIONS}{{after-help}}",
        groups(&command),
        heading(&command, "Global options"),
    );
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, |one| page(one, "slipway")))
        .help_template(template)
        .after_help("`slipway COMMAND -h` is a summary, `slipway COMMAND --help` has details and examples.\nExit codes: `slipway help exit-codes`")
}

/// The page of a command, and of those below it.
fn page(command: Command, parent: &str) -> Command {
    let path = format!("{parent} {}", command.get_name());
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let mut command = names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, |one| page(one, &path)))
        .disable_help_subcommand(true);
    let shows = |command: &Command| {
        command.get_arguments().any(|one| !one.is_hide_set()) || command.get_subcommands().next().is_some()
    };
    let arguments = if shows(&command) { "\n\n{all-args}" } else { "" };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{arguments}{{after-help}}\n\n{GLOBAL_LINE}"
    );
    let examples = command.get_after_long_help().cloned();
    command = command.help_template(template);
    match examples {
        Some(examples) => {
            let long = with_exit_codes(&examples);
            command.after_help(format!("Details and examples: `{path} --help`")).after_long_help(long)
        }
        None => command,
    }
}

fn with_exit_codes(examples: &StyledStr) -> String {
    format!("{examples}\n\nExit codes: `slipway help exit-codes`")
}

fn heading(command: &Command, text: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{text}:{style:#}")
}

/// All commands, by group, with what they do.
fn groups(command: &Command) -> String {
    let width = command.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or_default();
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<&str> =
        command.get_subcommands().map(Command::get_name).filter(|name| !grouped(name)).collect();
    let all = GROUPS.iter().map(|(title, names)| (*title, names.to_vec()));
    let mut text = String::new();
    for (title, names) in all.chain([(OTHERS, others)]) {
        text.push_str(&format!("\n{}\n", heading(command, title)));
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let literal = command.get_styles().get_literal();
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {literal}{:<width$}{literal:#}  {about}\n", one.get_name()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::{command, groups};
    use crate::args::topics::{EXIT_CODES, topic};

    const WIDTH: usize = 80;
    /// A page of `-h` has to fit on a screen.
    const MAX_LINES: usize = 50;

    /// Every command with its path, the top one included.
    fn all() -> Vec<(String, Command)> {
        let mut root = command().term_width(WIDTH);
        root.build();
        let mut all = vec![("slipway".to_owned(), root)];
        let mut next = 0;
        while let Some((path, one)) = all.get(next).cloned() {
            for below in one.get_subcommands() {
                all.push((format!("{path} {}", below.get_name()), below.clone().term_width(WIDTH)));
            }
            next += 1;
        }
        all
    }

    #[test]
    fn pages_fit_a_screen_and_have_examples() {
        let mut wrong = Vec::new();
        for (path, mut one) in all() {
            let short = one.render_help().to_string();
            let long = one.render_long_help().to_string();
            let wide = short.lines().chain(long.lines()).filter(|line| line.chars().count() > WIDTH);
            wrong.extend(wide.map(|line| format!("{path}: too wide: {line}")));
            if short.lines().count() > MAX_LINES {
                wrong.push(format!("{path} -h has {} lines", short.lines().count()));
            }
            if path != "slipway" && !long.contains("Example") {
                wrong.push(format!("{path} --help has no example"));
            }
            if path != "slipway" && (!short.contains("Global options: ") || short.contains("  -q, --quiet")) {
                wrong.push(format!("{path} has no short line of global options"));
            }
            for word in ["whoever", "nobody", "somebody", "anybody", "`` is no "] {
                wrong.extend(long.to_lowercase().contains(word).then(|| format!("{path}: `{word}`")));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Lines of examples are commands: clap must not break them.
    #[test]
    fn examples_are_shown_as_they_are_written() {
        let mut wrong = Vec::new();
        for (path, mut one) in all() {
            let Some(written) = one.get_after_long_help().map(ToString::to_string) else { continue };
            let shown = one.render_long_help().to_string();
            let broken = written.lines().filter(|line| !shown.lines().any(|one| one == *line));
            wrong.extend(broken.map(|line| format!("{path}: `{line}`")));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_top_page_has_every_command_once() {
        let command = command();
        let text = groups(&command);
        for one in command.get_subcommands() {
            let about = one.get_about().expect("about").to_string();
            assert_eq!(text.matches(&format!(" {about}\n")).count(), 1, "{}", one.get_name());
        }
        let others = text.split("Other:").nth(1).expect("the last group");
        let count = others.lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(count, 3, "put it into a group: {others}");
    }

    /// A command in the table of exit codes exists.
    #[test]
    fn exit_codes_are_those_of_commands() {
        let text = topic(EXIT_CODES).expect("the topic");
        let paths: Vec<String> = all().into_iter().map(|(path, _)| path.replace("slipway ", "")).collect();
        let (_, table) = text.split_once("COMMAND").expect("a table");
        for line in table.lines().skip(1).filter(|line| !line.is_empty()) {
            let name = line.trim().split("  ").next().expect("a name");
            assert!(paths.iter().any(|path| path == name), "there is no command `{name}`");
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
