//! A server and its port, as people write the two.

use std::net::IpAddr;

/// Splits `server:port`. What is not of that form is a server, for the rules to judge.
pub fn split_port(text: &str) -> (String, Option<u16>) {
    let whole = || (text.to_owned(), None);
    if text.parse::<IpAddr>().is_ok() {
        return whole();
    }
    if let Some((inner, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':').map(str::parse) {
            None if rest.is_empty() => (inner.to_owned(), None),
            Some(Ok(port)) => (inner.to_owned(), Some(port)),
            _ => whole(),
        };
    }
    match text.rsplit_once(':') {
        Some((server, port)) if !server.contains([':', '/']) => match port.parse() {
            Ok(port) => (server.to_owned(), Some(port)),
            Err(_) => whole(),
        },
        _ => whole(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::split_port;

    #[rstest]
    #[case("vcenter.example.com", "vcenter.example.com", None)]
    #[case("vcenter.example.com:8443", "vcenter.example.com", Some(8443))]
    #[case("127.0.0.1:8443", "127.0.0.1", Some(8443))]
    #[case("::1", "::1", None)]
    #[case("fd00::10:443", "fd00::10:443", None)]
    #[case("[::1]", "::1", None)]
    #[case("[::1]:8443", "::1", Some(8443))]
    #[case("[::1]x", "[::1]x", None)]
    #[case("vcenter:99999", "vcenter:99999", None)]
    #[case("vcenter:", "vcenter:", None)]
    #[case("https://vcenter:443", "https://vcenter:443", None)]
    fn servers_and_ports(#[case] text: &str, #[case] server: &str, #[case] port: Option<u16>) {
        assert_eq!(split_port(text), (server.to_owned(), port));
    }
}
