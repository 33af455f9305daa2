//! An image as a Containerfile describes it. What it builds on is not here: the program brings its libraries from this host.

use std::path::Path;

use anyhow::{Context, bail};

use super::Image;

/// Makes an image with one program of this host, under the name, user and words that the last stage of a Containerfile has
/// for it. What this does not understand is an error: the image would be another one than described.
pub fn image(name: &str, containerfile: &str, program: &Path) -> anyhow::Result<Image> {
    if !program.is_file() {
        bail!("{} is not there: build it", program.display());
    }
    let described = Described::read(containerfile)?;
    let entry: Vec<&str> = described.entry.iter().map(String::as_str).collect();
    Ok(Image::new(name, &entry)
        .program(program, &described.target)
        .command(described.command)
        .user(&described.user))
}

/// What is said about the image itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Described {
    target: String,
    user: String,
    entry: Vec<String>,
    command: Vec<String>,
}

impl Described {
    fn read(text: &str) -> anyhow::Result<Self> {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let last =
            lines.iter().rposition(|line| line.starts_with("FROM ")).context("it builds on nothing")?;
        let mut described = Described::default();
        for line in &lines[last + 1..] {
            let (word, rest) = line.split_once(' ').with_context(|| format!("`{line}` has no arguments"))?;
            let words =
                || serde_json::from_str(rest).with_context(|| format!("`{line}` is no list of words"));
            match word {
                "COPY" if described.target.is_empty() => {
                    let target = rest.rsplit(' ').next().unwrap_or_default();
                    target.clone_into(&mut described.target);
                }
                "USER" => rest.trim().clone_into(&mut described.user),
                "ENTRYPOINT" => described.entry = words()?,
                "CMD" => described.command = words()?,
                _ => bail!("`{line}` is not understood"),
            }
        }
        if described.target.is_empty() || described.entry.is_empty() {
            bail!("it has no program, or does not start it");
        }
        Ok(described)
    }
}

#[cfg(test)]
mod tests {
    use super::Described;

    #[test]
    fn the_last_stage_counts() {
        let text = "FROM a AS build\nRUN make\n\n# and now\nFROM b\nCOPY --from=build /x/y /usr/bin/y\nUSER 1:1\n\
                    ENTRYPOINT [\"/usr/bin/y\"]\nCMD [\"run\", \"--fast\"]\n";
        let expected = Described {
            target: "/usr/bin/y".to_owned(),
            user: "1:1".to_owned(),
            entry: vec!["/usr/bin/y".to_owned()],
            command: vec!["run".to_owned(), "--fast".to_owned()],
        };
        assert_eq!(Described::read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, says) in [
            ("USER 1", "builds on nothing"),
            ("FROM b\nRUN make", "`RUN make` is not understood"),
            ("FROM b\nCOPY a /b\nCOPY c /d", "`COPY c /d` is not understood"),
            ("FROM b\nCOPY a /b\nENTRYPOINT /b", "is no list of words"),
            ("FROM b\nUSER 1", "it has no program"),
        ] {
            let error = Described::read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
