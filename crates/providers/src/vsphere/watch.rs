//! Following changes of objects: one call that waits, instead of many that ask.

use std::collections::BTreeMap;
use std::time::Duration;

use super::client::Client;
use super::error::Error;
use super::moref::{MoRef, Reference};
use super::properties::{PropertySpec, property_sets};
use super::soap::{Body, Element};

/// How long the server holds a call in which nothing happens, at most: shorter than what proxies and firewalls bear, and no
/// longer than a call may take.
const LONG_POLL: Duration = Duration::from_mins(1);

/// What happened to an object.
#[derive(Debug, Clone)]
pub struct Change {
    pub moref: MoRef,
    pub kind: ChangeKind,
    /// Properties with new values; one without a value is unset.
    pub properties: BTreeMap<Box<str>, Option<Element>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Seen for the first time.
    Enter,
    Modify,
    /// Gone, or out of sight.
    Leave,
}

/// A stream of changes. The first answer has everything as it is.
#[derive(Debug)]
pub struct Watch {
    client: Client,
    collector: MoRef,
    version: String,
}

impl Client {
    /// Follows properties of objects.
    pub async fn watch(&self, objects: &[MoRef], specs: &[PropertySpec<'_>]) -> Result<Watch, Error> {
        let parent = self.manager("propertyCollector").await?;
        // A collector of its own: filters of others would answer as well.
        let reply = self.call(&parent, "CreatePropertyCollector", &Body::new()).await?;
        let collector =
            reply.need("returnval").map_err(|cause| self.error("CreatePropertyCollector", cause))?;
        let collector = self.moref(Reference::of(collector));
        let spec = property_sets(specs)
            .each(objects, |body, object| {
                body.object("objectSet", &Body::new().reference("obj", &object.reference))
            })
            .text("reportMissingObjectsInResults", true);
        let body = Body::new().object("spec", &spec).text("partialUpdates", true);
        self.call(&collector, "CreateFilter", &body).await?;
        Ok(Watch { client: self.clone(), collector, version: String::new() })
    }
}

impl Watch {
    /// Waits for the next changes. Returns nothing when nothing changed for a while: ask again.
    pub async fn next(&mut self) -> Result<Vec<Change>, Error> {
        let timeout = self.client.parts().0.timeout;
        let hold = LONG_POLL.min(timeout).max(Duration::from_secs(1));
        let options = Body::new().text("maxWaitSeconds", hold.as_secs());
        let body = Body::new().text("version", &self.version).object("options", &options);
        let deadline = hold + timeout.min(Duration::from_secs(30));
        let reply = self.client.call_within(&self.collector, "WaitForUpdatesEx", &body, deadline).await?;
        let Some(set) = reply.child("returnval") else { return Ok(Vec::new()) };
        set.text_of("version").clone_into(&mut self.version);
        let updates = set.all("filterSet").flat_map(|filter| filter.all("objectSet"));
        Ok(updates.map(|update| self.change(update)).collect())
    }

    fn change(&self, update: &Element) -> Change {
        let kind = match update.text_of("kind") {
            "enter" => ChangeKind::Enter,
            "leave" => ChangeKind::Leave,
            _ => ChangeKind::Modify,
        };
        let reference = update.child("obj").map_or_else(|| Reference::new("", ""), Reference::of);
        let properties = update.all("changeSet").map(|change| {
            let value = if change.text_of("op") == "assign" { change.child("val").cloned() } else { None };
            (change.text_of("name").into(), value)
        });
        Change { moref: self.client.moref(reference), kind, properties: properties.collect() }
    }

    /// Ends the stream on the server's side; it would end with the session otherwise.
    pub async fn end(self) {
        let _ = self.client.call(&self.collector, "DestroyPropertyCollector", &Body::new()).await;
    }
}
