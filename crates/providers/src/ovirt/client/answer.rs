//! What comes back: JSON, a fault, nothing, or a web page of something before the engine.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use secrecy::SecretString;
use serde_json::Value;

use super::Cause;

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    retry_after: Option<Duration>,
    is_page: bool,
    body: String,
}

impl Answer {
    pub(super) async fn read(response: reqwest::Response) -> Result<Self, reqwest::Error> {
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(RETRY_AFTER).and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let said_page = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"));
        let body = response.text().await?;
        let is_page =
            said_page || body.trim_start().starts_with("<!") || body.trim_start().starts_with("<html");
        Ok(Answer { status, retry_after, is_page, body })
    }

    /// The object, or why there is none. Of what has no content it is null.
    pub(super) fn into_value(self) -> Result<Value, Cause> {
        let Answer { status, retry_after, is_page, body } = self;
        match status {
            // The engine itself answers so with a page, too.
            401 => return Err(Cause::SessionLost),
            429 | 502..=504 => return Err(Cause::NotReady { status, retry_after }),
            404 if body.trim().is_empty() => return Err(Cause::NotFound),
            _ if is_page => return Err(Cause::WebPage { status, title: title(&body) }),
            _ => {}
        }
        let is_success = (200..300).contains(&status);
        if body.trim().is_empty() {
            let detail = String::new();
            let fault = Cause::Fault { status, reason: String::new(), detail };
            return if is_success { Ok(Value::Null) } else { Err(fault) };
        }
        let value: Value = match serde_json::from_str(&body) {
            Ok(value) => value,
            Err(error) if is_success => return Err(Cause::Malformed(error.to_string())),
            // Of unknown paths and fields it speaks in plain text.
            Err(_) => return Err(Cause::Fault { status, reason: String::new(), detail: first_line(&body) }),
        };
        // Actions wrap their fault, and some say that they failed with a status of success.
        let fault = value.get("fault").unwrap_or(&value);
        if is_success && value["status"] != "failed" {
            return Ok(value);
        }
        let text = |key: &str| fault[key].as_str().unwrap_or_default().to_owned();
        Err(Cause::Fault { status, reason: text("reason"), detail: text("detail") })
    }

    /// The token of a login. A wrong one is answered with 400, and what is wrong stands in the body.
    pub(super) fn into_token(self, user: &str) -> Result<SecretString, Cause> {
        let Answer { status, retry_after, is_page, body } = self;
        if matches!(status, 429 | 502..=504) {
            return Err(Cause::NotReady { status, retry_after });
        }
        if is_page || status == 404 {
            return Err(Cause::WebPage { status, title: title(&body) });
        }
        let value: Value = serde_json::from_str(&body).unwrap_or_default();
        if let Some(token) = value["access_token"].as_str().filter(|_| status == 200) {
            return Ok(token.into());
        }
        let code = value["error_code"].as_str().or(value["error"].as_str());
        let reason = value["error"].as_str().or(value["error_description"].as_str()).unwrap_or_default();
        match (status, code) {
            (400 | 401 | 403, Some(_)) => {
                Err(Cause::LoginRefused { user: user.to_owned(), reason: reason.to_owned() })
            }
            _ => Err(Cause::Malformed(format!("the login is answered with status {status} and no token"))),
        }
    }
}

fn first_line(body: &str) -> String {
    body.trim().lines().next().unwrap_or_default().chars().take(300).collect()
}

/// What a page calls itself.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = lower[start..].find("</title>")? + start;
    let title = page[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::{Answer, Cause};

    fn answer(status: u16, body: &str) -> Answer {
        let is_page = body.starts_with('<');
        Answer { status, retry_after: None, is_page, body: body.to_owned() }
    }

    fn refused(status: u16, body: &str) -> Cause {
        answer(status, body).into_value().unwrap_err()
    }

    /// Bodies as a real engine sent them.
    #[test]
    fn faults_are_told_apart() {
        assert!(matches!(refused(404, ""), Cause::NotFound));
        assert!(matches!(refused(401, "<html><body>invalid_grant</body></html>"), Cause::SessionLost));
        assert!(matches!(refused(503, "<html><title>503</title></html>"), Cause::NotReady { .. }));
        let Cause::WebPage { title, .. } = refused(200, "<html><TITLE>\n oVirt  Engine </TITLE></html>")
        else {
            panic!("not a page")
        };
        assert_eq!(title.as_deref(), Some("oVirt Engine"));
        let bare = r#"{"reason":"Operation Failed","detail":"Entity not found: Cluster: name=Nope"}"#;
        assert_eq!(refused(404, bare).to_string(), "Entity not found: Cluster: name=Nope");
        let wrapped = r#"{"status":"failed","fault":{"reason":"Operation Failed","detail":"[Cannot run VM. No host.]"}}"#;
        for status in [200, 409] {
            assert_eq!(refused(status, wrapped).to_string(), "Cannot run VM. No host.");
        }
        let plain = "Unrecognized field \"nosuch\" (class Tag), not marked as ignorable";
        assert!(refused(400, plain).to_string().starts_with("Unrecognized field"));
    }

    #[test]
    fn a_login_says_what_is_wrong() {
        let denied = r#"{"error_code":"access_denied","error":"Cannot authenticate user 'admin@internal': Unable to log in."}"#;
        let error = answer(400, denied).into_token("admin@internal").unwrap_err();
        assert!(error.to_string().contains("Cannot authenticate user"), "{error}");
        let page = answer(200, "<html>login</html>").into_token("admin@internal").unwrap_err();
        assert!(matches!(page, Cause::WebPage { .. }), "{page}");
    }
}
