//! A registry that does what a test says, without TLS. The real one is in the tests of the command.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use rstest::rstest;
use slipway_config::logins::Logins;

use super::{MANIFEST, Registries, Settings};

const MANIFEST_TEXT: &str = "{\"schemaVersion\":2}";
/// Of that text.
const DIGEST: &str = "sha256:bafebd36189ad3688b7b3915ea55d461e0bfcfbdde11e54b0a123999fb6be50f";

/// Answers until the test ends.
fn registry() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || answer(client, port));
        }
    });
    port
}

fn answer(client: TcpStream, port: u16) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 2 {}
    let path = head.split(' ').nth(1)?.to_owned();
    let is = |header: &str| head.lines().any(|line| line.eq_ignore_ascii_case(header));
    let token = is("authorization: Bearer swordfish");
    // `me:marlin`
    let login = is("authorization: Basic bWU6bWFybGlu");
    let large = "x".repeat(MANIFEST + 1);
    let realm = format!(
        "www-authenticate: Bearer realm=\"http://127.0.0.1:{port}/token\",service=\"here\",scope=\"repository:secret:pull\"\r\n"
    );
    let (status, headers, body): (u16, &str, &str) = match path.as_str() {
        "/token?service=here&scope=repository%3Asecret%3Apull" if login => {
            (200, "", "{\"token\":\"swordfish\"}")
        }
        path if path.starts_with("/token") => (401, "", ""),
        "/v2/secret/manifests/v1" if !token => (401, &realm, ""),
        "/v2/odd/manifests/v1" => (401, "www-authenticate: Negotiate\r\n", ""),
        "/v2/liar/manifests/v1" => (200, "docker-content-digest: sha256:12\r\n", MANIFEST_TEXT),
        "/v2/large/manifests/v1" => (200, "", &large),
        "/v2/broken/manifests/v1" => (500, "", ""),
        "/v2/secret/manifests/v1" | "/v2/open/manifests/v1" => (200, "", MANIFEST_TEXT),
        _ => (404, "", ""),
    };
    let mut writer = client;
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    writer.write_all(head.as_bytes()).ok()?;
    writer.write_all(body.as_bytes()).ok()
}

fn logins(port: u16) -> Logins {
    Logins::parse(&format!("{{\"auths\": {{\"127.0.0.1:{port}\": {{\"auth\": \"bWU6bWFybGlu\"}}}}}}"))
        .unwrap()
}

fn ask(image: &str, known: bool) -> Result<String, String> {
    let port = registry();
    let logins = if known { logins(port) } else { Logins::default() };
    let mut registries = Registries::new(Settings { plain: true, logins, ..Settings::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let image = format!("127.0.0.1:{port}/{image}");
    let digest = runtime.block_on(registries.digest(&image));
    digest.map_err(|error| crate::text::chain(&error))
}

#[rstest]
#[case::public("open:v1", false, Ok(DIGEST))]
#[case::by_token("secret:v1", true, Ok(DIGEST))]
#[case::no_login("secret:v1", false, Err("does not let us see"))]
#[case::absent("nothing:v1", false, Err("there is no `127.0.0.1"))]
#[case::no_tag("open", false, Err("names no registry and no tag"))]
#[case::odd("odd:v1", true, Err("in a way that is not known"))]
#[case::liar("liar:v1", false, Err("should be sha256:12"))]
#[case::large("large:v1", false, Err("larger than"))]
#[case::broken("broken:v1", false, Err("HTTP status 500"))]
fn what_registries_say(#[case] image: &str, #[case] known: bool, #[case] expected: Result<&str, &str>) {
    match (ask(image, known), expected) {
        (Ok(digest), Ok(expected)) => assert_eq!(digest, expected),
        (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
        (found, expected) => panic!("{found:?}, and not {expected:?}"),
    }
}

#[test]
fn nobody_listens() {
    let mut registries = Registries::new(Settings { plain: true, ..Settings::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // No server listens on port 1.
    let error = runtime.block_on(registries.digest("127.0.0.1:1/a:v1")).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("--ca-file")), "{error:?}");
    assert!(Registries::new(Settings { authorities: Some("x".to_owned()), ..Settings::default() }).is_err());
}
