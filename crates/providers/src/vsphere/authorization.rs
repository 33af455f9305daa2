//! What a user may do, on many objects at once.

use std::collections::{BTreeMap, BTreeSet};

use super::client::Client;
use super::error::Error;
use super::moref::{MoRef, Reference};
use super::soap::Body;

impl Client {
    /// The user this session belongs to, with its domain, however it logged in.
    pub async fn user(&self) -> Result<String, Error> {
        let manager = self.manager("sessionManager").await?;
        let properties = ["currentSession"];
        let wanted = [super::properties::Wanted { kind: "SessionManager", properties: &properties }];
        let objects = self.retrieve(&[manager], &wanted).await?;
        let session = objects.first().and_then(|object| object.properties.get("currentSession"));
        Ok(session.map_or("", |session| session.text_of("userName")).to_owned())
    }

    /// The privileges this vCenter knows: older versions lack some.
    pub async fn known_privileges(&self) -> Result<BTreeSet<String>, Error> {
        let manager = self.manager("authorizationManager").await?;
        let properties = ["privilegeList"];
        let wanted = [super::properties::Wanted { kind: "AuthorizationManager", properties: &properties }];
        let objects = self.retrieve(&[manager], &wanted).await?;
        let list = objects.first().and_then(|object| object.properties.get("privilegeList"));
        let privileges = list.into_iter().flat_map(|list| &list.children);
        Ok(privileges.map(|privilege| privilege.text_of("privId").to_owned()).collect())
    }

    /// The privileges a user has on each object, in one call.
    pub async fn privileges(
        &self,
        user: &str,
        objects: &[MoRef],
    ) -> Result<BTreeMap<MoRef, BTreeSet<String>>, Error> {
        if objects.is_empty() {
            return Ok(BTreeMap::new());
        }
        let manager = self.manager("authorizationManager").await?;
        let body = Body::new()
            .each(objects, |body, object| body.reference("entities", &object.reference))
            .text("userName", user);
        let reply = self.read(&manager, "FetchUserPrivilegeOnEntities", &body).await?;
        let results = reply.all("returnval").filter_map(|result| {
            let entity = Reference::of(result.child("entity")?);
            let privileges = result.all("privileges").map(|privilege| privilege.text.to_string());
            Some((self.moref(entity), privileges.collect()))
        });
        Ok(results.collect())
    }
}
