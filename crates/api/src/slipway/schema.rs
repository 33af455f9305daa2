//! Parts of schemas that no derive makes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Kubernetes' own conditions, one per type.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {"description": "What the condition is about.", "type": "string", "maxLength": 316},
                "status": {"description": "Whether it holds.", "type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {
                    "description": "Why, in one word for programs.",
                    "type": "string", "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "message": {"description": "Why, in words, with what to do about it.", "type": "string", "maxLength": 32768},
                "lastTransitionTime": {"description": "Since when.", "type": "string", "format": "date-time"},
                "observedGeneration": {
                    "description": "The generation of the object that was looked at.",
                    "type": "integer", "format": "int64", "minimum": 0
                }
            }
        }
    })
}

/// A moment.
pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

/// The codes of the health checks. They never change; new ones are added.
pub const CHECK_CODES: [&str; 30] = [
    "connection",
    "credentials",
    "vcenter-version",
    "certificate",
    "clock",
    "sessions",
    "tasks",
    "infra-config",
    "datacenter-consistency",
    "places",
    "datastore",
    "datastore-browse",
    "storage-classes",
    "storage-policy",
    "permissions",
    "zone-tags",
    "host-groups",
    "cluster-id",
    "existing-driver",
    "workloads",
    "node-machine",
    "node-provider-id",
    "node-disk-uuid",
    "node-hardware",
    "node-host",
    "node-volume-limit",
    "node-latency",
    "node-cluster",
    "node-pool",
    "node-change-tracking",
];

/// Some of the health checks.
pub(super) fn check_codes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": CHECK_CODES.len(),
        "x-kubernetes-list-type": "set",
        "items": {"type": "string", "enum": CHECK_CODES}
    })
}

/// Makes a generated definition say what the API server should hear. A field that is null would count as given in
/// rules, so null is refused. Formats of unsigned numbers are unknown to Kubernetes. Lines of
/// doc comments become running text.
pub(super) fn tidy(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        schema.into_iter().for_each(tidy_schema);
    }
    definition
}

fn tidy_schema(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.format.take_if(|format| format.starts_with("uint"));
    if let Some(description) = &mut schema.description {
        let paragraphs = description.split("\n\n");
        let joined = paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        *description = joined.collect::<Vec<_>>().join("\n\n");
    }
    schema.properties.iter_mut().flatten().for_each(|(_, property)| tidy_schema(property));
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => tidy_schema(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy_schema),
        None => {}
    }
}
