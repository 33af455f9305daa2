//! Asking a vCenter. One login for each look, so that a password that no longer works is noticed: these are the only sessions that
//! controllers do not share.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use slipway_api::slipway::VSphereConnectionSpec;
use slipway_api::slipway::connection::{MissingPrivileges, ResourceKind};
use slipway_assets::drivers::Connection;
use slipway_providers::text::chain;
use slipway_providers::vsphere::client::About;
use slipway_providers::vsphere::inventory::{self, Facet, Item, Scope};
use slipway_providers::vsphere::paths::unescape;
use slipway_providers::vsphere::{Client, Endpoint, Error, FaultKind, Login, MoRef};
use tokio::time::timeout;

use super::demands::Demands;
use super::problem::Problem;

/// How long a vCenter may take to say who it is.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// How long everything else may take.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// What was found out.
#[derive(Debug, Default)]
pub struct Observed {
    pub about: Option<About>,
    /// The user as the vCenter knows it.
    pub user: Option<String>,
    /// The version of the Secret it logged in with.
    pub credentials_version: Option<String>,
    pub problems: Vec<Problem>,
}

/// Looks at a vCenter. Without credentials only whether it can be reached is found out.
pub async fn observe(
    connection: &Connection,
    credentials: Result<(), Problem>,
    spec: &VSphereConnectionSpec,
    demands: &Demands,
) -> Observed {
    let mut endpoint = Endpoint::new(&connection.server, connection.port, &connection.tls);
    endpoint.timeout = Duration::from_secs(30);
    let login = Login { user: connection.user.clone(), password: connection.password.expose().into() };
    let mut seen = Observed::default();
    let client = match Client::new(endpoint, login) {
        Ok(client) => client,
        Err(error) => {
            seen.problems.push(Problem::unreached(&error));
            return seen;
        }
    };
    match timeout(CONNECT_TIMEOUT, client.content()).await {
        Ok(Ok(content)) => seen.about = Some(content.about.clone()),
        Ok(Err(error)) => seen.problems.push(Problem::unreached(&error)),
        Err(_) => seen
            .problems
            .push(Problem::Timeout { server: connection.server.clone(), seconds: CONNECT_TIMEOUT.as_secs() }),
    }
    if let Err(problem) = credentials {
        seen.problems.push(problem);
    }
    if !seen.problems.is_empty() {
        return seen;
    }
    if timeout(READ_TIMEOUT, inside(&client, spec, demands, &mut seen)).await.is_err() {
        let limit = Problem::Timeout { server: connection.server.clone(), seconds: READ_TIMEOUT.as_secs() };
        seen.problems.push(limit);
    }
    // Whatever became of the look: a login may have worked whose answer was not heard.
    if let Err(error) = client.logout().await {
        tracing::debug!(connection = connection.name, error = chain(&error), "a session was left behind");
    }
    seen
}

/// What only a user of the vCenter sees.
async fn inside(client: &Client, spec: &VSphereConnectionSpec, demands: &Demands, seen: &mut Observed) {
    let user = match client.user().await {
        Ok(user) => user,
        Err(error) => {
            seen.problems.push(Problem::refused(&error));
            return;
        }
    };
    seen.user = Some(user.clone());
    let mut problems = Vec::new();
    let judged = async {
        let needs = needs(client, spec, demands, &mut problems).await?;
        let missing = missing(client, &user, needs).await?;
        if !missing.is_empty() {
            problems.push(Problem::PrivilegeMissing(missing));
        }
        if !demands.categories.is_empty() {
            let there: BTreeSet<String> =
                client.categories().await?.into_iter().map(|category| category.name).collect();
            let absent: Vec<String> = demands.categories.difference(&there).cloned().collect();
            if !absent.is_empty() {
                problems.push(Problem::TagCategoryMissing(absent));
            }
        }
        Ok::<(), Error>(())
    };
    if let Err(error) = judged.await {
        problems.push(interrupted(&error));
    }
    seen.problems.append(&mut problems);
}

/// A look that could not be finished.
fn interrupted(error: &Error) -> Problem {
    match error.fault().map(|fault| &fault.kind) {
        Some(FaultKind::NoPermission { privilege, .. }) => {
            let missing =
                MissingPrivileges { object: "/".to_owned(), privileges: vec![privilege.to_string()] };
            Problem::PrivilegeMissing(vec![missing])
        }
        _ => Problem::CheckFailed(chain(error)),
    }
}

/// An object by its name, and what the user needs there.
type Need = (String, MoRef, BTreeSet<&'static str>);

async fn needs(
    client: &Client,
    spec: &VSphereConnectionSpec,
    demands: &Demands,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Need>, Error> {
    let root = client.manager("rootFolder").await?;
    let mut needs = vec![("/".to_owned(), root.clone(), demands.on_root())];
    let inventory = inventory::read(client, &Scope::of([Facet::Datacenters])).await?;
    let datacenters: Vec<&Item> = inventory.all().filter(|item| item.is("Datacenter")).collect();
    let on_datacenter = demands.on(ResourceKind::Datacenter);
    let named = |name: &str| {
        let found = datacenters.iter().filter(|datacenter| unescape(datacenter.name()) == name);
        found.map(|datacenter| client.moref(datacenter.id.clone())).collect::<Vec<MoRef>>()
    };
    for path in &spec.datacenters {
        let name = unescape(path.rsplit('/').next().unwrap_or(path)).into_owned();
        let found = match &named(&name)[..] {
            [only] => Some(only.clone()),
            [] => None,
            // Several of this name: the path decides.
            _ => client.find(path).await?,
        };
        match found {
            Some(moref) => needs.push((path.clone(), moref, on_datacenter.clone())),
            None => problems.push(Problem::ObjectMissing { kind: "Datacenter".into(), path: path.clone() }),
        }
    }
    if datacenters.is_empty() && spec.datacenters.is_empty() {
        problems.push(Problem::ObjectMissing { kind: "Datacenter".into(), path: "/".into() });
    }
    for resource in &spec.resources {
        match client.find(&resource.path).await? {
            Some(moref) => needs.push((resource.path.clone(), moref, demands.on(resource.kind))),
            None => problems.push(Problem::ObjectMissing {
                kind: format!("{:?}", resource.kind),
                path: resource.path.clone(),
            }),
        }
    }
    Ok(needs)
}

/// What the user lacks. Privileges that this version does not know are not missing.
async fn missing(client: &Client, user: &str, needs: Vec<Need>) -> Result<Vec<MissingPrivileges>, Error> {
    let objects: Vec<MoRef> = needs.iter().map(|(_, moref, _)| moref.clone()).collect();
    let has: BTreeMap<MoRef, BTreeSet<String>> = client.privileges(user, &objects).await?;
    let nothing = BTreeSet::new();
    let mut missing = Vec::new();
    let mut known: Option<BTreeSet<String>> = None;
    for (object, moref, needed) in needs {
        let has = has.get(&moref).unwrap_or(&nothing);
        let mut lacks: Vec<String> =
            needed.into_iter().filter(|privilege| !has.contains(*privilege)).map(str::to_owned).collect();
        if lacks.is_empty() {
            continue;
        }
        let known = match &mut known {
            Some(known) => known,
            none => none.insert(client.known_privileges().await?),
        };
        lacks.retain(|privilege| known.contains(privilege));
        if !lacks.is_empty() {
            missing.push(MissingPrivileges { object, privileges: lacks });
        }
    }
    Ok(missing)
}
