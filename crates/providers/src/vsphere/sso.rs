//! Single sign-on: tokens, and the users of its own directory.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};

use super::client::{Call, Client, Service, VIM};
use super::error::{Cause, Error};
use super::fault::{Fault, FaultKind};
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed, body, element};

const SECURITY: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
const UTILITY: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
const TRUST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
const TOKEN: &str = "oasis:names:tc:SAML:2.0:assertion";

/// Where tokens are issued, unless the vCenter says otherwise.
const STS: &str = "/sts/STSService/vsphere.local";

/// How long a message is fresh, and a token good for: both are used at once.
const MESSAGE_LIFETIME: Duration = Duration::from_mins(1);
const TOKEN_LIFETIME: Duration = Duration::from_mins(5);

/// The directory's service, with a session of its own.
#[derive(Debug)]
pub struct Directory {
    client: Client,
    service: Service,
    sessions: MoRef,
    discovery: MoRef,
    management: MoRef,
    cookie: SecretString,
}

/// A user of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub domain: String,
    pub disabled: bool,
    pub locked: bool,
}

impl Client {
    /// A token for the user of this client: signed XML that must not be changed in any way.
    pub async fn token(&self) -> Result<SecretString, Error> {
        let method = "RequestSecurityToken";
        let path = self.sso_path("sts", STS).await?;
        let (endpoint, login, _) = self.parts();
        let name = Body::new()
            .text("wsse:Username", &login.user)
            .text("wsse:Password", login.password.expose_secret());
        let header = security(&Body::new().object("wsse:UsernameToken", &name).into_text());
        let (created, expires) = period(TOKEN_LIFETIME);
        let request = format!(
            "<RequestSecurityToken xmlns=\"{TRUST}\"><TokenType>urn:{TOKEN}</TokenType>\
             <RequestType>{TRUST}/Issue</RequestType><Lifetime>\
             <wsu:Created xmlns:wsu=\"{UTILITY}\">{created}</wsu:Created>\
             <wsu:Expires xmlns:wsu=\"{UTILITY}\">{expires}</wsu:Expires></Lifetime>\
             <Renewing Allow=\"false\" OK=\"false\"></Renewing><KeyType>{TRUST}/Bearer</KeyType>\
             <SignatureAlgorithm>http://www.w3.org/2001/04/xmldsig-more#rsa-sha256</SignatureAlgorithm>\
             </RequestSecurityToken>"
        );
        let message = body::envelope(header.expose_secret(), &request);
        let action = format!("\"{TRUST}/RST/Issue\"");
        let (status, _, reply) = self.send(method, &path, &action, message, None, endpoint.timeout).await?;
        token(status, &reply).map_err(|cause| self.error(method, cause))
    }

    /// Logs in by a token; calls of this client use that session until it expires.
    pub async fn log_in_by_token(&self, token: &SecretString) -> Result<(), Error> {
        let method = "LoginByToken";
        let manager = self.manager("sessionManager").await?;
        let (header, body) = (security(token.expose_secret()), Body::new().text("locale", "en_US"));
        let call = Call::new(&VIM, method, &manager.reference, &body).with_header(&header);
        let (_, cookie) = self.post(call, None, self.parts().0.timeout).await?;
        self.adopt(cookie.ok_or_else(|| self.error(method, Malformed::Missing("session cookie")))?);
        Ok(())
    }

    /// The directory's service; end it with [`Directory::log_out`].
    pub async fn directory(&self) -> Result<Directory, Error> {
        let path = self.sso_path("admin", "/sso-adminserver/sdk/vsphere.local").await?;
        let version = Some("version2".to_owned());
        let service = Service { path: path.into(), namespace: "urn:sso", version, shows_session: false };
        let method = "SsoAdminServiceInstance";
        let (instance, body) = (Reference::new(method, method), Body::new());
        let timeout = self.parts().0.timeout;
        let session = self.session_cookie().await?;
        let call = Call::new(&service, method, &instance, &body);
        let (reply, _) = self.post(call, Some(&session), timeout).await?;
        let at = |name: &'static str| {
            let found = reply.at(&["returnval", name]);
            let found = found.ok_or_else(|| self.error(method, Malformed::Missing(name)))?;
            Ok::<_, Error>(self.moref(Reference::of(found)))
        };
        let (sessions, discovery, management) =
            (at("sessionManager")?, at("principalDiscoveryService")?, at("principalManagementService")?);
        let token = self.token().await?;
        let header = security(token.expose_secret());
        let login = Call::new(&service, "Login", &sessions.reference, &body).with_header(&header);
        let (_, own) = self.post(login, Some(&session), timeout).await?;
        let cookie = own.unwrap_or(session);
        Ok(Directory { client: self.clone(), service, sessions, discovery, management, cookie })
    }

    /// The domain of the directory's own users, if the vCenter tells. It is the last part of where tokens are issued.
    pub async fn sso_domain(&self) -> Result<Option<String>, Error> {
        let path = self.sso_path("sts", STS).await?;
        let domain = path.trim_end_matches('/').rsplit('/').next().filter(|domain| domain.contains('.'));
        Ok(domain.map(str::to_owned))
    }

    /// The path of one of the services. Its host is the vCenter itself since 7.0; the name it knows itself by may
    /// not be the one it is reached by.
    async fn sso_path(&self, service: &str, usual: &str) -> Result<String, Error> {
        let settings = self.manager("setting").await?;
        let body = Body::new().text("name", format!("config.vpxd.sso.{service}.uri"));
        let reply = match self.read(&settings, "QueryOptions", &body).await {
            Ok(reply) => reply,
            // Not everybody may read settings, and not every version has this one.
            Err(error) if error.fault().is_some_and(|fault| fault.kind != FaultKind::InvalidLogin) => {
                return Ok(usual.to_owned());
            }
            Err(error) => return Err(error),
        };
        let url = reply.at(&["returnval", "value"]).and_then(|value| reqwest::Url::parse(&value.text).ok());
        Ok(url.map_or_else(|| usual.to_owned(), |url| url.path().to_owned()))
    }
}

impl Directory {
    /// A user, by name and domain.
    pub async fn find(&self, name: &str, domain: &str) -> Result<Option<Person>, Error> {
        let id = Body::new().text("name", name).text("domain", domain);
        let body = Body::new().object("userId", &id);
        let reply = self.call(&self.discovery, "FindPersonUser", &body).await?;
        let Some(person) = reply.child("returnval") else { return Ok(None) };
        let text = |field| person.at(&["id", field]).map_or("", |value| &value.text).to_owned();
        let flag = |field| person.child(field).map_or(Ok(false), |value| value.boolean(field));
        let read = || {
            let (disabled, locked) = (flag("disabled")?, flag("locked")?);
            Ok(Person { name: text("name"), domain: text("domain"), disabled, locked })
        };
        read().map(Some).map_err(|cause: Malformed| self.client.error("FindPersonUser", cause))
    }

    /// Makes a user in the directory's own domain.
    pub async fn create(&self, name: &str, description: &str, password: &SecretString) -> Result<(), Error> {
        let body = Body::new()
            .text("userName", name)
            .object("userDetails", &Body::new().text("description", description))
            .text("password", password.expose_secret());
        self.call(&self.management, "CreateLocalPersonUser", &body).await.map(drop)
    }

    pub async fn reset_password(&self, name: &str, password: &SecretString) -> Result<(), Error> {
        let body = Body::new().text("userName", name).text("newPassword", password.expose_secret());
        self.call(&self.management, "ResetLocalPersonUserPassword", &body).await.map(drop)
    }

    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        let body = Body::new().text("principalName", name);
        self.call(&self.management, "DeleteLocalPrincipal", &body).await.map(drop)
    }

    pub async fn log_out(self) -> Result<(), Error> {
        self.call(&self.sessions, "Logout", &Body::new()).await.map(drop)
    }

    async fn call(&self, this: &MoRef, method: &str, body: &Body) -> Result<Element, Error> {
        let call = Call::new(&self.service, method, &this.reference, body);
        let timeout = self.client.parts().0.timeout;
        self.client.post(call, Some(&self.cookie), timeout).await.map(|(reply, _)| reply)
    }
}

/// The header of a message that says who sends it.
fn security(proof: &str) -> SecretString {
    let (created, expires) = period(MESSAGE_LIFETIME);
    let time = Body::new().text("wsu:Created", created).text("wsu:Expires", expires).into_text();
    format!(
        "<wsse:Security xmlns:wsse=\"{SECURITY}\" xmlns:wsu=\"{UTILITY}\">\
         <wsu:Timestamp wsu:Id=\"_time\">{time}</wsu:Timestamp>{proof}</wsse:Security>"
    )
    .into()
}

/// From now on, for so long.
fn period(length: Duration) -> (String, String) {
    let write = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let now = Timestamp::now();
    (write(now), write(now.saturating_add(length).unwrap_or(now)))
}

/// The assertion in a reply, to the letter: its signature is over just these bytes.
fn token(status: u16, reply: &[u8]) -> Result<SecretString, Cause> {
    let parsed = match element::parse(reply) {
        Ok(parsed) if status == 200 || status == 500 => parsed,
        _ => return Err(Cause::Status { status, retry_after: None }),
    };
    if let Some(fault) = parsed.at(&["Body", "Fault"]) {
        return Err(Fault::of_message(fault).into());
    }
    let token = element::raw(reply, "Assertion").ok_or(Malformed::Missing("Assertion"))?;
    Ok(token.into())
}
