//! OpenShift's own kinds.

mod config;
mod infrastructure;
mod machine;
mod machine_config;
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
    FailureDomains, LabelSelector, LifecycleHook, LifecycleHooks, Machine, MachineSet, MachineSetSpec,
    MachineSpec, MachineStatus, MachineTemplate, MachinesTemplate, ObjectLabels, ProviderSpec, Strategy,
};
pub use machine_config::{MachineConfig, MachineConfigSpec, OsImageStream, OsImageStreamSpec};
pub use operator::{
    DefaultNetwork, GatewayIpv4, MachineConfiguration, MachineConfigurationSpec, MachineManager,
    MachineManagerSelection, ManagedBootImages, NetworkOperator, NetworkOperatorSpec, OvnKubernetes,
};
