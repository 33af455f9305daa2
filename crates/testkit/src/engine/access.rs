//! Who may do what: users, tokens, roles.

use std::collections::BTreeMap;

use super::fault::Refusal;
use super::kind::Kind;
use super::world::{Caller, World};

/// How users are named when they log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Login {
    /// `admin@internal`.
    #[default]
    Internal,
    /// `admin@ovirt@internalsso`, as engines that log in through Keycloak have it.
    Keycloak,
}

/// The administrator where the profile is internal.
pub const ADMIN: (&str, &str) = ("admin@internal", "secret-of-admin");
/// The administrator where Keycloak is asked.
pub const KEYCLOAK_ADMIN: (&str, &str) = ("admin@ovirt@internalsso", "secret-of-admin");

/// A role of a user on an object, or on everything.
#[derive(Debug, Clone)]
pub struct Grant {
    pub role: String,
    /// The segment of its collection, and its id.
    pub on: Option<(String, String)>,
}

/// What actions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    CreateVm,
    EditVm,
    DeleteVm,
    RunVm,
    StopVm,
    CreateTemplate,
    DeleteTemplate,
    CreateDisk,
    EditDisk,
    DeleteDisk,
    UseProfile,
    ManageTags,
    ManageAffinity,
    ManagePermissions,
    Migrate,
}

use Permit::{
    CreateDisk, CreateTemplate, CreateVm, DeleteDisk, DeleteTemplate, DeleteVm, EditDisk, EditVm,
    ManageAffinity, ManagePermissions, ManageTags, Migrate, RunVm, StopVm, UseProfile,
};

/// Roles, whether they are an administrator's, and what they permit.
pub(super) const ROLES: [(&str, bool, &[Permit]); 11] = [
    (
        "SuperUser",
        true,
        &[
            CreateVm,
            EditVm,
            DeleteVm,
            RunVm,
            StopVm,
            CreateTemplate,
            DeleteTemplate,
            CreateDisk,
            EditDisk,
            DeleteDisk,
            UseProfile,
            ManageTags,
            ManageAffinity,
            ManagePermissions,
            Migrate,
        ],
    ),
    (
        "ClusterAdmin",
        true,
        &[
            CreateVm,
            EditVm,
            DeleteVm,
            RunVm,
            StopVm,
            CreateDisk,
            EditDisk,
            UseProfile,
            ManageAffinity,
            Migrate,
            CreateTemplate,
            DeleteTemplate,
        ],
    ),
    (
        "DataCenterAdmin",
        true,
        &[
            CreateVm,
            EditVm,
            DeleteVm,
            RunVm,
            StopVm,
            CreateTemplate,
            DeleteTemplate,
            CreateDisk,
            EditDisk,
            DeleteDisk,
            UseProfile,
            ManageAffinity,
            Migrate,
        ],
    ),
    ("StorageAdmin", true, &[CreateDisk, EditDisk, DeleteDisk]),
    ("TagManager", true, &[ManageTags]),
    ("UserVmManager", false, &[EditVm, DeleteVm, RunVm, StopVm, EditDisk, DeleteDisk]),
    ("PowerUserRole", false, &[CreateVm, CreateTemplate, CreateDisk, UseProfile]),
    ("VmCreator", false, &[CreateVm]),
    ("DiskCreator", false, &[CreateDisk]),
    ("VnicProfileUser", false, &[UseProfile]),
    ("UserRole", false, &[RunVm, StopVm]),
];

#[derive(Debug, Clone)]
struct Account {
    id: String,
    password: String,
    grants: Vec<Grant>,
}

#[derive(Debug, Clone)]
struct Token {
    user: String,
    last_used: i64,
}

#[derive(Debug)]
pub(super) struct Access {
    login: Login,
    accounts: BTreeMap<String, Account>,
    tokens: BTreeMap<String, Token>,
    /// Tokens end after that many idle milliseconds.
    pub(super) idle_limit: i64,
    issued: u64,
}

impl Access {
    pub(super) fn new(login: Login) -> Self {
        let mut access = Access {
            login,
            accounts: BTreeMap::new(),
            tokens: BTreeMap::new(),
            // What an engine has if nothing else is configured.
            idle_limit: 30 * 60 * 1000,
            issued: 0,
        };
        let (name, password) = match login {
            Login::Internal => ADMIN,
            Login::Keycloak => KEYCLOAK_ADMIN,
        };
        let everything = Grant { role: "SuperUser".to_owned(), on: None };
        access.add(name, password, vec![everything], "2768bc2a-e123-11f1-899f-02fc00000001");
        access
    }

    pub(super) fn add(&mut self, name: &str, password: &str, grants: Vec<Grant>, id: &str) {
        let account = Account { id: id.to_owned(), password: password.to_owned(), grants };
        self.accounts.insert(name.to_owned(), account);
    }

    /// Who may do everything.
    pub(super) fn administrator(&self) -> String {
        match self.login {
            Login::Internal => ADMIN.0.to_owned(),
            Login::Keycloak => KEYCLOAK_ADMIN.0.to_owned(),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.accounts.iter().map(|(name, account)| (name.as_str(), account.id.as_str()))
    }

    pub(super) fn user_id(&self, name: &str) -> String {
        self.accounts.get(name).map(|account| account.id.clone()).unwrap_or_default()
    }

    /// A login: the name has its profile behind the last `@`.
    pub(super) fn check(&self, name: &str, password: &str) -> Result<(), String> {
        let refused = |why: &str| Err(format!("Cannot authenticate user '{name}': {why}."));
        let profile = match self.login {
            Login::Internal => "internal",
            Login::Keycloak => "internalsso",
        };
        match name.rsplit_once('@') {
            None => return refused("No valid profile found in credentials"),
            Some((_, given)) if given != profile => {
                return refused(&format!("No valid profile found in credentials for profile '{given}'"));
            }
            Some(_) => {}
        }
        match self.accounts.get(name) {
            Some(account) if account.password == password => Ok(()),
            _ => {
                refused("Unable to log in. Verify your login information or contact the system administrator")
            }
        }
    }

    pub(super) fn issue(&mut self, user: &str, now: i64) -> String {
        self.issued += 1;
        let token = format!("token-{:06}-{}", self.issued, user.len());
        self.tokens.insert(token.clone(), Token { user: user.to_owned(), last_used: now });
        token
    }

    /// The user of a token that is still good.
    pub(super) fn user_of(&mut self, token: &str, now: i64) -> Option<String> {
        let limit = self.idle_limit;
        let held = self.tokens.get_mut(token)?;
        if now - held.last_used > limit {
            self.tokens.remove(token);
            return None;
        }
        held.last_used = now;
        Some(held.user.clone())
    }

    pub(super) fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    pub(super) fn forget_tokens(&mut self) {
        self.tokens.clear();
    }

    pub(super) fn token_count(&self) -> usize {
        self.tokens.len()
    }

    fn grants(&self, user: &str) -> &[Grant] {
        self.accounts.get(user).map_or(&[], |account| account.grants.as_slice())
    }

    pub(super) fn grant(&mut self, user: &str, grant: Grant) {
        if let Some(account) = self.accounts.get_mut(user) {
            account.grants.push(grant);
        }
    }

    /// Whether one of the user's roles is an administrator's: only those may ask without a filter.
    pub(super) fn is_administrator(&self, user: &str) -> bool {
        let admin = |grant: &Grant| ROLES.iter().any(|(name, is_admin, _)| *name == grant.role && *is_admin);
        self.grants(user).iter().any(admin)
    }
}

impl World {
    /// Whether something may be done to an object.
    pub(super) fn allow(&self, caller: &Caller, permit: Permit, kind: Kind, id: &str) -> Result<(), Refusal> {
        let chain = self.above(kind, id);
        let permits = |grant: &Grant| {
            let role = ROLES.iter().find(|(name, _, _)| *name == grant.role);
            role.is_some_and(|(_, _, permits)| permits.contains(&permit)) && reaches(grant, &chain)
        };
        if self.access.grants(&caller.user).iter().any(permits) {
            return Ok(());
        }
        Err(Refusal::Forbidden("[User is not authorized to perform this action.]".to_owned()))
    }

    /// Whether an object is shown to a caller whose lists are filtered.
    pub(super) fn sees(&self, caller: &Caller, kind: Kind, id: &str) -> bool {
        if !caller.is_filtered
            || matches!(kind, Kind::Tag | Kind::InstanceType | Kind::OperatingSystem | Kind::Role)
        {
            return true;
        }
        let chain = self.above(kind, id);
        let is_above = |grant: &Grant| {
            let Some((of, granted)) = &grant.on else { return false };
            let Some(of) = Kind::of_collection(of) else { return false };
            // What a granted object lies in is shown, too.
            matches!(kind, Kind::DataCenter | Kind::Cluster)
                && self.above(of, granted).iter().any(|(_, above)| above == id)
        };
        let is_shared = kind == Kind::Template && id == super::inventory::BLANK;
        is_shared
            || self.access.grants(&caller.user).iter().any(|grant| reaches(grant, &chain) || is_above(grant))
    }

    /// An object and everything it lies in.
    fn above(&self, kind: Kind, id: &str) -> Vec<(&'static str, String)> {
        let mut chain = vec![(kind.collection(), id.to_owned())];
        let Some(record) = self.find(kind, id) else { return chain };
        let mut also = |kind: Kind, id: &str| chain.extend(self.above(kind, id));
        match kind {
            Kind::Vm | Kind::Template | Kind::Host => also(Kind::Cluster, record.reference("cluster")),
            Kind::Cluster | Kind::Network => also(Kind::DataCenter, record.reference("data_center")),
            Kind::VnicProfile => also(Kind::Network, record.reference("network")),
            Kind::AffinityGroup => also(Kind::Cluster, &record.parent),
            Kind::Quota => also(Kind::DataCenter, &record.parent),
            Kind::Disk => {
                for owner in self.all(Kind::DiskAttachment).iter().filter(|one| one.id == id) {
                    chain.extend(self.above(Kind::Vm, &owner.parent));
                }
                let domain = record
                    .doc
                    .get("storage_domains")
                    .and_then(|list| list["storage_domain"][0]["id"].as_str());
                chain.extend(self.above(Kind::StorageDomain, domain.unwrap_or_default()));
            }
            Kind::StorageDomain => {
                let center =
                    record.doc.get("data_centers").and_then(|list| list["data_center"][0]["id"].as_str());
                also(Kind::DataCenter, center.unwrap_or_default());
            }
            _ => {}
        }
        chain
    }
}

fn reaches(grant: &Grant, chain: &[(&'static str, String)]) -> bool {
    match &grant.on {
        None => true,
        Some((kind, id)) => chain.iter().any(|(of, above)| of == kind && above == id),
    }
}
