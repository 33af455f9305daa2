//! Which version of a driver is the right one, and why the others are not.

use std::fmt;

use semver::Version;

use super::{Driver, Matrix, Release, Row};

/// The first version of the storage driver that works with several vCenters in everything it does.
pub const SEVERAL_VCENTERS: Version = Version::new(3, 2, 0);

/// What a driver has to fit to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    pub kubernetes: Release,
    /// The versions of the vCenters' APIs.
    pub vcenters: Vec<Release>,
    pub policy: Policy,
    /// The version the user wants, and no other.
    pub pinned: Option<Version>,
    /// The version that is installed.
    pub deployed: Option<Version>,
}

/// When drivers are upgraded without being asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// To the newest version that fits.
    #[default]
    Latest,
    /// To newer patches of the installed line, as long as that fits.
    Lts,
    /// Never; but something has to be installed where there is nothing.
    Disabled,
}

impl Policy {
    pub const ALL: [Policy; 3] = [Policy::Latest, Policy::Lts, Policy::Disabled];

    pub fn as_str(self) -> &'static str {
        match self {
            Policy::Latest => "latest",
            Policy::Lts => "lts",
            Policy::Disabled => "disabled",
        }
    }
}

/// Why a version is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    KubernetesTooOld { needs: String, is: Release },
    KubernetesTooNew { needs: String, is: Release },
    VSphereTooOld { needs: String, is: Release },
    VSphereTooNew { needs: String, is: Release },
    TooManyVCenters { most: u32, are: usize },
    Blocked { reason: String },
    TooFar { minimum: Version, deployed: Version },
    Older { deployed: Version },
    OtherLine { deployed: Version },
    NotPinned { pinned: Version },
    NotDeployed { deployed: Version },
    NotNewest { newest: Version },
}

impl Objection {
    /// The version does not work here, or must not be used: nothing the user could choose otherwise.
    pub fn is_hard(&self) -> bool {
        !matches!(
            self,
            Objection::TooFar { .. }
                | Objection::Older { .. }
                | Objection::OtherLine { .. }
                | Objection::NotPinned { .. }
                | Objection::NotDeployed { .. }
                | Objection::NotNewest { .. }
        )
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::KubernetesTooOld { needs, is } | Objection::KubernetesTooNew { needs, is } => {
                write!(f, "needs Kubernetes {needs}, and this is {is}")
            }
            Objection::VSphereTooOld { needs, is } | Objection::VSphereTooNew { needs, is } => {
                write!(f, "needs vSphere {needs}, and a vCenter has {is}")
            }
            Objection::TooManyVCenters { most: 1, are } => {
                write!(f, "works with one vCenter, and there are {are}")
            }
            Objection::TooManyVCenters { most, are } => {
                write!(f, "works with at most {most} vCenters, and there are {are}")
            }
            Objection::Blocked { reason } => write!(f, "is blocked: {reason}"),
            Objection::TooFar { minimum, deployed } => {
                write!(f, "can be upgraded to from {minimum} on, and {deployed} is installed")
            }
            Objection::Older { deployed } => write!(f, "is older than {deployed}, which is installed"),
            Objection::OtherLine { deployed } => {
                write!(f, "fits, but the line of {deployed} is kept by the policy lts")
            }
            Objection::NotPinned { pinned } => write!(f, "is not {pinned}, which is asked for"),
            Objection::NotDeployed { deployed } => {
                write!(f, "is not {deployed}, which is installed, and updatePolicy disables upgrades")
            }
            Objection::NotNewest { newest } => write!(f, "fits, but {newest} is newer"),
        }
    }
}

/// A version that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Considered<'m> {
    pub row: &'m Row,
    /// None for the version that is taken.
    pub objections: Vec<Objection>,
}

/// What was chosen, and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice<'m> {
    /// The version to have. Without one, whatever is installed stays as it is.
    pub row: Option<&'m Row>,
    /// Why, in a sentence.
    pub why: String,
    /// Every version of the matrix, the newest first.
    pub considered: Vec<Considered<'m>>,
}

/// Chooses a version: the newest that fits Kubernetes, every vCenter and their number, unless the user or the policy
/// says otherwise. Never an older one than is installed, except when the user asks for it.
pub fn choose<'m>(matrix: &'m Matrix, driver: Driver, environment: &Environment) -> Choice<'m> {
    let rows = matrix.rows(driver);
    let mut considered: Vec<Considered<'m>> =
        rows.iter().map(|row| Considered { row, objections: misfits(row, environment) }).collect();
    let row = match (&environment.pinned, &environment.deployed, environment.policy) {
        (Some(pinned), _, _) => {
            object(&mut considered, |row| {
                (row.version != *pinned).then(|| Objection::NotPinned { pinned: pinned.clone() })
            });
            newest(&considered)
        }
        (None, Some(deployed), Policy::Disabled) => {
            object(&mut considered, |row| {
                (row.version != *deployed).then(|| Objection::NotDeployed { deployed: deployed.clone() })
            });
            newest(&considered)
        }
        (None, deployed, policy) => {
            object(&mut considered, |row| deployed.as_ref().and_then(|deployed| path(row, deployed)));
            if policy == Policy::Lts {
                keep_line(&mut considered, deployed.as_ref());
            }
            let newest = newest(&considered);
            if let Some(newest) = newest {
                object(&mut considered, |row| {
                    let newest = newest.version.clone();
                    (row.version != newest).then_some(Objection::NotNewest { newest })
                });
            }
            newest
        }
    };
    // Of a version that does not fit, whether it is also the newest is of no interest.
    for one in &mut considered {
        if one.objections.len() > 1 {
            one.objections.retain(|objection| !matches!(objection, Objection::NotNewest { .. }));
        }
    }
    let why = why(driver, environment, row, &considered);
    Choice { row, why, considered }
}

/// Whether the row fits what is there.
fn misfits(row: &Row, environment: &Environment) -> Vec<Objection> {
    let mut objections = Vec::new();
    let (is, needs) = (environment.kubernetes, row.kubernetes.to_string());
    if row.kubernetes.is_above(is) {
        objections.push(Objection::KubernetesTooOld { needs, is });
    } else if row.kubernetes.is_below(is) {
        objections.push(Objection::KubernetesTooNew { needs, is });
    }
    let oldest = environment.vcenters.iter().min();
    if let Some(&is) = oldest.filter(|is| row.vsphere.is_above(**is)) {
        objections.push(Objection::VSphereTooOld { needs: row.vsphere.to_string(), is });
    }
    let newest = environment.vcenters.iter().max();
    if let Some(&is) = newest.filter(|is| row.vsphere.is_below(**is)) {
        objections.push(Objection::VSphereTooNew { needs: row.vsphere.to_string(), is });
    }
    let are = environment.vcenters.len();
    // Whatever a matrix says: older ones lose volumes of the second vCenter.
    let single = row.driver == Driver::StorageProvider && row.version < SEVERAL_VCENTERS;
    let most = if single { Some(1) } else { row.most_vcenters };
    if let Some(most) = most.filter(|most| are > usize::try_from(*most).unwrap_or(usize::MAX)) {
        objections.push(Objection::TooManyVCenters { most, are });
    }
    if let Some(reason) = &row.blocked {
        objections.push(Objection::Blocked { reason: reason.clone() });
    }
    objections
}

/// Whether there is a way from what is installed to the row.
fn path(row: &Row, deployed: &Version) -> Option<Objection> {
    let deployed = deployed.clone();
    if row.version < deployed {
        return Some(Objection::Older { deployed });
    }
    let minimum = row.upgrade_from.clone().filter(|minimum| row.version > deployed && deployed < *minimum)?;
    Some(Objection::TooFar { minimum, deployed })
}

/// As long as a version of the installed line fits, others are not wanted.
fn keep_line(considered: &mut [Considered<'_>], deployed: Option<&Version>) {
    let Some(deployed) = deployed else { return };
    let same = |row: &Row| row.line() == (deployed.major, deployed.minor);
    if considered.iter().any(|one| one.objections.is_empty() && same(one.row)) {
        object(considered, |row| (!same(row)).then(|| Objection::OtherLine { deployed: deployed.clone() }));
    }
}

fn object(considered: &mut [Considered<'_>], objection: impl Fn(&Row) -> Option<Objection>) {
    for one in considered {
        one.objections.extend(objection(one.row));
    }
}

fn newest<'m>(considered: &[Considered<'m>]) -> Option<&'m Row> {
    considered.iter().find(|one| one.objections.is_empty()).map(|one| one.row)
}

fn why(
    driver: Driver,
    environment: &Environment,
    row: Option<&Row>,
    considered: &[Considered<'_>],
) -> String {
    let Environment { pinned, deployed, policy, .. } = environment;
    let asked = pinned.as_ref().or(deployed.as_ref().filter(|_| *policy == Policy::Disabled));
    let stays = deployed.as_ref().map(|deployed| format!("; {deployed} stays")).unwrap_or_default();
    match (row, asked) {
        (Some(row), Some(_)) if pinned.is_some() => format!("{} is asked for, and fits", row.version),
        (Some(row), Some(_)) => format!("{} is installed, and updatePolicy disables upgrades", row.version),
        (Some(row), None) if deployed.as_ref() == Some(&row.version) => {
            format!("{} is installed, and nothing newer fits", row.version)
        }
        (Some(row), None) => match considered.iter().find(|one| is_step(one)) {
            Some(ahead) => {
                format!("{} fits, and is a step on the way to {}", row.version, ahead.row.version)
            }
            None => format!("{} is the newest that fits", row.version),
        },
        (None, Some(asked)) => match considered.iter().find(|one| one.row.version == *asked) {
            Some(one) => {
                let objections: Vec<String> = one.objections.iter().map(ToString::to_string).collect();
                format!("{asked} {}{stays}", objections.join("; "))
            }
            None => format!("{asked} of the {driver} is not in the matrix{stays}"),
        },
        (None, None) => format!("no version of the {driver} in the matrix fits{stays}"),
    }
}

/// It would be taken, were it not too far away.
fn is_step(one: &Considered<'_>) -> bool {
    matches!(*one.objections, [Objection::TooFar { .. }])
}
