//! The rules a configuration is judged by.

/// Declares the rules: a name for code, a stable code for people and scripts, and what it is about.
macro_rules! rules {
    ($($variant:ident = $code:literal: $summary:literal,)+) => {
        /// A rule, with a code that stays the same from release to release.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $summary] $variant,)+
        }

        impl Rule {
            pub const ALL: &[Rule] = &[$(Rule::$variant),+];

            pub fn code(self) -> &'static str {
                match self {
                    $(Rule::$variant => $code,)+
                }
            }

            /// What the rule is about, in one sentence.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Rule::$variant => $summary,)+
                }
            }
        }
    };
}

rules! {
    Unexplained = "unexplained": "A file that cannot be used has a finding that says why.",
    DocumentEmpty = "document-empty": "The file has content.",
    DocumentTooLarge = "document-too-large": "The file stays within the limits of size, depth and number of values.",
    YamlSyntax = "yaml-syntax": "The file is valid YAML.",
    YamlDocuments = "yaml-documents": "The file holds one YAML document.",
    YamlUnsupported = "yaml-unsupported": "Tags, keys that are not words and aliases to themselves are not supported.",
    YamlBoolean = "yaml-boolean": "Words that YAML 1.1 takes for booleans are quoted, or written as true and false.",
    DuplicateKey = "duplicate-key": "A key is given once.",
    UnknownField = "unknown-field": "Every field exists.",
    KeySpelling = "key-spelling": "Keys are read whatever their case; this names the usual spelling.",
    WrongKind = "wrong-kind": "A value is a single value, a list or a mapping as its field asks.",
    Required = "required": "Fields that are needed are given.",
    InvalidValue = "invalid-value": "A value is one its field takes.",
    OutOfRange = "out-of-range": "A number is within its range.",
    TooLong = "too-long": "A text is not longer than its place has room for.",
    TooMany = "too-many": "A list has no more entries than allowed, such as three vCenters.",
    Deprecated = "deprecated": "Old fields and versions still work; this names what to use instead.",
    DeprecatedConflict = "deprecated-conflict": "An old field and its successor do not disagree.",
    NotSupported = "not-supported": "Settings that no platform here has are not used.",

    DnsName = "dns-name": "Names follow the rules of DNS.",
    ClusterNameDot = "cluster-name-dot": "On vSphere the cluster's name has no dot.",
    ServerName = "server-name": "A server is a DNS name or an address, without scheme or port.",
    PortRange = "port-range": "A port is between 1 and 32767.",
    Uuid = "uuid": "An id is a UUID.",
    TagId = "tag-id": "A tag is given by its id.",
    Cidr = "cidr": "A network is an address with a prefix length.",
    CidrHostBits = "cidr-host-bits": "A network has no bits set behind its prefix length.",
    IpAddress = "ip-address": "An address is an IP address.",
    Quantity = "quantity": "An amount is a Kubernetes quantity above zero.",
    ImageReference = "image-reference": "An image has registry, repository, and tag or digest.",
    KubernetesVersion = "kubernetes-version": "A Kubernetes version has a v and three parts.",

    PayloadField = "payload-field": "A payload has no fields of the other kind.",
    ReleaseImage = "release-image": "The release is named; without it only files can be created.",
    NetworkManifests = "network-manifests": "A Kubernetes cluster needs a network plugin.",
    FeatureSet = "feature-set": "The feature set is available in this build.",
    NoUpgrade = "no-upgrade": "Some feature sets make upgrades impossible.",
    FeatureGatesForbidden = "feature-gates-forbidden": "Feature gates go with the feature set CustomNoUpgrade only.",
    FeatureGate = "feature-gate": "A feature gate is written as Name=true or Name=false.",
    FeatureGateUnknown = "feature-gate-unknown": "A feature gate is probably misspelt.",
    FeatureGateRetired = "feature-gate-retired": "A feature gate has no effect any more.",
    FeatureGateOff = "feature-gate-off": "A field needs a feature gate or set that is off.",

    NetworkTypeUnsupported = "network-type-unsupported": "The network plugin is still supported.",
    NetworksOverlap = "networks-overlap": "Networks have no address in common.",
    NetworkPlugin = "network-plugin": "Settings of OVN-Kubernetes go with OVN-Kubernetes, and their values fit the cluster.",
    NetworkReserved = "network-reserved": "Networks keep clear of those OVN-Kubernetes uses inside.",
    NetworkBridge = "network-bridge": "Networks keep clear of the usual bridge of container engines.",
    HostPrefix = "host-prefix": "A node's part of the cluster network has a usable size.",
    ServiceNetworks = "service-networks": "There is one service network per address family.",
    ServiceNetworkSize = "service-network-size": "The service network is not too large.",
    DualStack = "dual-stack": "Networks have the address families of the service network, in the same order.",

    PlatformCount = "platform-count": "Exactly one platform is given.",
    PoolName = "pool-name": "Machine pools are named master and worker.",
    PoolDuplicate = "pool-duplicate": "There is one compute pool.",
    PoolPlatform = "pool-platform": "Machine settings are for the cluster's platform.",
    Architecture = "architecture": "All machine pools must have the same architecture.",
    ControlPlaneReplicas = "control-plane-replicas": "The control plane has at least one machine, and an odd number.",
    DiskSetup = "disk-setup": "Disks are set up once, for machines that have them.",

    VipCount = "vip-count": "There is one virtual IP per address family.",
    VipFamily = "vip-family": "Virtual IPs are in the order of the cluster's address families.",
    VipsEqual = "vips-equal": "API and ingress have different virtual IPs.",
    VipOutside = "vip-outside": "Virtual IPs are in the machine network.",
    AddressReserved = "address-reserved": "An address is neither its network's own nor the broadcast address.",

    VCenterDuplicate = "vcenter-duplicate": "A vCenter is listed once.",
    VCenterUnused = "vcenter-unused": "Every vCenter has a failure domain.",
    UserDomain = "user-domain": "A vSphere user names its domain, or the storage driver refuses it.",
    CredentialWhitespace = "credential-whitespace": "Credentials do not end in white space by accident.",
    PasswordSource = "password-source": "A password is given in one way.",
    TlsChoice = "tls-choice": "A certificate is verified in one way.",
    TlsInsecure = "tls-insecure": "Certificates are verified.",
    Thumbprint = "thumbprint": "A fingerprint is SHA-1 or SHA-256 in hexadecimal.",
    LegacyIgnored = "legacy-ignored": "Old fields have no effect beside the new ones.",
    NameBecomesPath = "name-becomes-path": "A name is read as an inventory path.",
    OldUpi = "old-upi": "Without cluster and network no machines can be created.",
    FailureDomainDuplicate = "failure-domain-duplicate": "A failure domain's name is used once.",
    FailureDomainServer = "failure-domain-server": "A failure domain is on one of the vCenters.",
    FailureDomainDatacenter = "failure-domain-datacenter": "A failure domain's datacenter is listed for its vCenter.",
    UnknownFailureDomain = "unknown-failure-domain": "Zones and hosts name failure domains that exist.",
    ZoneDuplicate = "zone-duplicate": "A region and zone together are used once.",
    ZoneListed = "zone-listed": "A pool lists a zone once.",
    ZoneType = "zone-type": "The types of region and zone go together.",
    InventoryPath = "inventory-path": "An inventory path leads into the right branch.",
    PathDatacenter = "path-datacenter": "An inventory path is in the failure domain's datacenter.",
    PoolCluster = "pool-cluster": "A resource pool is in the failure domain's compute cluster.",
    TemplateOrImage = "template-or-image": "Machines come from a template or from an image.",
    MachineImage = "machine-image": "Machines have a template or an image to be created from; without it only files can be created.",
    TemplateName = "template-name": "The template's name fits into vSphere.",
    OsImage = "os-image": "The image is a URL, with a checksum unless the way it comes proves where it is from.",
    NodeNetwork = "node-network": "Node networking names a network of a failure domain.",
    DnsRecords = "dns-records": "External DNS records go with a load balancer of the user's.",
    HostCount = "host-count": "There is one static host per machine.",
    HostAddress = "host-address": "A machine's address is in the machine network.",
    AddressDuplicate = "address-duplicate": "A machine's address is its own.",
    Gateway = "gateway": "There is one reachable gateway per address family.",
    CoresPerSocket = "cores-per-socket": "Processors split evenly into sockets.",
    DataDisk = "data-disk": "Data disks have proper names and sizes.",
    MachineSize = "machine-size": "Machines are large enough for what runs on them.",

    InstanceType = "instance-type": "A machine's size is given in one way.",
    AffinityGroup = "affinity-group": "An affinity group's name is used once.",
    PodNetwork = "pod-network": "On the pod network there are no virtual IPs.",
    AccessMode = "access-mode": "Machines can write to their disks.",

    PullSecret = "pull-secret": "The pull secret is JSON with credentials for each registry.",
    SshKey = "ssh-key": "SSH keys are public keys of an allowed type.",
    Certificates = "certificates": "A bundle holds PEM certificates.",
    Proxy = "proxy": "Proxies are URLs outside the cluster's own networks.",
    NoProxy = "no-proxy": "Exceptions from the proxy are addresses, networks and domains.",
    Mirrors = "mirrors": "Mirrors are repositories, given in one form.",
    MirrorLogin = "mirror-login": "Registries of mirrors are in the pull secret.",
    Capabilities = "capabilities": "Components exist, and those the cluster needs are not left out.",
    Pki = "pki": "The keys of the cluster's certificates use a supported algorithm and size.",
    IniSyntax = "ini-syntax": "A driver's INI file follows the rules of its dialect.",
    DriverValue = "driver-value": "A key of a driver's configuration has a value of its kind.",
    DriverKeyUnknown = "driver-key-unknown": "Drivers silently ignore keys they do not know.",
    ListComma = "list-comma": "Entries of lists have no commas, at which drivers split them.",
    CloudConfigFormat = "cloud-config-format": "A cloud config is YAML or INI.",
    CloudConfigVCenters = "cloud-config-vcenters": "A cloud config names at least one vCenter.",
    CloudConfigCredentials = "cloud-config-credentials": "Credentials come from one usable place.",
    CloudConfigIpFamily = "cloud-config-ip-family": "Address families are ipv4 and ipv6.",
    CloudConfigNodes = "cloud-config-nodes": "The networks that choose a node's addresses are networks.",
    CloudConfigNsxt = "cloud-config-nsxt": "Settings for NSX-T are complete; otherwise the driver does not use NSX-T.",
    CloudConfigLabels = "cloud-config-labels": "Zone and region go together.",
    CloudConfigPassword = "cloud-config-password": "Passwords are kept in Secrets.",
    CsiConfig = "csi-config": "The storage driver starts with its configuration.",
    MatrixRow = "matrix-row": "A row of a compatibility matrix is complete, makes sense, and is the only one of its version.",
    BootstrapInPlace = "bootstrap-in-place": "Only a single machine without a platform installs itself.",
}
