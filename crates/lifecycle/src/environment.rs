//! The variables of the process, passed in so that tests need not change their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables by name.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables of this process, without those that are not text.
    pub fn of_process() -> Self {
        let variables = std::env::vars_os();
        Environment(
            variables
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    /// A variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable that is set, but to nothing.
    pub(crate) fn is_blank(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(String::is_empty)
    }

    /// A file below the home directory, if there is one.
    pub(crate) fn in_home(&self, path: &str) -> Option<PathBuf> {
        Some(PathBuf::from(self.get("HOME")?).join(path))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Environment(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Passwords are in there.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
