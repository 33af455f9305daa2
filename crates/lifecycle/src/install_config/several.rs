//! Flags about vCenters and failure domains: one of each, or several.

use super::{
    Error, FailureDomainAnswers, PasswordAt, VCenterAnswers, VSphereAnswers, VSphereTopology, split_port,
};

/// The flags as they were given, each as often as it was.
#[derive(Debug, Default)]
pub struct SeveralFlags {
    /// Servers and their ports.
    pub vcenters: Vec<(String, Option<u16>)>,
    pub users: Vec<String>,
    pub passwords: Vec<PasswordAt>,
    /// `-` where the system's trust is enough.
    pub thumbprints: Vec<String>,
    /// `key=value,…`.
    pub failure_domains: Vec<String>,
}

const KEYS: [&str; 8] = ["name", "region", "zone", "server", "datacenter", "cluster", "datastore", "network"];

impl SeveralFlags {
    /// One vCenter leaves open what other flags or questions answer; several are told of completely.
    pub fn answers(self) -> Result<VSphereAnswers, Error> {
        let SeveralFlags { vcenters, users, passwords, thumbprints, failure_domains } = self;
        if vcenters.len() < 2 && failure_domains.is_empty() {
            count("--vcenter-user", users.len(), 1, true)?;
            count("--vcenter-password-file", passwords.len(), 1, true)?;
            count("--vcenter-thumbprint", thumbprints.len(), 1, true)?;
            let (server, port) = vcenters.into_iter().next().unzip();
            return Ok(VSphereAnswers {
                server,
                port: port.flatten(),
                user: users.into_iter().next(),
                password: passwords.into_iter().next(),
                thumbprint: thumbprints.into_iter().next().filter(|thumbprint| thumbprint != "-"),
                ..VSphereAnswers::default()
            });
        }
        let missing = [
            ("--vcenter", vcenters.is_empty()),
            ("--vcenter-user", users.is_empty()),
            ("--vcenter-password-file or --vcenter-password-env", passwords.is_empty()),
            ("--failure-domain", failure_domains.is_empty()),
        ];
        let missing: Vec<&str> =
            missing.iter().filter(|(_, missing)| *missing).map(|(flag, _)| *flag).collect();
        if !missing.is_empty() {
            return Err(Error::Missing { flags: missing });
        }
        count("--vcenter-user", users.len(), vcenters.len(), true)?;
        count("--vcenter-password-file", passwords.len(), vcenters.len(), true)?;
        count("--vcenter-thumbprint", thumbprints.len(), vcenters.len(), false)?;
        let servers: Vec<&str> = vcenters.iter().map(|(server, _)| server.as_str()).collect();
        let several = failure_domains.len() > 1;
        let domains: Vec<FailureDomainAnswers> =
            failure_domains.iter().map(|text| domain(text, &servers, several)).collect::<Result<_, _>>()?;
        let vcenter = |position: usize, (server, port): &(String, Option<u16>)| {
            let mut datacenters: Vec<String> = Vec::new();
            for domain in domains.iter().filter(|domain| domain.server == *server) {
                if !datacenters.contains(&domain.datacenter) {
                    datacenters.push(domain.datacenter.clone());
                }
            }
            VCenterAnswers {
                server: server.clone(),
                port: *port,
                user: users[position.min(users.len() - 1)].clone(),
                password: passwords[position.min(passwords.len() - 1)].clone(),
                thumbprint: thumbprints.get(position).filter(|thumbprint| *thumbprint != "-").cloned(),
                datacenters,
            }
        };
        let vcenters = vcenters.iter().enumerate().map(|(position, pair)| vcenter(position, pair)).collect();
        let topology = VSphereTopology { vcenters, failure_domains: domains };
        Ok(VSphereAnswers { topology: Some(topology), ..VSphereAnswers::default() })
    }
}

/// None, one for all if that makes sense, or one for each.
fn count(flag: &'static str, given: usize, vcenters: usize, shared: bool) -> Result<(), Error> {
    let fits = given == 0 || given == vcenters || (given == 1 && shared);
    if fits { Ok(()) } else { Err(Error::Count { flag, given, vcenters }) }
}

fn domain(text: &str, servers: &[&str], several: bool) -> Result<FailureDomainAnswers, Error> {
    let wrong = |reason: String| Error::FailureDomain { text: text.to_owned(), reason };
    let mut values: [Option<String>; KEYS.len()] = Default::default();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(wrong(format!("`{part}` is not of the form key=value")));
        };
        let Some(position) = KEYS.iter().position(|known| *known == key.trim()) else {
            return Err(wrong(format!("`{}` is none of the keys {}", key.trim(), KEYS.join(", "))));
        };
        if values[position].replace(value.trim().to_owned()).is_some() {
            return Err(wrong(format!("`{}` is given twice", KEYS[position])));
        }
    }
    if let [only] = servers {
        values[3].get_or_insert_with(|| (*only).to_owned());
    }
    let unnamed = !several && values[..3].iter().all(Option::is_none);
    let needed = if unnamed { 3.. } else { 0.. };
    let missing: Vec<&str> = KEYS[needed.clone()]
        .iter()
        .zip(&values[needed])
        .filter(|(_, value)| value.is_none())
        .map(|(key, _)| *key)
        .collect();
    if !missing.is_empty() {
        return Err(wrong(format!("{} not given", missing.join(", "))));
    }
    let [name, region, zone, server, datacenter, cluster, datastore, network] =
        values.map(Option::unwrap_or_default);
    Ok(FailureDomainAnswers {
        names: (!unnamed).then_some([name, region, zone]),
        // Failure domains name the server alone.
        server: split_port(&server).0,
        datacenter,
        cluster,
        datastore,
        network,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::SeveralFlags;
    use crate::install_config::PasswordAt;

    const A: &str = "name=a,region=r,zone=a,server=north,datacenter=dc,cluster=c,datastore=d,network=n";
    const B: &str = "name=b,region=r,zone=b,server=south:8443,datacenter=dc,cluster=c,datastore=d,network=n";

    fn flags(vcenters: &[&str], users: usize, thumbprints: &[&str], domains: &[&str]) -> SeveralFlags {
        SeveralFlags {
            vcenters: vcenters.iter().map(|server| ((*server).to_owned(), None)).collect(),
            users: (0..users).map(|number| format!("user-{number}@vsphere.local")).collect(),
            passwords: vec![PasswordAt::Env("PASSWORD".into())],
            thumbprints: thumbprints.iter().map(|text| (*text).to_owned()).collect(),
            failure_domains: domains.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn each_vcenter_gets_its_own() {
        let answers = flags(&["north", "south"], 2, &["-", "ab"], &[A, B]).answers().unwrap();
        let topology = answers.topology.unwrap();
        let vcenters: Vec<_> = topology
            .vcenters
            .iter()
            .map(|vcenter| (vcenter.server.as_str(), vcenter.user.as_str(), vcenter.thumbprint.as_deref()))
            .collect();
        let (north, south) = ("user-0@vsphere.local", "user-1@vsphere.local");
        assert_eq!(vcenters, [("north", north, None), ("south", south, Some("ab"))]);
        assert_eq!(topology.vcenters[1].datacenters, ["dc"]);
        let one = flags(&["north", "south"], 1, &[], &[A, B]).answers().unwrap().topology.unwrap();
        assert_eq!(one.vcenters[1].user, north);
    }

    #[test]
    fn one_vcenter_may_leave_things_open() {
        let answers = flags(&["north"], 0, &["ab"], &[]).answers().unwrap();
        assert_eq!(
            (answers.server.as_deref(), answers.user, answers.topology.is_none()),
            (Some("north"), None, true)
        );
        assert_eq!(answers.thumbprint.as_deref(), Some("ab"));
        let short = "datacenter=dc,cluster=c,datastore=d,network=n";
        let topology = flags(&["north"], 1, &[], &[short]).answers().unwrap().topology.unwrap();
        assert_eq!(
            (&*topology.failure_domains[0].server, &topology.failure_domains[0].names),
            ("north", &None)
        );
    }

    #[rstest]
    #[case(flags(&["north", "south"], 0, &[], &[]), "--vcenter-user, --failure-domain are missing")]
    #[case(flags(&["a", "b", "c"], 2, &[], &[A]), "--vcenter-user is given 2 times for 3 vCenters")]
    #[case(flags(&["a", "b"], 1, &["ab"], &[A]), "--vcenter-thumbprint is given 1 times for 2 vCenters")]
    #[case(flags(&["a"], 2, &[], &[]), "--vcenter-user is given 2 times for 1 vCenters")]
    #[case(flags(&["a"], 1, &[], &["x"]), "--failure-domain x: `x` is not of the form key=value")]
    #[case(flags(&["a"], 1, &[], &["zone=a,zone=b"]), "--failure-domain zone=a,zone=b: `zone` is given twice")]
    #[case(
        flags(&["a", "b"], 1, &[], &["name=a"]),
        "--failure-domain name=a: region, zone, server, datacenter, cluster, datastore, network not given"
    )]
    #[case(
        flags(&["a"], 1, &[], &["host=a"]),
        "--failure-domain host=a: `host` is none of the keys name, region, zone, server, datacenter, cluster, datastore, network"
    )]
    fn what_does_not_fit_is_refused(#[case] flags: SeveralFlags, #[case] expected: &str) {
        assert_eq!(flags.answers().unwrap_err().to_string(), expected);
    }
}
