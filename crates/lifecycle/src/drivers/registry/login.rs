//! Whom registries let in: the file that podman and docker keep logins in, and the ways registries ask.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

/// A login.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: SecretString,
}

/// Logins by registry.
#[derive(Debug, Clone, Default)]
pub struct Logins(BTreeMap<String, Login>);

/// What is wrong with a file of logins. It is never quoted.
#[derive(Debug, Error)]
pub enum LoginError {
    #[error("`{0}` is no file of logins: JSON with `auths` is expected")]
    Format(PathBuf),
    #[error("the login for `{registry}` in `{file}` is not the base64 of user:password")]
    Entry { registry: String, file: PathBuf },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
}

impl Logins {
    /// From a file that podman or docker has written. What a helper program keeps is not there.
    pub fn read(file: &Path) -> Result<Self, LoginError> {
        let text = SecretString::from(fs_err::read_to_string(file)?);
        // The parser's complaint could quote the file.
        let parsed: File =
            serde_json::from_str(text.expose_secret()).map_err(|_| LoginError::Format(file.to_owned()))?;
        let mut logins = BTreeMap::new();
        for (registry, entry) in parsed.auths {
            let Some(auth) = entry.auth.map(SecretString::from) else { continue };
            let bad = || LoginError::Entry { registry: registry.clone(), file: file.to_owned() };
            let bytes = STANDARD.decode(auth.expose_secret()).map_err(|_| bad())?;
            let decoded = SecretString::from(String::from_utf8(bytes).map_err(|_| bad())?);
            let (user, password) = decoded.expose_secret().split_once(':').ok_or_else(bad)?;
            logins.insert(registry, Login { user: user.to_owned(), password: password.into() });
        }
        Ok(Logins(logins))
    }

    /// Where such a file is, if nobody says so.
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

    /// The login for a registry.
    pub fn of(&self, host: &str) -> Option<&Login> {
        let hub = || self.0.get("https://index.docker.io/v1/").filter(|_| host == "registry-1.docker.io");
        self.0.get(host).or_else(hub)
    }
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
    use secrecy::ExposeSecret;

    use super::{Challenge, Logins};

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

    #[test]
    fn a_file_of_logins() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| std::fs::write(file.path(), text).unwrap();
        write(r#"{"auths": {"a.example:5000": {"auth": "bWU6c3dvcmQ6ZmlzaA=="}, "b.example": {}}}"#);
        let logins = Logins::read(file.path()).unwrap();
        let login = logins.of("a.example:5000").unwrap();
        assert_eq!((login.user.as_str(), login.password.expose_secret()), ("me", "sword:fish"));
        assert!(logins.of("b.example").is_none() && logins.of("a.example").is_none());
        for (text, part) in [("hunter2", "JSON"), (r#"{"auths": {"a": {"auth": "hunter2"}}}"#, "base64")] {
            write(text);
            let error = Logins::read(file.path()).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        }
    }
}
