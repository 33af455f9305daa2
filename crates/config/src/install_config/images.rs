//! Where images come from: the pull secret and mirrors.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use super::Check;
use crate::decode::{Entries, Field, Located, choice, object};
use crate::findings::Rule;
use crate::yaml::printable;

object! {
    /// Mirrors of a repository.
    WrittenMirror {
        /// The repository as it stands in image names.
        source: String as "source", required;
        /// Repositories that hold the same images.
        mirrors: Entries<String> as "mirrors";
        /// What happens when no mirror has the image.
        source_policy: SourcePolicy as "sourcePolicy", default "AllowContactingSource";
    }
}

choice! {
    /// What happens when no mirror has an image.
    SourcePolicy {
        /// It is taken from the source.
        AllowContactingSource = "AllowContactingSource",
        /// The pull fails.
        NeverContactSource = "NeverContactSource",
    }
}

/// Mirrors of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub source: String,
    pub mirrors: Vec<String>,
    pub source_policy: Option<SourcePolicy>,
}

/// The new field, or the deprecated one. `registries` are those the pull secret has logins for, if it can be read.
pub(super) fn mirrors(
    digest: &Field<Entries<WrittenMirror>>,
    content: &Field<Entries<WrittenMirror>>,
    registries: Option<&BTreeSet<String>>,
    check: &mut Check<'_>,
) -> Option<Vec<Mirror>> {
    if let (Some(old), false, false) = (content.at(), content.is_empty(), digest.is_empty()) {
        check
            .findings
            .error(Rule::Mirrors, old, "`imageContentSources` and `imageDigestSources` are both given")
            .hint("move everything to `imageDigestSources`");
    }
    let mut told = BTreeSet::new();
    for Located { value, .. } in content.items().chain(digest.items()) {
        if let Some(source) = value.source.located() {
            check_repository(source, check);
        }
        if let (Some(policy), true) = (value.source_policy.at(), value.mirrors.is_empty()) {
            check
                .findings
                .error(Rule::Mirrors, policy, "`sourcePolicy` says nothing without mirrors")
                .hint("add `mirrors`, or remove `sourcePolicy`");
        }
        for mirror in value.mirrors.items() {
            let registry = registry(&mirror.value);
            if !check_repository(mirror, check) {
                continue;
            }
            if registries.is_some_and(|known| !known.contains(registry)) && told.insert(registry) {
                let message = format!("the pull secret has no login for `{}`", printable(registry));
                check
                    .findings
                    .warning(Rule::MirrorLogin, mirror.at, message)
                    .hint("add one, unless the registry needs no credentials");
            }
        }
    }
    let list = if digest.is_empty() { content } else { digest };
    let mirrors = list.items().map(|Located { value, .. }| {
        let usable = !value.mirrors.is_partial() && !value.source_policy.is_invalid();
        usable.then_some(Mirror {
            source: value.source.get()?.clone(),
            mirrors: value.mirrors.items().map(|mirror| mirror.value.clone()).collect(),
            source_policy: value.source_policy.get().copied(),
        })
    });
    if list.is_partial() { None } else { mirrors.collect() }
}

/// The registry of a repository.
fn registry(repository: &str) -> &str {
    repository.split('/').next().unwrap_or(repository)
}

/// A registry, or a repository of one: what an ImageDigestMirrorSet takes, but that the registry must be told from a part of
/// the path, as openshift-install asks.
fn check_repository(repository: &Located<String>, check: &mut Check<'_>) -> bool {
    let text = &repository.value;
    let (registry, path) = match text.split_once('/') {
        Some((registry, path)) => (registry, Some(path)),
        None => (text.as_str(), None),
    };
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let is_label = |label: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(inside) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_registry = host.split('.').all(is_label)
        && port.is_none_or(|port| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()));
    let is_told_apart = path.is_none() || registry.contains(['.', ':']) || registry == "localhost";
    if is_registry && is_told_apart && path.is_none_or(|path| path.split('/').all(is_path_part)) {
        return true;
    }
    let hint = if text.contains("://") {
        "leave out the scheme: registry.example.com/team/images"
    } else if text.contains('*') {
        "there are no wildcards; list each repository"
    } else if text.starts_with('[') {
        "give the registry a DNS name; IPv6 addresses are not possible here"
    } else if path.is_some_and(|path| path.contains([':', '@'])) {
        "leave out tag and digest: a mirror is for all images of a repository"
    } else {
        "write registry and repository: registry.example.com/team/images"
    };
    check
        .findings
        .error(Rule::Mirrors, repository.at, format!("`{}` is not a repository", printable(text)))
        .hint(hint);
    false
}

/// Lower-case words with `.`, `_`, `__` or dashes between them.
fn is_path_part(part: &str) -> bool {
    let is_word_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let edges = part.starts_with(is_word_letter) && part.ends_with(is_word_letter);
    let mut between = part.split(is_word_letter).filter(|between| !between.is_empty());
    edges
        && between.all(|between| {
            matches!(between, "." | "_" | "__") || between.chars().all(|separator| separator == '-')
        })
}

/// The registries a pull secret has logins for, without scheme and path.
pub(super) fn registries(secret: &SecretString) -> Option<BTreeSet<String>> {
    let json: serde_json::Value = serde_json::from_str(secret.expose_secret()).ok()?;
    let auths = json.get("auths")?.as_object()?;
    let host = |key: &String| {
        let address = key.split_once("://").map_or(key.as_str(), |(_, rest)| rest);
        registry(address).to_owned()
    };
    Some(auths.keys().map(host).collect())
}

/// A JSON document with credentials for registries.
pub(super) fn check_pull_secret(secret: &Located<SecretString>, check: &mut Check<'_>) -> bool {
    match pull_secret(secret.value.expose_secret()) {
        Ok(doubtful) => {
            for registry in doubtful {
                let message =
                    format!("`auth` of {registry} in the pull secret is not base64 of user:password");
                check.findings.warning(Rule::PullSecret, secret.at, message).hint("copy the document anew");
            }
            true
        }
        Err(reason) => {
            let hint = "copy the whole JSON document and put it into single quotes";
            check.findings.error(Rule::PullSecret, secret.at, reason).hint(hint);
            false
        }
    }
}

/// The registries whose credentials look odd, or why it is no pull secret. Never repeats any of the text: the
/// parser's own words could.
fn pull_secret(text: &str) -> Result<Vec<String>, String> {
    let json: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        format!("the pull secret is not JSON (line {}, column {} of it)", error.line(), error.column())
    })?;
    let auths = json.get("auths").and_then(serde_json::Value::as_object);
    let auths = auths.filter(|auths| !auths.is_empty()).ok_or("the pull secret has no `auths`")?;
    let mut doubtful = Vec::new();
    for (registry, entry) in auths {
        let registry = printable(registry);
        let text =
            |key: &str| entry.get(key).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty());
        match (text("auth"), text("credsStore")) {
            (None, None) => {
                return Err(format!("the pull secret has neither `auth` nor `credsStore` for {registry}"));
            }
            (Some(auth), _) if !is_pair(auth) => doubtful.push(registry),
            _ => {}
        }
    }
    Ok(doubtful)
}

fn is_pair(auth: &str) -> bool {
    STANDARD.decode(auth).is_ok_and(|pair| pair.contains(&b':'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::pull_secret;

    #[rstest]
    #[case(r#"{"auths":{"quay.io":{"auth":"dXNlcjpwdw=="}}}"#, "")]
    #[case(r#"{"auths":{"quay.io":{"credsStore":"desktop"}}}"#, "")]
    #[case(r#"{"auths":{"quay.io":{"auth":"hunter2!"}}}"#, "doubtful: quay.io")]
    #[case(r#"{"auths":{}}"#, "the pull secret has no `auths`")]
    #[case("[]", "the pull secret has no `auths`")]
    #[case(r#"{"auths":{"quay.io":{}}}"#, "the pull secret has neither `auth` nor `credsStore` for quay.io")]
    #[case("hunter2", "the pull secret is not JSON (line 1, column 1 of it)")]
    fn is_checked_without_being_shown(#[case] text: &str, #[case] expected: &str) {
        let said = match pull_secret(text) {
            Ok(doubtful) if doubtful.is_empty() => String::new(),
            Ok(doubtful) => format!("doubtful: {}", doubtful.join(", ")),
            Err(reason) => reason,
        };
        assert_eq!(said, expected);
    }
}
