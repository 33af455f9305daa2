//! The webhook: refuses what the driver could not carry out.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{PodSpec, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use slipway_config::matrix::Component;

use super::controller::CONTROL_PLANE;
use super::{FEATURES, NAMESPACE, WEBHOOK, app};
use crate::drivers::object::Objects;
use crate::drivers::pods::{
    cluster_role, cluster_role_binding, container, env, env_field, nodes_with, pull_secrets, read_only, role,
    role_binding, rule, secret_volume, selector, service_account, template, texts, tolerates_control_plane,
    unprivileged,
};
use crate::drivers::settings::{DriverError, DriverSettings, WebhookCertificate};
use crate::objects::{map, named, secret, within};

const SERVICE: &str = "vsphere-webhook-svc";
const NAME: &str = "validation.csi.vsphere.vmware.com";
const CERTIFICATES: &str = "vsphere-webhook-certs";
/// Where the certificate is mounted.
const DIRECTORY: &str = "/run/secrets/tls";
const PORT: i32 = 8443;

pub(super) fn add(
    driver: &DriverSettings<'_>,
    certificate: &WebhookCertificate,
    objects: &mut Objects,
) -> Result<(), DriverError> {
    objects.add(service_account(NAMESPACE, WEBHOOK))?;
    objects.add(cluster_role("vsphere-csi-webhook-cluster-role", cluster_rules()))?;
    objects.add(cluster_role_binding(
        "vsphere-csi-webhook-cluster-role-binding",
        "vsphere-csi-webhook-cluster-role",
        NAMESPACE,
        WEBHOOK,
    ))?;
    let rules = vec![rule("", &["configmaps"], &["get", "list", "watch"])];
    objects.add(role(NAMESPACE, "vsphere-csi-webhook-role", rules))?;
    objects.add(role_binding(
        NAMESPACE,
        "vsphere-csi-webhook-role-binding",
        "vsphere-csi-webhook-role",
        WEBHOOK,
    ))?;
    let settings = format!(
        "[WebHookConfig]\nport = \"{PORT}\"\ncert-file = \"{DIRECTORY}/tls.crt\"\nkey-file = \"{DIRECTORY}/tls.key\"\n"
    );
    let files = map([
        ("tls.crt", certificate.certificate.as_str()),
        ("tls.key", certificate.key.expose()),
        ("webhook.config", &settings),
    ]);
    let hash = driver.hash(files.iter().map(|(key, text)| (key.as_str(), text.as_str())));
    objects.add(secret(within(NAMESPACE, CERTIFICATES), "Opaque", files))?;
    objects.add(service())?;
    objects.add(deployment(driver, hash)?)?;
    // Last: while the webhook's pods do not answer, it would refuse every claim.
    objects.add(registration(certificate))?;
    Ok(())
}

/// What the webhook may do in the whole cluster.
pub(in crate::drivers) fn cluster_rules() -> Vec<PolicyRule> {
    vec![
        rule("snapshot.storage.k8s.io", &["volumesnapshots"], &["get", "list"]),
        rule("", &["persistentvolumes"], &["get"]),
    ]
}

fn service() -> Service {
    Service {
        metadata: ObjectMeta { labels: Some(app(WEBHOOK)), ..within(NAMESPACE, SERVICE) },
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                port: 443,
                target_port: Some(IntOrString::Int(PORT)),
                ..ServicePort::default()
            }]),
            selector: Some(app(WEBHOOK)),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn deployment(driver: &DriverSettings<'_>, hash: String) -> Result<Deployment, DriverError> {
    let mut webhook = container(
        "vsphere-webhook",
        driver.image(Component::Syncer)?,
        vec![
            "--operation-mode=WEBHOOK_SERVER".to_owned(),
            format!("--fss-name={FEATURES}"),
            "--fss-namespace=$(CSI_NAMESPACE)".to_owned(),
        ],
        vec![read_only("webhook-certs", DIRECTORY)],
    );
    webhook.env = Some(vec![
        env("WEBHOOK_CONFIG_PATH", format!("{DIRECTORY}/webhook.config")),
        env("LOGGER_LEVEL", "PRODUCTION"),
        env_field("CSI_NAMESPACE", "metadata.namespace"),
    ]);
    webhook.security_context = Some(unprivileged());
    let spec = PodSpec {
        containers: vec![webhook],
        affinity: Some(nodes_with(&CONTROL_PLANE)),
        tolerations: Some(tolerates_control_plane()),
        service_account_name: Some(WEBHOOK.to_owned()),
        // While it is away no claim can be changed.
        priority_class_name: Some("system-cluster-critical".to_owned()),
        dns_policy: Some("Default".to_owned()),
        image_pull_secrets: pull_secrets(driver.pull_secrets),
        volumes: Some(vec![secret_volume("webhook-certs", CERTIFICATES)]),
        ..PodSpec::default()
    };
    let mut labels = app(WEBHOOK);
    labels.extend(map([("role", WEBHOOK)]));
    Ok(Deployment {
        metadata: within(NAMESPACE, WEBHOOK),
        spec: Some(DeploymentSpec {
            replicas: i32::try_from(driver.control_plane_nodes.clamp(1, 2)).ok(),
            selector: selector(&app(WEBHOOK)),
            template: template(labels, hash, spec),
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}

fn registration(certificate: &WebhookCertificate) -> ValidatingWebhookConfiguration {
    let rule = |group: &str, operations: &[&str], resource: &str, scope: Option<&str>| RuleWithOperations {
        api_groups: Some(texts([group])),
        api_versions: Some(texts(["v1", "v1beta1"])),
        operations: Some(operations.iter().map(|operation| (*operation).to_owned()).collect()),
        resources: Some(texts([resource])),
        scope: scope.map(str::to_owned),
    };
    ValidatingWebhookConfiguration {
        metadata: named(NAME),
        webhooks: Some(vec![ValidatingWebhook {
            name: NAME.to_owned(),
            client_config: WebhookClientConfig {
                service: Some(ServiceReference {
                    name: SERVICE.to_owned(),
                    namespace: NAMESPACE.to_owned(),
                    path: Some("/validate".to_owned()),
                    port: None,
                }),
                ca_bundle: Some(ByteString(certificate.authority.clone().into_bytes())),
                url: None,
            },
            rules: Some(vec![
                rule("storage.k8s.io", &["CREATE", "UPDATE"], "storageclasses", None),
                rule("", &["CREATE"], "persistentvolumes", None),
                rule("", &["UPDATE", "DELETE"], "persistentvolumeclaims", Some("Namespaced")),
            ]),
            side_effects: "None".to_owned(),
            admission_review_versions: texts(["v1"]),
            failure_policy: Some("Fail".to_owned()),
            ..ValidatingWebhook::default()
        }]),
    }
}
