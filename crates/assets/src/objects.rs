//! Kubernetes objects that need no kind of their own.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Metadata of an object without a namespace.
pub(crate) fn named(name: impl Into<String>) -> ObjectMeta {
    ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }
}

/// Metadata of an object in a namespace.
pub(crate) fn within(namespace: &str, name: impl Into<String>) -> ObjectMeta {
    ObjectMeta { namespace: Some(namespace.to_owned()), ..named(name) }
}

/// Texts by name.
pub(crate) fn map<const N: usize>(entries: [(&str, impl Into<String>); N]) -> BTreeMap<String, String> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

pub(crate) fn namespace(name: &str, labels: BTreeMap<String, String>) -> Namespace {
    let labels = (!labels.is_empty()).then_some(labels);
    Namespace { metadata: ObjectMeta { labels, ..named(name) }, ..Namespace::default() }
}

pub(crate) fn config_map(metadata: ObjectMeta, data: BTreeMap<String, String>) -> ConfigMap {
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

/// A Secret of a type, such as `Opaque`.
pub(crate) fn secret(metadata: ObjectMeta, kind: &str, data: BTreeMap<String, String>) -> Secret {
    let data = data.into_iter().map(|(key, value)| (key, ByteString(value.into_bytes()))).collect();
    Secret { metadata, type_: Some(kind.to_owned()), data: Some(data), ..Secret::default() }
}
