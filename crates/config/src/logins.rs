//! Logins for registries, as podman and docker keep them and pull secrets hold them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

/// One registry under three names.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// A login.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: SecretString,
}

impl Login {
    /// `user:password` in base64, as registries are told it.
    pub fn encoded(&self) -> SecretString {
        STANDARD.encode(format!("{}:{}", self.user, self.password.expose_secret())).into()
    }
}

/// What a login is for: a registry, or a path in it.
#[derive(Debug, Clone)]
struct RegistryPath {
    host: String,
    path: String,
}

/// Logins by registry and path.
#[derive(Debug, Clone, Default)]
pub struct Logins(Vec<(RegistryPath, Login)>);

/// What is wrong with a text of logins. It is never quoted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LoginError {
    #[error("JSON with `auths` is expected")]
    Format,
    #[error("the login for `{0}` is not the base64 of user:password")]
    Entry(String),
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl Entry {
    /// Nothing, if the login is not here: a helper program may have it.
    fn login(self) -> Option<Result<Login, ()>> {
        let auth = self.auth.filter(|auth| !auth.is_empty()).map(SecretString::from);
        match (auth, self.username, self.password.map(SecretString::from)) {
            (Some(auth), ..) => Some(decoded(&auth).ok_or(())),
            (None, Some(user), Some(password)) => Some(Ok(Login { user, password })),
            _ => None,
        }
    }
}

fn decoded(auth: &SecretString) -> Option<Login> {
    let text = SecretString::from(String::from_utf8(STANDARD.decode(auth.expose_secret()).ok()?).ok()?);
    let (user, password) = text.expose_secret().split_once(':')?;
    Some(Login { user: user.to_owned(), password: password.into() })
}

impl Logins {
    pub fn parse(text: &str) -> Result<Self, LoginError> {
        // The parser's complaint could quote the text.
        let document: Document = serde_json::from_str(text).map_err(|_| LoginError::Format)?;
        let mut logins = Vec::new();
        for (name, entry) in document.auths {
            let Some(login) = entry.login() else { continue };
            let place = RegistryPath::parse(&name);
            logins.push((place, login.map_err(|()| LoginError::Entry(name))?));
        }
        Ok(Logins(logins))
    }

    /// The login for a repository of a registry: that of the longest path which it is below, as the kubelet chooses. One for
    /// many registries gives way to one for this one.
    pub fn of(&self, host: &str, repository: &str) -> Option<&Login> {
        let host = canonical(host);
        let fitting = self.0.iter().filter(|(place, _)| place.holds(host, repository));
        let (_, login) = fitting.max_by_key(|(place, _)| (place.path.len(), place.host == host))?;
        Some(login)
    }

    /// The same for an image.
    pub fn of_image(&self, image: &str) -> Option<&Login> {
        let (host, path) = image.split_once('/')?;
        let path = path.split_once('@').map_or(path, |(named, _)| named);
        self.of(host, path.rsplit_once(':').map_or(path, |(named, _)| named))
    }
}

impl RegistryPath {
    /// With or without a scheme, and the version of the API that docker adds.
    fn parse(name: &str) -> Self {
        let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
        let name = name.trim_end_matches('/');
        let name = name.strip_suffix("/v1").or_else(|| name.strip_suffix("/v2")).unwrap_or(name);
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        RegistryPath { host: canonical(host).to_owned(), path: path.to_owned() }
    }

    fn holds(&self, host: &str, repository: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let path = self.path.is_empty() || repository.strip_prefix(&*self.path).is_some_and(below);
        path && fits(&self.host, host)
    }
}

fn canonical(host: &str) -> &str {
    if HUB.contains(&host) { HUB[0] } else { host }
}

/// Whether a host is meant: each of its labels may have a `*` for what is left open, and the port counts.
fn fits(pattern: &str, host: &str) -> bool {
    let (patterns, labels) = (pattern.split('.'), host.split('.'));
    patterns.clone().count() == labels.clone().count()
        && patterns.zip(labels).all(|(pattern, label)| match pattern.split_once('*') {
            Some((start, end)) => label.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
            None => pattern == label,
        })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use secrecy::ExposeSecret;

    use super::{LoginError, Logins};

    const SECRET: &str = r#"{"auths": {
        "registry.example.com": {"auth": "d2hvbGU6eA=="},
        "registry.example.com/slipway": {"username": "robot", "password": "sword:fish"},
        "registry.example.com/slip": {"auth": "c2xpcDp4"},
        "registry.example.com/slip/empty": {"auth": ""},
        "other.example.com:5000": {"auth": "b3RoZXI6eA=="},
        "*.wild.example.com": {"auth": "d2lsZDp4"},
        "tame.wild.example.com": {"auth": "dGFtZTp4"},
        "https://index.docker.io/v1/": {"auth": "aHViOng="},
        "empty.example.com": {}
    }, "credsStore": "desktop"}"#;

    #[rstest]
    #[case::registry("registry.example.com/a/b:v1", Some("whole"))]
    #[case::longest("registry.example.com/slipway/slipway:v1", Some("robot"))]
    #[case::whole_words("registry.example.com/slipper:v1", Some("whole"))]
    #[case::the_image_itself("registry.example.com/slip@sha256:00", Some("slip"))]
    #[case::an_empty_one_hides_nothing("registry.example.com/slip/empty/a:v1", Some("slip"))]
    #[case::port("other.example.com:5000/slipway", Some("other"))]
    #[case::another_port("registry.example.com:5000/slipway:v1", None)]
    #[case::no_port("other.example.com/slipway:v1", None)]
    #[case::hub("docker.io/slipway/slipway:v1", Some("hub"))]
    #[case::hub_itself("registry-1.docker.io/slipway/slipway:v1", Some("hub"))]
    #[case::many("b.wild.example.com/slipway:v1@sha256:00", Some("wild"))]
    #[case::one_of_many("tame.wild.example.com/slipway:v1", Some("tame"))]
    #[case::only_one_label("a.b.wild.example.com/slipway:v1", None)]
    #[case::no_login("quay.io/slipway/slipway:v1", None)]
    #[case::longer_name("registry.example.com.evil.org/slipway:v1", None)]
    #[case::empty("empty.example.com/slipway:v1", None)]
    fn chosen(#[case] image: &str, #[case] expected: Option<&str>) {
        let logins = Logins::parse(SECRET).unwrap();
        assert_eq!(logins.of_image(image).map(|login| login.user.as_str()), expected);
    }

    #[test]
    fn told_to_registries() {
        let logins = Logins::parse(SECRET).unwrap();
        let login = logins.of("registry.example.com", "slipway").unwrap();
        assert_eq!(login.password.expose_secret(), "sword:fish");
        assert_eq!(login.encoded().expose_secret(), "cm9ib3Q6c3dvcmQ6ZmlzaA==");
        // A helper program has them all.
        let none = Logins::parse(r#"{"credsStore": "desktop"}"#).unwrap();
        assert!(none.of("registry.example.com", "slipway").is_none());
    }

    #[rstest]
    #[case("hunter2", LoginError::Format)]
    #[case(r#"{"auths": []}"#, LoginError::Format)]
    #[case(r#"{"auths": {"a": {"auth": "hunter2"}}}"#, LoginError::Entry("a".to_owned()))]
    fn refused_and_never_quoted(#[case] text: &str, #[case] expected: LoginError) {
        let error = Logins::parse(text).unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
        assert_eq!(error, expected);
    }
}
