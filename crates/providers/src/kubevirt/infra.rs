//! The infrastructure cluster and the namespace in it that holds everything.

use std::fmt;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::config::{Kubeconfig, KubeconfigError};
use kube::{Api, Client};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;

use crate::cluster::{AccessError, api_of, call, client_of, config_of};

/// Whose kubeconfig it is, in messages.
const WHOSE: &str = "of the infrastructure cluster";

/// A namespace of an infrastructure cluster. Nothing is sent before it is asked for something.
pub struct Infra {
    /// A kubeconfig with one context.
    kubeconfig: SecretString,
    namespace: String,
    client: OnceCell<Client>,
    instance: OnceCell<String>,
}

impl fmt::Debug for Infra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Infra").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Infra {
    pub fn new(kubeconfig: SecretString, namespace: String) -> Self {
        Infra { kubeconfig, namespace, client: OnceCell::new(), instance: OnceCell::new() }
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub async fn client(&self) -> Result<&Client, AccessError> {
        let connect = || async { client_of(config_of(self.kubeconfig(), WHOSE).await?) };
        self.client.get_or_try_init(connect).await
    }

    /// The kubeconfig, as it was given.
    pub fn kubeconfig(&self) -> Result<Kubeconfig, KubeconfigError> {
        Kubeconfig::from_yaml(self.kubeconfig.expose_secret())
    }

    /// The user that the cluster takes us for.
    pub async fn user(&self) -> Result<String, AccessError> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client().await?.clone());
        let parameters = PostParams::default();
        let review = call("logging in", reviews.create(&parameters, &SelfSubjectReview::default())).await?;
        let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
        Ok(user.unwrap_or_default())
    }

    /// The id of the namespace: another one of the same name, or one of another cluster, is another world. A user of the
    /// namespace may read it, and may not read anything of the cluster itself.
    pub async fn instance(&self) -> Result<&str, AccessError> {
        let read = || async {
            let namespaces: Api<Namespace> = Api::all(self.client().await?.clone());
            let doing = format!("reading the namespace {}", self.namespace);
            let namespace = call(&doing, namespaces.get_metadata(&self.namespace)).await?;
            Ok::<_, AccessError>(namespace.metadata.uid.unwrap_or_default())
        };
        self.instance.get_or_try_init(read).await.map(String::as_str)
    }

    /// Objects of a kind in the namespace.
    pub async fn objects(&self, resource: &ApiResource) -> Result<Api<DynamicObject>, AccessError> {
        Ok(api_of(self.client().await?, resource, Some(&self.namespace)))
    }
}
