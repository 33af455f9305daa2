//! The parts of an image's name.

/// An image as its registry knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference<'a> {
    /// Name or address of the registry, with its port.
    pub host: &'a str,
    pub repository: &'a str,
    /// A digest, or else a tag.
    pub version: &'a str,
}

impl<'a> Reference<'a> {
    /// Nothing, if the registry or the version is not named.
    pub fn parse(image: &'a str) -> Option<Self> {
        let (name, digest) = match image.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (image, None),
        };
        let (host, path) = name.split_once('/')?;
        // Anything else is a short name, which every program looks for somewhere else.
        if !(host.contains(['.', ':']) || host == "localhost") {
            return None;
        }
        let (repository, tag) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        let host = if host == "docker.io" { "registry-1.docker.io" } else { host };
        let version = digest.or(tag)?;
        (!repository.is_empty() && !version.is_empty()).then_some(Reference { host, repository, version })
    }
}

/// An image without its digest, and the same without its tag where it has a digest.
pub fn by_tag_and_by_digest(image: &str) -> (String, String) {
    let Some((named, digest)) = image.split_once('@') else { return (image.to_owned(), image.to_owned()) };
    let name = match named.rsplit_once(':') {
        // A colon before the last slash is that of a port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => named,
    };
    (named.to_owned(), format!("{name}@{digest}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Reference, by_tag_and_by_digest};

    #[rstest]
    #[case("registry.k8s.io/a/b:v1", Some(("registry.k8s.io", "a/b", "v1")))]
    #[case("localhost:5000/b:v1", Some(("localhost:5000", "b", "v1")))]
    #[case("[::1]:5000/b:v1", Some(("[::1]:5000", "b", "v1")))]
    #[case("docker.io/library/b:v1", Some(("registry-1.docker.io", "library/b", "v1")))]
    #[case("a.example/b:v1@sha256:12", Some(("a.example", "b", "sha256:12")))]
    #[case("library/b:v1", None)]
    #[case("a.example:5000/b", None)]
    #[case("b:v1", None)]
    fn parts(#[case] image: &str, #[case] expected: Option<(&str, &str, &str)>) {
        let expected = expected.map(|(host, repository, version)| Reference { host, repository, version });
        assert_eq!(Reference::parse(image), expected);
    }

    #[rstest]
    #[case("a:5000/b:v1", "a:5000/b:v1", "a:5000/b:v1")]
    #[case("a:5000/b:v1@sha256:12", "a:5000/b:v1", "a:5000/b@sha256:12")]
    #[case("a:5000/b@sha256:12", "a:5000/b", "a:5000/b@sha256:12")]
    fn one_version_at_a_time(#[case] image: &str, #[case] tag: &str, #[case] digest: &str) {
        assert_eq!(by_tag_and_by_digest(image), (tag.to_owned(), digest.to_owned()));
    }
}
