//! Certificates: who is trusted, and what is said of those who are not.

use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::trust_error::TrustError;
use slipway_providers::vsphere::{Client, Trust};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, endpoint, estate, login};

fn bytes(thumbprint: &str) -> Vec<u8> {
    thumbprint.split(':').map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

async fn try_with(vcenter: &VCenter, trust: Trust) -> Result<String, Cause> {
    let client = Client::new(endpoint(vcenter, trust), login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap();
    let version = client.content().await.map(|content| content.about.version.clone());
    version.map_err(|error| error.source)
}

#[tokio::test]
async fn a_server_is_trusted_by_authority_fingerprint_or_wish() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let good = [
        authorities(&vcenter),
        Trust::Fingerprint(bytes(vcenter.thumbprint_sha1())),
        Trust::Fingerprint(bytes(vcenter.thumbprint_sha256())),
        Trust::Anything,
    ];
    for trust in good {
        assert_eq!(try_with(&vcenter, trust).await.unwrap(), "8.0.3");
    }
    let bad = [Trust::System, Trust::Fingerprint(vec![7; 20]), Trust::Fingerprint(vec![7; 32])];
    for trust in bad {
        let cause = try_with(&vcenter, trust.clone()).await.unwrap_err();
        assert!(matches!(cause, Cause::Untrusted(_)), "{trust:?}: {cause:?}");
    }
    let cause = try_with(&vcenter, Trust::Fingerprint(vec![7; 32])).await.unwrap_err();
    assert!(matches!(cause, Cause::Untrusted(TrustError::NotPinned)), "{cause:?}");
    // Nobody sent a password to a server that was not trusted.
    assert_eq!(crate::calls(&vcenter, "Login"), 0);
}
