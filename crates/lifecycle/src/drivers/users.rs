//! Users with the least privileges for the drivers and the operator: who is there, what is missing, what is too much, and making it so.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;
use serde::Serialize;
use slipway_assets::drivers::privileges;
use slipway_assets::random::Random;
use slipway_providers::vsphere::authorization::{Permission, Role};
use slipway_providers::vsphere::machine_spec::privileges::{
    Place, PrivilegesError, privileges as of_machines,
};
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::{Client, Error, MoRef};
use thiserror::Error as ThisError;

use slipway_assets::random::OsRandom;

/// vCenter's own role that only looks.
const READ_ONLY: &str = "ReadOnly";
/// What vCenter puts into every role.
const IMPLIED: [&str; 3] = ["System.Anonymous", "System.Read", "System.View"];

/// Why it was not done.
#[derive(Debug, ThisError)]
pub enum UserError {
    #[error(transparent)]
    VCenter(#[from] Error),
    #[error("there is no `{0}` in the vCenter")]
    NoObject(String),
    #[error("there is no role `{0}` in the vCenter")]
    NoRole(String),
    #[error("users can only be created in the vCenter's own domain `{own}`, and not in `{given}`")]
    OtherDomain { given: String, own: String },
    #[error(
        "user `{0}` was created in another SSO domain; delete it, and give the SSO domain of this vCenter with `--domain`"
    )]
    Elsewhere(String),
    #[error("the privileges of a Machine cannot be told")]
    Machines(#[from] PrivilegesError),
}

/// The domain of a vCenter that does not tell.
const USUAL_DOMAIN: &str = "vsphere.local";

/// What logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Component {
    CloudProvider,
    StorageProvider,
    /// The operator, which makes virtual machines of Machines.
    Machines,
}

impl Component {
    /// In the names of users and connections.
    pub fn word(self) -> &'static str {
        match self {
            Component::CloudProvider => "cpi",
            Component::StorageProvider => "csi",
            Component::Machines => "machines",
        }
    }
}

/// Who is wanted, and for what.
#[derive(Debug, Clone)]
pub struct Request {
    /// Users and roles are called after it.
    pub prefix: String,
    /// Their domain; without it the vCenter's own.
    pub domain: Option<String>,
    pub components: Vec<Component>,
    /// Inventory paths; none means all.
    pub datacenters: Vec<String>,
    /// Inventory paths of datastores of volumes and machines; none means all in the datacenters.
    pub datastores: Vec<String>,
    /// Inventory paths of folders with the machines of nodes; none means the machine folder of each datacenter.
    pub folders: Vec<String>,
    /// Inventory paths of vSAN clusters for file volumes.
    pub file_clusters: Vec<String>,
}

/// What has to be done about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    Create,
    Update,
    Keep,
}

/// A role that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WantedRole {
    pub name: String,
    pub privileges: BTreeSet<String>,
    pub change: Change,
    #[serde(skip)]
    id: Option<i32>,
}

/// A role on an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    pub object: String,
    pub role: String,
    pub propagate: bool,
    pub change: Change,
    /// Privileges that the user has there beyond the role.
    pub too_much: BTreeSet<String>,
    #[serde(skip)]
    moref: MoRef,
}

/// A user, and everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    pub component: Component,
    pub name: String,
    pub domain: String,
    pub change: Change,
    pub roles: Vec<WantedRole>,
    pub grants: Vec<Grant>,
}

impl User {
    /// As it logs in.
    pub fn login(&self) -> String {
        format!("{}@{}", self.name, self.domain)
    }

    /// As vCenter writes it.
    fn principal(&self) -> String {
        format!("{}\\{}", self.domain.to_uppercase(), self.name)
    }

    /// Nothing is missing, and nothing is too much.
    pub fn is_right(&self) -> bool {
        let kept = |change: Change| change == Change::Keep;
        kept(self.change)
            && self.roles.iter().all(|role| kept(role.change))
            && self.grants.iter().all(|grant| kept(grant.change) && grant.too_much.is_empty())
    }
}

/// The roles of a component, by name, with where they are needed.
struct Places {
    root: MoRef,
    datacenters: BTreeMap<String, MoRef>,
    datastores: BTreeMap<String, MoRef>,
    folders: BTreeMap<String, MoRef>,
    file_clusters: BTreeMap<String, MoRef>,
}

/// Looks at a vCenter as an administrator, and says what there is to do. Changes nothing.
pub async fn plan(client: &Client, request: &Request) -> Result<Vec<User>, UserError> {
    let places = places(client, request).await?;
    let roles = client.roles().await?;
    let known = client.known_privileges().await?;
    let directory = client.directory().await?;
    let domain = match &request.domain {
        Some(domain) => domain.clone(),
        None => client.sso_domain().await?.unwrap_or_else(|| USUAL_DOMAIN.to_owned()),
    };
    let mut users = Vec::new();
    for component in &request.components {
        let name = format!("{}-{}", request.prefix, component.word());
        let there = directory.find(&name, &domain).await?;
        let mut user = User {
            component: *component,
            name,
            domain: domain.clone(),
            change: if there.is_some() { Change::Keep } else { Change::Create },
            roles: Vec::new(),
            grants: Vec::new(),
        };
        for (role, privileges, objects, propagate) in wanted(*component, &request.prefix, &places)? {
            // Older versions do not know all of them.
            let privileges: BTreeSet<String> =
                privileges.into_iter().filter(|name| known.contains(name)).collect();
            if role != READ_ONLY && !user.roles.iter().any(|one| one.name == role) {
                user.roles.push(judge_role(role.clone(), privileges.clone(), &roles));
            }
            for (object, moref) in objects {
                let (propagate, moref) = (propagate, moref.clone());
                user.grants.push(Grant {
                    object: object.clone(),
                    role: role.clone(),
                    propagate,
                    change: Change::Create,
                    too_much: BTreeSet::new(),
                    moref,
                });
            }
        }
        judge_grants(client, &mut user, &roles, there.is_some()).await?;
        users.push(user);
    }
    // It ends by itself.
    let _ = directory.log_out().await;
    Ok(users)
}

/// A role, its privileges, the objects it is needed on, and whether below them too.
type WantedGrants<'p> = (String, Vec<String>, Vec<(String, &'p MoRef)>, bool);

fn wanted<'p>(
    component: Component,
    prefix: &str,
    places: &'p Places,
) -> Result<Vec<WantedGrants<'p>>, PrivilegesError> {
    let list =
        |map: &'p BTreeMap<String, MoRef>| map.iter().map(|(path, moref)| (path.clone(), moref)).collect();
    let root = || vec![("/".to_owned(), &places.root)];
    let read = || (READ_ONLY.to_owned(), Vec::new());
    let role = |word: &str| format!("{prefix}-csi-{word}");
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    Ok(match component {
        Component::CloudProvider => {
            let (name, none) = read();
            vec![(name.clone(), none.clone(), root(), false), (name, none, list(&places.datacenters), true)]
        }
        Component::StorageProvider => {
            let (name, none) = read();
            let mut all = vec![
                (role("search"), named(&privileges::STORAGE_ROOT), root(), false),
                (name, none, list(&places.datacenters), true),
                (role("datastore"), named(&privileges::STORAGE_DATASTORE), list(&places.datastores), false),
                (role("machines"), named(&privileges::STORAGE_MACHINES), list(&places.folders), true),
            ];
            if !places.file_clusters.is_empty() {
                let clusters = list(&places.file_clusters);
                all.push((role("files"), named(&privileges::STORAGE_FILE_CLUSTER), clusters, true));
            }
            all
        }
        Component::Machines => {
            let grant = |(place, names): (Place, BTreeSet<String>)| {
                let (word, objects, propagate) = match place {
                    Place::VCenter => ("vcenter", root(), false),
                    Place::Datacenters => ("datacenter", list(&places.datacenters), true),
                    Place::Folders => ("folder", list(&places.folders), true),
                    Place::Datastores => ("datastore", list(&places.datastores), false),
                };
                (format!("{prefix}-machines-{word}"), names.into_iter().collect(), objects, propagate)
            };
            of_machines()?.into_iter().map(grant).collect()
        }
    })
}

fn judge_role(name: String, privileges: BTreeSet<String>, roles: &[Role]) -> WantedRole {
    let there = roles.iter().find(|role| role.name == name);
    let change = match there {
        None => Change::Create,
        Some(role) if own(&role.privileges) == privileges => Change::Keep,
        Some(_) => Change::Update,
    };
    WantedRole { id: there.map(|role| role.id), name, privileges, change }
}

/// Without what is in every role.
fn own(privileges: &BTreeSet<String>) -> BTreeSet<String> {
    privileges.iter().filter(|name| !IMPLIED.contains(&name.as_str())).cloned().collect()
}

/// Which permissions are there already, and what the user has beyond them.
async fn judge_grants(client: &Client, user: &mut User, roles: &[Role], there: bool) -> Result<(), Error> {
    if !there {
        return Ok(());
    }
    let principal = user.principal();
    let morefs: Vec<MoRef> = user.grants.iter().map(|grant| grant.moref.clone()).collect();
    let has = client.privileges(&principal, &morefs).await?;
    let needed: BTreeMap<&str, &BTreeSet<String>> =
        user.roles.iter().map(|role| (role.name.as_str(), &role.privileges)).collect();
    for grant in &mut user.grants {
        let set = client.permissions(&grant.moref).await?;
        let set = set.iter().find(|one| !one.group && one.principal.eq_ignore_ascii_case(&principal));
        let role = set.and_then(|set| roles.iter().find(|role| role.id == set.role));
        grant.change = match (set, role) {
            (None, _) => Change::Create,
            (Some(set), Some(role)) if role.name == grant.role && set.propagate == grant.propagate => {
                Change::Keep
            }
            _ => Change::Update,
        };
        let nothing = BTreeSet::new();
        let needed = needed.get(grant.role.as_str()).copied().unwrap_or(&nothing);
        // What is set on the object itself counts as well: not every vCenter answers for every user.
        let mut has = has.get(&grant.moref).map(own).unwrap_or_default();
        has.extend(role.map(|role| own(&role.privileges)).unwrap_or_default());
        grant.too_much = has.difference(needed).cloned().collect();
    }
    Ok(())
}

/// A user that was made, or that got a new password.
#[derive(Debug)]
pub struct Made {
    pub component: Component,
    pub login: String,
    pub password: SecretString,
}

/// Carries a plan out. A user that is there gets a new password: the old one cannot be read back.
pub async fn create(client: &Client, users: &[User], told: impl Fn(&str)) -> Result<Vec<Made>, UserError> {
    if let Some(own) = client.sso_domain().await?
        && let Some(user) = users.iter().find(|user| !user.domain.eq_ignore_ascii_case(&own))
    {
        return Err(UserError::OtherDomain { given: user.domain.clone(), own });
    }
    let directory = client.directory().await?;
    let mut made = Vec::new();
    for user in users {
        let password = password();
        if user.change == Change::Create {
            let purpose = match user.component {
                Component::Machines => "the machines of a Kubernetes cluster, created by Slipway",
                _ => "a vSphere driver of Kubernetes, created by Slipway",
            };
            directory.create(&user.name, purpose, &password).await?;
            if directory.find(&user.name, &user.domain).await?.is_none() {
                return Err(UserError::Elsewhere(user.login()));
            }
        } else {
            directory.reset_password(&user.name, &password).await?;
        }
        told(&format!("user {}", user.login()));
        for role in &user.roles {
            match (role.change, role.id) {
                (Change::Keep, _) => continue,
                (Change::Update, Some(id)) => client.update_role(id, &role.name, &role.privileges).await?,
                _ => drop(client.create_role(&role.name, &role.privileges).await?),
            }
            told(&format!("role {}", role.name));
        }
        let roles = client.roles().await?;
        for grant in user.grants.iter().filter(|grant| grant.change != Change::Keep) {
            let role = roles.iter().find(|role| role.name == grant.role);
            let role = role.ok_or_else(|| UserError::NoRole(grant.role.clone()))?.id;
            let permission =
                Permission { principal: user.principal(), group: false, role, propagate: grant.propagate };
            client.set_permissions(&grant.moref, &[permission]).await?;
            told(&format!("{} on {}", grant.role, grant.object));
        }
        made.push(Made { component: user.component, login: user.login(), password });
    }
    // It ends by itself.
    let _ = directory.log_out().await;
    Ok(made)
}

/// Of every kind of character that policies ask for.
fn password() -> SecretString {
    const LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let drawn: String = (0..16).map(|_| char::from(LETTERS[OsRandom.below(LETTERS.len())])).collect();
    format!("{drawn}a9A!").into()
}

async fn places(client: &Client, request: &Request) -> Result<Places, UserError> {
    let root = client.manager("rootFolder").await?;
    let find = async |paths: &[String]| {
        let mut found = BTreeMap::new();
        for path in paths {
            let moref = client.find(path).await?.ok_or_else(|| UserError::NoObject(path.clone()))?;
            found.insert(path.clone(), moref);
        }
        Ok::<_, UserError>(found)
    };
    let below = async |top: &MoRef, kind: &str| {
        let wanted = [PropertySpec { kind, properties: &["name"] }];
        let morefs: Vec<MoRef> =
            client.retrieve_below(top, &wanted).await?.into_iter().map(|object| object.moref).collect();
        let paths = client.paths(&morefs).await?;
        Ok::<BTreeMap<String, MoRef>, UserError>(paths.into_iter().zip(morefs).collect())
    };
    let datacenters = if request.datacenters.is_empty() {
        below(&root, "Datacenter").await?
    } else {
        find(&request.datacenters).await?
    };
    let (mut datastores, mut folders) = (find(&request.datastores).await?, find(&request.folders).await?);
    for (path, datacenter) in &datacenters {
        if request.datastores.is_empty() {
            datastores.extend(below(datacenter, "Datastore").await?);
        }
        if request.folders.is_empty() {
            folders.extend(find(&[format!("{}/vm", path.trim_end_matches('/'))]).await?);
        }
    }
    Ok(Places { root, datacenters, datastores, folders, file_clusters: find(&request.file_clusters).await? })
}
