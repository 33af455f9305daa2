use rstest::rstest;

use crate::run::transcript;

#[rstest]
#[case::whole("whole", &["explain"])]
#[case::mapping("mapping", &["explain", "platform.vsphere.vcenters"])]
#[case::field("field", &["explain", "installconfig.Platform.vSphere.failureDomains[3].topology.computecluster"])]
#[case::choice("choice", &["explain", "platform.vsphere.diskType"])]
#[case::deprecated("deprecated", &["explain", "platform.vsphere.cluster"])]
#[case::colour("colour", &["explain", "--color", "always", "payload"])]
#[case::json("json", &["explain", "-o", "json", "payload"])]
#[case::misspelt("misspelt", &["explain", "platform.vsphere.vcentres"])]
#[case::nothing_below("nothing_below", &["explain", "baseDomain.x"])]
fn explains(#[case] name: &str, #[case] arguments: &[&str]) {
    insta::assert_snapshot!(format!("explain_{name}"), transcript(arguments));
}
