//! Which machine goes to which failure domain.

use crate::install_config::vsphere::HostRole;
use crate::install_config::{InstallConfig, Platform, Pools};

/// What placement depends on. Failure domains are positions in the platform's list.
#[derive(Debug, Clone)]
pub struct Request {
    /// Domains each pool spreads over; never empty.
    pub zones: Pools<Vec<usize>>,
    pub replicas: Pools<usize>,
    /// Domains of machines with static addresses, in the order they are listed.
    pub hosts: Vec<(HostRole, Option<usize>)>,
}

/// Where every machine goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub bootstrap: usize,
    /// One domain per control-plane machine.
    pub control_plane: Vec<usize>,
    /// Sets of compute machines, in the order of the pool's zones.
    pub compute: Vec<ComputeSet>,
}

/// The compute machines of one failure domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeSet {
    pub failure_domain: usize,
    pub replicas: usize,
}

impl InstallConfig {
    pub fn placement(&self) -> Placement {
        let replicas = Pools {
            control_plane: self.pools.control_plane.replicas as usize,
            compute: self.pools.compute.replicas as usize,
        };
        // Everywhere but on vSphere the platform is one failure domain.
        let (zones, hosts) = match &self.platform {
            Platform::VSphere(platform) => (
                Pools {
                    control_plane: platform.machines.control_plane.zones.clone(),
                    compute: platform.machines.compute.zones.clone(),
                },
                platform.hosts.iter().map(|host| (host.role, host.failure_domain)).collect(),
            ),
            Platform::Ovirt(_) | Platform::KubeVirt(_) | Platform::None => {
                (Pools { control_plane: vec![0], compute: vec![0] }, Vec::new())
            }
        };
        place(&Request { zones, replicas, hosts })
    }
}

/// Control-plane machines go round robin over their zones, compute machines evenly with the remainder to
/// the first zones. A static host's own failure domain wins, for every role.
pub fn place(request: &Request) -> Placement {
    let chosen = |role: HostRole| -> Vec<Option<usize>> {
        request.hosts.iter().filter(|(host, _)| *host == role).map(|(_, domain)| *domain).collect()
    };
    let masters = chosen(HostRole::ControlPlane);
    let zone =
        |zones: &[usize], index: usize| zones.get(index % zones.len().max(1)).copied().unwrap_or_default();
    let control_plane: Vec<usize> = (0..request.replicas.control_plane)
        .map(|index| {
            masters.get(index).copied().flatten().unwrap_or_else(|| zone(&request.zones.control_plane, index))
        })
        .collect();
    let bootstrap = chosen(HostRole::Bootstrap).first().copied().flatten();
    let beside_first =
        control_plane.first().copied().unwrap_or_else(|| zone(&request.zones.control_plane, 0));
    Placement {
        bootstrap: bootstrap.unwrap_or(beside_first),
        control_plane,
        compute: compute_sets(&request.zones.compute, request.replicas.compute, &chosen(HostRole::Compute)),
    }
}

fn compute_sets(zones: &[usize], replicas: usize, hosts: &[Option<usize>]) -> Vec<ComputeSet> {
    let mut sets: Vec<ComputeSet> =
        zones.iter().map(|&failure_domain| ComputeSet { failure_domain, replicas: 0 }).collect();
    let mut pinned = 0;
    for domain in hosts.iter().take(replicas).flatten() {
        pinned += 1;
        match sets.iter_mut().find(|set| set.failure_domain == *domain) {
            Some(set) => set.replicas += 1,
            None => sets.push(ComputeSet { failure_domain: *domain, replicas: 1 }),
        }
    }
    let free = replicas - pinned;
    let share = zones.len().max(1);
    for (index, set) in sets.iter_mut().take(zones.len()).enumerate() {
        set.replicas += free / share + usize::from(index < free % share);
    }
    sets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{HostRole, Placement, Pools, Request, place};

    fn request(zones: (&[usize], &[usize]), replicas: (usize, usize)) -> Request {
        Request {
            zones: Pools { control_plane: zones.0.to_vec(), compute: zones.1.to_vec() },
            replicas: Pools { control_plane: replicas.0, compute: replicas.1 },
            hosts: Vec::new(),
        }
    }

    fn counts(placement: &Placement) -> Vec<(usize, usize)> {
        placement.compute.iter().map(|set| (set.failure_domain, set.replicas)).collect()
    }

    #[rstest]
    #[case::one_zone(&[0], 3, &[0, 0, 0])]
    #[case::two_zones(&[0, 1], 3, &[0, 1, 0])]
    #[case::three_zones(&[2, 0, 1], 3, &[2, 0, 1])]
    #[case::more_zones_than_machines(&[0, 1, 2, 3, 4], 3, &[0, 1, 2])]
    fn control_plane_goes_round_robin(
        #[case] zones: &[usize],
        #[case] replicas: usize,
        #[case] expected: &[usize],
    ) {
        let placement = place(&request((zones, &[0]), (replicas, 0)));
        assert_eq!(placement.control_plane, expected);
        assert_eq!(placement.bootstrap, expected[0], "bootstrap starts beside the first machine");
    }

    #[rstest]
    #[case(&[0, 1, 2], 0, &[(0, 0), (1, 0), (2, 0)])]
    #[case(&[0, 1, 2], 2, &[(0, 1), (1, 1), (2, 0)])]
    #[case(&[2, 1, 0], 7, &[(2, 3), (1, 2), (0, 2)])]
    #[case(&[4], 5, &[(4, 5)])]
    fn compute_is_spread(
        #[case] zones: &[usize],
        #[case] replicas: usize,
        #[case] expected: &[(usize, usize)],
    ) {
        assert_eq!(counts(&place(&request((&[0], zones), (1, replicas)))), expected);
    }

    #[test]
    fn static_hosts_choose_for_every_role() {
        let mut request = request((&[0, 1], &[0, 1]), (3, 3));
        request.hosts = vec![
            (HostRole::ControlPlane, Some(1)),
            (HostRole::Bootstrap, Some(2)),
            (HostRole::ControlPlane, None),
            (HostRole::Compute, Some(2)),
            (HostRole::ControlPlane, Some(0)),
            (HostRole::Compute, None),
            (HostRole::Compute, Some(1)),
        ];
        let placement = place(&request);
        assert_eq!(placement.bootstrap, 2);
        assert_eq!(placement.control_plane, [1, 1, 0]);
        assert_eq!(counts(&placement), [(0, 1), (1, 1), (2, 1)]);
    }

    proptest! {
        #[test]
        fn every_machine_is_placed_evenly(zones in 1usize..8, masters in 1usize..10, workers in 0usize..50) {
            let all: Vec<usize> = (0..zones).collect();
            let placement = place(&request((&all, &all), (masters, workers)));
            prop_assert_eq!(placement.control_plane.len(), masters);
            prop_assert_eq!(placement.compute.iter().map(|set| set.replicas).sum::<usize>(), workers);
            let sizes: Vec<usize> = placement.compute.iter().map(|set| set.replicas).collect();
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b));
            prop_assert!(sizes[0] - sizes[zones - 1] <= 1);
        }
    }
}
