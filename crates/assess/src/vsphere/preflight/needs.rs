//! Which privileges are needed where, and for what.

/// A privilege that a step needs on an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededPrivilege {
    /// The vCenter, as the plan names it.
    pub endpoint: String,
    /// An inventory path; `/` is the root folder. What will only be made later is judged by what it will be in.
    pub object: String,
    pub privilege: String,
    /// What it is needed for: the end of a sentence that starts with "needed to".
    pub step: String,
    /// What is left out without it; none if there is no going on.
    pub left_out: Option<String>,
}
