//! OpenShift's own kinds.

mod config;
mod infrastructure;
mod machine;
mod machine_config;
mod machine_health_check;
mod machine_set;
mod operator;

pub use config::{
    Capabilities, ClusterNetworkEntry, ClusterVersion, ClusterVersionSpec, Dns, DnsSpec, ExternalIp,
    ExternalIpPolicy, FeatureGate, FeatureGateSelection, FeatureGateSpec, ImageDigestMirrorSet,
    ImageDigestMirrorSetSpec, ImageMirrors, Ingress, IngressSpec, IngressStatus, Network, NetworkSpec, Proxy,
    ProxySpec, ProxyStatus, Scheduler, SchedulerSpec,
};
pub use infrastructure::{
    Affinity, AffinityType, CloudConfig, Empty, FailureDomain, HostGroup, Infrastructure, InfrastructureSpec,
    InfrastructureStatus, KubevirtStatus, LoadBalancer, NodeNetwork, NodeNetworking, OnPremStatus,
    PlatformSpec, PlatformStatus, Topology, VCenter, VSpherePlatformSpec,
};
pub use machine::{
    ControlPlaneMachineSet, ControlPlaneMachineSetSpec, ControlPlaneTemplate, FailureDomainName,
    FailureDomains, LabelSelector, LastOperation, LifecycleHook, LifecycleHooks, Machine, MachineCondition,
    MachineSpec, MachineStatus, MachinesTemplate, ObjectLabels, ProviderSpec, Strategy,
};
pub use machine_config::{MachineConfig, MachineConfigSpec, OsImageStream, OsImageStreamSpec};
pub use machine_health_check::{
    MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus, UnhealthyCondition,
};
pub use machine_set::{MachineSet, MachineSetSpec, MachineSetStatus, MachineTemplate};
pub use operator::{
    DefaultNetwork, GatewayIpv4, MachineConfiguration, MachineConfigurationSpec, MachineManager,
    MachineManagerSelection, ManagedBootImages, NetworkOperator, NetworkOperatorSpec, OvnKubernetes,
};
