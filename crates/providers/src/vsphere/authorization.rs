//! What users may do: privileges, roles, permissions.

use std::collections::{BTreeMap, BTreeSet};

use super::client::Client;
use super::error::Error;
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed};

/// A set of privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub id: i32,
    pub name: String,
    /// Whether it is one of vCenter's own, which nobody changes.
    pub system: bool,
    pub privileges: BTreeSet<String>,
}

/// A role that somebody has on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// As `DOMAIN\name`, the way vCenter writes it.
    pub principal: String,
    pub group: bool,
    pub role: i32,
    /// Whether it is also for what is below the object.
    pub propagate: bool,
}

impl Client {
    /// The user this session belongs to, with its domain, however it logged in.
    pub async fn user(&self) -> Result<String, Error> {
        let manager = self.manager("sessionManager").await?;
        let session = self.property(&manager, "currentSession").await?;
        Ok(session.map_or_else(String::new, |session| session.text_of("userName").to_owned()))
    }

    /// The privileges this vCenter knows: older versions lack some.
    pub async fn known_privileges(&self) -> Result<BTreeSet<String>, Error> {
        let manager = self.manager("authorizationManager").await?;
        let list = self.property(&manager, "privilegeList").await?.unwrap_or_default();
        Ok(list.children.iter().map(|privilege| privilege.text_of("privId").to_owned()).collect())
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

    pub async fn roles(&self) -> Result<Vec<Role>, Error> {
        let manager = self.manager("authorizationManager").await?;
        let list = self.property(&manager, "roleList").await?.unwrap_or_default();
        let roles: Result<_, Malformed> = list.children.iter().map(role).collect();
        roles.map_err(|cause| self.error("roles", cause))
    }

    /// Makes a role; the result is its id.
    pub async fn create_role(&self, name: &str, privileges: &BTreeSet<String>) -> Result<i32, Error> {
        let method = "AddAuthorizationRole";
        let manager = self.manager("authorizationManager").await?;
        let body = Body::new()
            .text("name", name)
            .each(privileges, |body, privilege| body.text("privIds", privilege));
        let reply = self.call(&manager, method, &body).await?;
        let id = reply.need("returnval").and_then(|id| small(id, "returnval"));
        id.map_err(|cause| self.error(method, cause))
    }

    /// Gives a role another name and other privileges.
    pub async fn update_role(&self, id: i32, name: &str, privileges: &BTreeSet<String>) -> Result<(), Error> {
        let manager = self.manager("authorizationManager").await?;
        let body = Body::new()
            .text("roleId", id)
            .text("newName", name)
            .each(privileges, |body, privilege| body.text("privIds", privilege));
        self.call(&manager, "UpdateAuthorizationRole", &body).await.map(drop)
    }

    /// Removes a role, unless somebody has it.
    pub async fn remove_role(&self, id: i32) -> Result<(), Error> {
        let manager = self.manager("authorizationManager").await?;
        let body = Body::new().text("roleId", id).text("failIfUsed", true);
        self.call(&manager, "RemoveAuthorizationRole", &body).await.map(drop)
    }

    /// The permissions set on an object itself.
    pub async fn permissions(&self, object: &MoRef) -> Result<Vec<Permission>, Error> {
        let method = "RetrieveEntityPermissions";
        let manager = self.manager("authorizationManager").await?;
        let body = Body::new().reference("entity", &object.reference).text("inherited", false);
        let reply = self.read(&manager, method, &body).await?;
        let permissions: Result<_, Malformed> = reply.all("returnval").map(permission).collect();
        permissions.map_err(|cause| self.error(method, cause))
    }

    /// Sets permissions on an object; those of others stay.
    pub async fn set_permissions(&self, object: &MoRef, permissions: &[Permission]) -> Result<(), Error> {
        let manager = self.manager("authorizationManager").await?;
        let body =
            Body::new().reference("entity", &object.reference).each(permissions, |body, permission| {
                let Permission { principal, group, role, propagate } = permission;
                let permission = Body::new()
                    .reference("entity", &object.reference)
                    .text("principal", principal)
                    .text("group", group)
                    .text("roleId", role)
                    .text("propagate", propagate);
                body.object("permission", &permission)
            });
        self.call(&manager, "SetEntityPermissions", &body).await.map(drop)
    }

    /// Takes away what somebody may do on an object.
    pub async fn remove_permission(&self, object: &MoRef, principal: &str, group: bool) -> Result<(), Error> {
        let manager = self.manager("authorizationManager").await?;
        let body =
            Body::new().reference("entity", &object.reference).text("user", principal).text("isGroup", group);
        self.call(&manager, "RemoveEntityPermission", &body).await.map(drop)
    }
}

fn role(element: &Element) -> Result<Role, Malformed> {
    Ok(Role {
        id: small(element.need("roleId")?, "roleId")?,
        name: element.text_of("name").to_owned(),
        system: element.need("system")?.boolean("system")?,
        privileges: element.all("privilege").map(|privilege| privilege.text.to_string()).collect(),
    })
}

fn permission(element: &Element) -> Result<Permission, Malformed> {
    Ok(Permission {
        principal: element.text_of("principal").to_owned(),
        group: element.need("group")?.boolean("group")?,
        role: small(element.need("roleId")?, "roleId")?,
        propagate: element.need("propagate")?.boolean("propagate")?,
    })
}

fn small(element: &Element, field: &'static str) -> Result<i32, Malformed> {
    let wrong = |_| Malformed::Value { field, wanted: "a small number", text: element.text.to_string() };
    i32::try_from(element.integer(field)?).map_err(wrong)
}
