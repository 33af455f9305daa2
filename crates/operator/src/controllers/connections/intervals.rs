//! When a connection is validated again.

use std::time::Duration;

use super::problem::Problem;

/// How long to wait. vCenters lock accounts after some failed logins within minutes, and the drivers try as well, so
/// those are repeated slowly; a change of the Secret is noticed at once anyway.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionIntervals {
    /// While all is well. A look costs about ten calls.
    pub well: Duration,
    /// After the first failure; each further one doubles it.
    pub first: Duration,
    /// The longest wait after a failure.
    pub longest: Duration,
    /// After a first failed login.
    pub login: Duration,
}

impl Default for ConnectionIntervals {
    fn default() -> Self {
        ConnectionIntervals {
            well: Duration::from_mins(20),
            first: Duration::from_secs(5),
            longest: Duration::from_mins(5),
            login: Duration::from_mins(2),
        }
    }
}

impl ConnectionIntervals {
    /// The wait after a look with these problems, which was the n-th with any.
    pub fn wait(&self, problems: &[Problem], failures: u32) -> Duration {
        if problems.is_empty() {
            return self.well;
        }
        let login = problems.iter().any(Problem::is_counted);
        let (first, longest) =
            if login { (self.login, self.login.max(self.longest * 6)) } else { (self.first, self.longest) };
        first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{ConnectionIntervals, Problem};

    #[rstest]
    #[case::well(vec![], 0, 1200)]
    #[case::first(vec![Problem::Unreachable(String::new())], 1, 5)]
    #[case::third(vec![Problem::Unreachable(String::new())], 3, 20)]
    #[case::capped(vec![Problem::Unreachable(String::new())], 99, 300)]
    #[case::password(vec![Problem::InvalidLogin(String::new())], 1, 120)]
    #[case::password_again(vec![Problem::InvalidLogin(String::new())], 99, 1800)]
    fn waits(#[case] problems: Vec<Problem>, #[case] failures: u32, #[case] seconds: u64) {
        assert_eq!(ConnectionIntervals::default().wait(&problems, failures).as_secs(), seconds);
    }
}
