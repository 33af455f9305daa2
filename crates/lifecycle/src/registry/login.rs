//! Whom registries let in: where logins are kept, and the ways registries ask for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use slipway_config::logins::{LoginError, Logins};
use thiserror::Error;

/// Why there are no logins from a file. It is never quoted.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("`{file}` is not a file of registry credentials (auth.json)")]
    Logins { file: PathBuf, source: LoginError },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// From a file that podman or docker has written. What a helper program keeps is not there.
pub fn read(file: &Path) -> Result<Logins, FileError> {
    let text = SecretString::from(fs_err::read_to_string(file)?);
    Logins::parse(text.expose_secret()).map_err(|source| FileError::Logins { file: file.to_owned(), source })
}

/// Where such a file is, if the user does not name one.
pub fn usual_places(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let below = |name: &str, path: &str| variable(name).map(|folder| folder.join(path));
    [
        variable("REGISTRY_AUTH_FILE"),
        below("XDG_RUNTIME_DIR", "containers/auth.json"),
        below("DOCKER_CONFIG", "config.json"),
        below("HOME", ".docker/config.json"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How a registry asks for a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    Basic,
    /// A token, from somewhere else.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// From a `WWW-Authenticate` header with one challenge.
    pub fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Challenge::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut parameters = BTreeMap::new();
        let mut rest = rest.trim();
        while let Some((name, value)) = rest.split_once('=') {
            let name = name.trim_matches([',', ' ']).to_lowercase();
            let (value, left) = match value.strip_prefix('"') {
                // Commas are part of what is quoted.
                Some(quoted) => quoted.split_once('"')?,
                None => value.split_once(',').unwrap_or((value, "")),
            };
            parameters.insert(name, value.to_owned());
            rest = left;
        }
        let realm = parameters.remove("realm")?;
        Some(Challenge::Bearer {
            realm,
            service: parameters.remove("service"),
            scope: parameters.remove("scope"),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Challenge;

    fn token(service: Option<&str>, scope: Option<&str>) -> Challenge {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let realm = "https://auth.example.com/token".to_owned();
        Challenge::Bearer { realm, service: owned(service), scope: owned(scope) }
    }

    #[rstest]
    #[case("Basic realm=\"x\"", Some(Challenge::Basic))]
    #[case("Basic", Some(Challenge::Basic))]
    #[case("Negotiate", None)]
    #[case("Bearer service=\"x\"", None)]
    #[case("Bearer realm=\"https://auth.example.com/token", None)]
    #[case("bearer realm=\"https://auth.example.com/token\"", Some(token(None, None)))]
    #[case(
        "Bearer realm=\"https://auth.example.com/token\",service=\"r\",scope=\"repository:a/b:pull,push\"",
        Some(token(Some("r"), Some("repository:a/b:pull,push")))
    )]
    #[case("Bearer realm=https://auth.example.com/token, service=r", Some(token(Some("r"), None)))]
    fn challenges(#[case] header: &str, #[case] expected: Option<Challenge>) {
        assert_eq!(Challenge::parse(header), expected);
    }
}
