//! The way through an HTTP proxy that wants to know who comes.

use std::io::{BufRead, BufReader, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slipway_providers::vsphere::{Client, Proxy};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, endpoint, estate, login};

/// `user:swordfish`.
const ALLOWED: &str = "proxy-authorization: basic dxnlcjpzd29yzgzpc2g=";

/// Connects whoever is allowed to where they want, until the test ends.
fn proxy() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, tunnels) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let count = tunnels.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, count) = (client.unwrap(), count.clone());
            thread::spawn(move || tunnel(&client, &count));
        }
    });
    (port, tunnels)
}

fn tunnel(client: &TcpStream, count: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 2 {}
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    let mut writer = client.try_clone().ok()?;
    if !head.to_ascii_lowercase().contains(ALLOWED) {
        writer.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").ok()?;
        return None;
    }
    count.fetch_add(1, Ordering::Relaxed);
    let server = TcpStream::connect(target).ok()?;
    writer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut back = server.try_clone().ok()?;
    let mut forth = server;
    thread::spawn(move || {
        let _ = copy(&mut back, &mut writer);
        writer.shutdown(Shutdown::Both)
    });
    let _ = copy(&mut reader, &mut forth);
    forth.shutdown(Shutdown::Both).ok()
}

#[tokio::test]
async fn a_proxy_is_used_and_its_password_kept() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let (port, tunnels) = proxy();
    let through = |password: &str| {
        let mut endpoint = endpoint(&vcenter, authorities(&vcenter));
        endpoint.proxy = Proxy::Url(format!("http://user:{password}@127.0.0.1:{port}"));
        Client::new(endpoint, login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap()
    };
    let client = through("swordfish");
    assert!(client.find("/dc1").await.unwrap().is_some());
    assert!(client.category_named("openshift-zone").await.unwrap().is_some());
    assert!(tunnels.load(Ordering::Relaxed) > 0, "nobody came through the proxy");
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
