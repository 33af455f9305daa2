//! `registries.conf`: where images are really pulled from.

use slipway_config::install_config::{Mirror, SourcePolicy};

/// TOML for the mirrors, or nothing when there are none. Several entries for one source become one. Mirrors are for
/// digests, but a `release` that is named by a tag is found there too: elsewhere it may be out of reach.
pub(super) fn registries_conf(mirrors: &[Mirror], release: &str) -> Option<String> {
    let mut registries: Vec<Registry<'_>> = Vec::new();
    for mirror in mirrors.iter().filter(|mirror| !mirror.mirrors.is_empty()) {
        let known = registries.iter().position(|registry| registry.source == mirror.source);
        let index = known.unwrap_or_else(|| {
            let by_tag = !release.contains('@') && covers(&mirror.source, release);
            registries.push(Registry { source: &mirror.source, by_tag, blocked: false, mirrors: Vec::new() });
            registries.len() - 1
        });
        let registry = &mut registries[index];
        registry.blocked |= mirror.source_policy == Some(SourcePolicy::NeverContactSource);
        for location in &mirror.mirrors {
            if !registry.mirrors.contains(&location.as_str()) {
                registry.mirrors.push(location);
            }
        }
    }
    (!registries.is_empty()).then(|| registries.iter().map(Registry::toml).collect::<Vec<_>>().join("\n"))
}

struct Registry<'a> {
    source: &'a str,
    by_tag: bool,
    blocked: bool,
    mirrors: Vec<&'a str>,
}

impl Registry<'_> {
    fn toml(&self) -> String {
        // A wildcard stands for many places, so it is no location.
        let key = if self.source.starts_with("*.") { "prefix" } else { "location" };
        let mut text = format!("[[registry]]\n{key} = {}\n", quoted(self.source));
        text.push_str(&format!("mirror-by-digest-only = {}\n", !self.by_tag));
        if self.blocked {
            text.push_str("blocked = true\n");
        }
        for mirror in &self.mirrors {
            text.push_str(&format!("\n[[registry.mirror]]\nlocation = {}\n", quoted(mirror)));
        }
        text
    }
}

/// Whether an image is in a repository, or below it.
fn covers(source: &str, image: &str) -> bool {
    image.strip_prefix(source).is_some_and(|rest| rest.starts_with(['/', ':', '@']))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use slipway_config::install_config::{Mirror, SourcePolicy};

    use super::registries_conf;

    fn mirror(source: &str, mirrors: &[&str], source_policy: Option<SourcePolicy>) -> Mirror {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        Mirror { source: source.to_owned(), mirrors, source_policy }
    }

    #[test]
    fn sources_are_merged_and_blocked() {
        let never = Some(SourcePolicy::NeverContactSource);
        let conf = registries_conf(
            &[
                mirror("quay.io/release", &["one.example.com/release", "two.example.com/release"], None),
                mirror("*.example.org", &["one.example.com/all"], None),
                mirror("quay.io/unused", &[], never),
                mirror(
                    "quay.io/release",
                    &["two.example.com/release", "three.example.com/\"release\\"],
                    never,
                ),
            ],
            "quay.io/other:1",
        );
        insta::assert_snapshot!(conf.unwrap(), @r#"
        [[registry]]
        location = "quay.io/release"
        mirror-by-digest-only = true
        blocked = true

        [[registry.mirror]]
        location = "one.example.com/release"

        [[registry.mirror]]
        location = "two.example.com/release"

        [[registry.mirror]]
        location = "three.example.com/\"release\\"

        [[registry]]
        prefix = "*.example.org"
        mirror-by-digest-only = true

        [[registry.mirror]]
        location = "one.example.com/all"
        "#);
        assert_eq!(registries_conf(&[], ""), None);
    }

    /// A release that is named by a tag is looked for at its mirror, one with a digest anyway.
    #[rstest::rstest]
    #[case("quay.io/ocp/release:4.20.3", false)]
    #[case("quay.io/ocp/release@sha256:0123", true)]
    #[case("quay.io/ocp/release-more:4.20.3", true)]
    fn tags_of_the_release_are_mirrored(#[case] release: &str, #[case] digest_only: bool) {
        let conf =
            registries_conf(&[mirror("quay.io/ocp/release", &["here.example.com/release"], None)], release);
        assert!(conf.unwrap().contains(&format!("mirror-by-digest-only = {digest_only}")));
    }

    /// A reader of TOML that is not ours.
    #[test]
    fn is_toml() {
        let conf = registries_conf(&[mirror("quay.io/a\"b\\c\u{7}", &["x/\u{1f}é"], None)], "").unwrap();
        let script = "import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.argv[1])))";
        let output = std::process::Command::new("python3").args(["-c", script, &conf]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(read["registry"][0]["location"], "quay.io/a\"b\\c\u{7}");
        assert_eq!(read["registry"][0]["mirror"][0]["location"], "x/\u{1f}é");
    }
}
