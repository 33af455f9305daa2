//! The way through an HTTP proxy that wants to know who comes.

use slipway_providers::vsphere::{Client, Proxy};
use slipway_testkit::proxy;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, endpoint, estate, login};

/// `user:swordfish`.
const ALLOWED: &str = "Basic dXNlcjpzd29yZGZpc2g=";

#[tokio::test]
async fn a_proxy_is_used_and_its_password_kept() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let proxy = proxy::Proxy::start(Some(ALLOWED)).unwrap();
    let through = |password: &str| {
        let mut endpoint = endpoint(&vcenter, authorities(&vcenter));
        endpoint.proxy = Proxy::Url(format!("http://user:{password}@127.0.0.1:{}", proxy.port()));
        Client::new(endpoint, login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap()
    };
    let client = through("swordfish");
    assert!(client.find("/dc1").await.unwrap().is_some());
    assert!(client.category_named("openshift-zone").await.unwrap().is_some());
    assert!(proxy.tunnels() > 0, "nobody came through the proxy");
    assert!(!format!("{client:?}").contains("swordfish"));

    let client = through("halibut");
    let error = client.content().await.unwrap_err();
    let shown = format!("{error:?} {error} {:?}", error.hint());
    assert!(!shown.contains("halibut"), "{shown}");
    let mut endpoint = endpoint(&vcenter, authorities(&vcenter));
    endpoint.proxy = Proxy::Url("http://user:halibut@[nonsense".to_owned());
    let error = Client::new(endpoint, login("u", "p")).unwrap_err();
    assert!(!format!("{error:?}").contains("halibut"), "{error:?}");
}
