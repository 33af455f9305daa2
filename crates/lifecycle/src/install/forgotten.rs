//! What was made, is not seen now, and is gone for good: the user says so.

use slipway_engine::Id;
use slipway_providers::provider::NotVisible;

use super::Error;

/// Names of resources, and of endpoints.
#[derive(Debug, Clone, Default)]
pub(super) struct Forgotten(pub(super) Vec<String>);

impl Forgotten {
    pub(super) fn has(&self, id: &Id) -> bool {
        self.0.iter().any(|name| is_meant(name, id))
    }

    /// Only what is not seen can be forgotten.
    pub(super) fn check<'a>(&self, unseen: impl IntoIterator<Item = &'a NotVisible>) -> Result<(), Error> {
        let unseen: Vec<&NotVisible> = unseen.into_iter().collect();
        let is_unseen = |name: &&String| unseen.iter().any(|one| is_meant(name, &one.resource));
        match self.0.iter().find(|name| !is_unseen(name)) {
            Some(name) => Err(Error::NotRemembered { name: name.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether a name that was given means a resource: it is its own, or that of its endpoint, with or without the port.
fn is_meant(name: &str, id: &Id) -> bool {
    let endpoint = id.endpoint.as_str();
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    *id.name == *name || endpoint == name || host == name
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_engine::{Endpoint, Id};

    use super::Forgotten;

    #[rstest]
    #[case("c1-master-0", true)]
    #[case("vc1.example.com:8443", true)]
    #[case("vc1.example.com", true)]
    #[case("vc1", false)]
    #[case("c1-master", false)]
    fn names_of_resources_and_endpoints(#[case] name: &str, #[case] is_meant: bool) {
        let id = Id::new(&Endpoint::from("vc1.example.com:8443"), "machine", "c1-master-0");
        assert_eq!(Forgotten(vec![name.to_owned()]).has(&id), is_meant);
    }
}
