//! Where images come from: the pull secret and mirrors.

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

/// The new field, or the deprecated one.
pub(super) fn mirrors(
    digest: &Field<Entries<WrittenMirror>>,
    content: &Field<Entries<WrittenMirror>>,
    check: &mut Check<'_>,
) -> Option<Vec<Mirror>> {
    if let (Some(old), false, false) = (content.at(), content.is_empty(), digest.is_empty()) {
        check
            .findings
            .error(Rule::Mirrors, old, "`imageContentSources` and `imageDigestSources` are both given")
            .hint("move everything to `imageDigestSources`");
        return None;
    }
    let list = if digest.is_empty() { content } else { digest };
    let mut mirrors = Vec::new();
    let mut usable = !list.is_partial();
    for Located { value, .. } in list.items() {
        for repository in value.source.located().into_iter().chain(value.mirrors.items()) {
            usable &= check_repository(repository, check);
        }
        match value.source.get() {
            Some(source) if !value.mirrors.is_partial() && !value.source_policy.is_invalid() => {
                mirrors.push(Mirror {
                    source: source.clone(),
                    mirrors: value.mirrors.items().map(|mirror| mirror.value.clone()).collect(),
                    source_policy: value.source_policy.get().copied(),
                });
            }
            _ => usable = false,
        }
    }
    usable.then_some(mirrors)
}

fn check_repository(repository: &Located<String>, check: &mut Check<'_>) -> bool {
    let text = &repository.value;
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let host_ok = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]*".contains(c));
    let path_ok = path.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c))
        && !path.ends_with('/');
    if host_ok && path_ok {
        return true;
    }
    let hint = if text.contains("://") {
        "leave out the scheme: registry.example.com/team/images"
    } else if path.contains([':', '@']) {
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
