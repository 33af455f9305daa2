//! An HTTP proxy that leads to wherever somebody wants, and counts.

use std::io::{BufRead, BufReader, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context;

/// A proxy for as long as the test's process lives.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    tunnels: Arc<AtomicUsize>,
}

impl Proxy {
    /// `allowed` is the `Proxy-Authorization` that it demands, such as `Basic …`; without it, it leads everybody.
    pub fn start(allowed: Option<&'static str>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listening as a proxy")?;
        let (port, tunnels) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
        let count = tunnels.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let count = count.clone();
                thread::spawn(move || tunnel(&client, allowed, &count));
            }
        });
        Ok(Proxy { port, tunnels })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often somebody was led to where they wanted.
    pub fn tunnels(&self) -> usize {
        self.tunnels.load(Ordering::Relaxed)
    }
}

fn tunnel(client: &TcpStream, allowed: Option<&str>, count: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 2 {}
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    let mut writer = client.try_clone().ok()?;
    let mut refuse = |status: &str| write!(writer, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok();
    if allowed.is_some_and(|allowed| !knows(&head, allowed)) {
        return refuse("407 Proxy Authentication Required");
    }
    let Ok(server) = TcpStream::connect(target) else { return refuse("502 Bad Gateway") };
    count.fetch_add(1, Ordering::Relaxed);
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

fn knows(head: &str, allowed: &str) -> bool {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    headers.any(|(name, value)| name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == allowed)
}
