//! The sections of the cloud provider's configuration. Keys are given in INI and YAML spelling.

use std::collections::BTreeMap;

use crate::driver_config::ServerPort;
use crate::driver_config::keys::keys;
use crate::secret::Secret;

keys! {
    /// Defaults for all vCenters, and where credentials come from.
    Global {
        /// User, unless a Secret is named.
        user: String = "user" "user";
        /// Password in clear text, unless a Secret is named.
        password: Secret = "password" "password";
        /// The only vCenter, in the oldest form.
        server: String = "server" "server";
        /// Port of the vCenters.
        port: ServerPort = "port" "port";
        /// Whether certificates are not verified. Cannot be undone for a single vCenter.
        insecure_flag: bool = "insecure-flag" "insecureFlag";
        /// Datacenters to look in; none means all.
        datacenters: Vec<String> = "datacenters" "datacenters";
        /// Tries per call.
        soap_roundtrip_count: u32 = "soap-roundtrip-count" "soapRoundtripCount";
        /// File with authorities to trust.
        ca_file: String = "ca-file" "caFile";
        /// Fingerprint of the certificate.
        thumbprint: String = "thumbprint" "thumbprint";
        /// Secret with the credentials.
        secret_name: String = "secret-name" "secretName";
        /// Namespace of that Secret.
        secret_namespace: String = "secret-namespace" "secretNamespace";
        /// Directory with the credentials, instead of a Secret.
        secrets_directory: String = "secrets-directory" "secretsDirectory";
        /// Switches an API off that no longer exists.
        api_disable: Option<bool> = "api-disable" "apiDisable";
        /// Address of that API.
        api_binding: String = "api-binding" "apiBinding";
        /// Address families of the nodes.
        ip_family: Vec<String> = "ip-family" "ipFamily";
    }
}

keys! {
    /// A vCenter. What is not set is taken from the global section.
    VCenter {
        /// User, unless a Secret is named.
        user: String = "user" "user";
        /// Password in clear text, unless a Secret is named.
        password: Secret = "password" "password";
        /// Name or address of the server.
        server: String = "server" "server";
        /// Port.
        port: ServerPort = "port" "port";
        /// Whether its certificate is not verified.
        insecure_flag: bool = "insecure-flag" "insecureFlag";
        /// Datacenters to look in; none means all.
        datacenters: Vec<String> = "datacenters" "datacenters";
        /// Tries per call.
        soap_roundtrip_count: u32 = "soap-roundtrip-count" "soapRoundtripCount";
        /// File with authorities to trust.
        ca_file: String = "ca-file" "caFile";
        /// Fingerprint of the certificate.
        thumbprint: String = "thumbprint" "thumbprint";
        /// Secret with the credentials.
        secret_name: String = "secret-name" "secretName";
        /// Namespace of that Secret.
        secret_namespace: String = "secret-namespace" "secretNamespace";
        /// The provider's own name for the credentials. It is overwritten wherever a Secret is named.
        secret_ref: String = "secretref" "secretref";
        /// Address families of the nodes.
        ip_family: Vec<String> = "ip-family" "ipFamily";
    }
}

keys! {
    /// Tag categories that say which zone and region a node is in.
    Labels {
        /// Category of the zone tags.
        zone: String = "zone" "zone";
        /// Category of the region tags.
        region: String = "region" "region";
    }
}

keys! {
    /// Which of a machine's addresses are the node's.
    Nodes {
        /// Networks of internal addresses, separated by commas.
        internal_network_subnet_cidr: String = "internal-network-subnet-cidr" "internalNetworkSubnetCidr";
        /// Networks of external addresses, separated by commas.
        external_network_subnet_cidr: String = "external-network-subnet-cidr" "externalNetworkSubnetCidr";
        /// vSphere network of internal addresses.
        internal_vm_network_name: String = "internal-vm-network-name" "internalVmNetworkName";
        /// vSphere network of external addresses.
        external_vm_network_name: String = "external-vm-network-name" "externalVmNetworkName";
        /// Networks internal addresses are not in.
        exclude_internal_network_subnet_cidr: String = "exclude-internal-network-subnet-cidr" "excludeInternalNetworkSubnetCidr";
        /// Networks external addresses are not in.
        exclude_external_network_subnet_cidr: String = "exclude-external-network-subnet-cidr" "excludeExternalNetworkSubnetCidr";
    }
}

keys! {
    /// Load balancers of NSX-T.
    LoadBalancer {
        /// Name of the address pool.
        ip_pool_name: String = "ip-pool-name" "ipPoolName";
        /// Id of the address pool.
        ip_pool_id: String = "ip-pool-id" "ipPoolId";
        /// Size of the load balancers.
        size: String = "size" "size";
        /// An existing load balancer service.
        lb_service_id: String = "lb-service-id" "lbServiceId";
        /// Path of the tier-1 gateway.
        tier1_gateway_path: String = "tier1-gateway-path" "tier1GatewayPath";
        /// Name of the profile for TCP.
        tcp_app_profile_name: String = "tcp-app-profile-name" "tcpAppProfileName";
        /// Path of the profile for TCP.
        tcp_app_profile_path: String = "tcp-app-profile-path" "tcpAppProfilePath";
        /// Name of the profile for UDP.
        udp_app_profile_name: String = "udp-app-profile-name" "udpAppProfileName";
        /// Path of the profile for UDP.
        udp_app_profile_path: String = "udp-app-profile-path" "udpAppProfilePath";
        /// Whether source addresses are kept.
        snat_disabled: bool = "snat-disabled" "snatDisabled";
        /// Tags of the objects that are made.
        tags: BTreeMap<String, String> = "tags" "tags";
    }
}

keys! {
    /// A class of load balancers.
    LoadBalancerClass {
        /// Name of the address pool.
        ip_pool_name: String = "ip-pool-name" "ipPoolName";
        /// Id of the address pool.
        ip_pool_id: String = "ip-pool-id" "ipPoolId";
        /// Name of the profile for TCP.
        tcp_app_profile_name: String = "tcp-app-profile-name" "tcpAppProfileName";
        /// Path of the profile for TCP.
        tcp_app_profile_path: String = "tcp-app-profile-path" "tcpAppProfilePath";
        /// Name of the profile for UDP.
        udp_app_profile_name: String = "udp-app-profile-name" "udpAppProfileName";
        /// Path of the profile for UDP.
        udp_app_profile_path: String = "udp-app-profile-path" "udpAppProfilePath";
    }
}

keys! {
    /// Routes of NSX-T.
    Route {
        /// Path of the router.
        router_path: String = "router-path" "routerPath";
    }
}

keys! {
    /// The connection to NSX-T.
    Nsxt {
        /// User.
        user: String = "user" "user";
        /// Password in clear text.
        password: Secret = "password" "password";
        /// Name or address of the manager.
        host: String = "host" "host";
        /// Whether its certificate is not verified.
        insecure_flag: bool = "insecure-flag" "insecureFlag";
        /// Whether users are authenticated elsewhere.
        remote_auth: bool = "remote-auth" "remoteAuth";
        /// Secret with the credentials.
        secret_name: String = "secret-name" "secretName";
        /// Namespace of that Secret.
        secret_namespace: String = "secret-namespace" "secretNamespace";
        /// Token for VMware Cloud.
        vmc_access_token: Secret = "vmc-access-token" "vmcAccessToken";
        /// Where tokens for VMware Cloud are checked.
        vmc_auth_host: String = "vmc-auth-host" "vmcAuthHost";
        /// File with a client certificate.
        client_auth_cert_file: String = "client-auth-cert-file" "clientAuthCertFile";
        /// File with its key.
        client_auth_key_file: String = "client-auth-key-file" "clientAuthKeyFile";
        /// File with authorities to trust.
        ca_file: String = "ca-file" "caFile";
    }
}

keys! {
    /// Global keys that only the old provider knew.
    LegacyGlobal {
        /// The datacenter.
        datacenter: String = "datacenter" "";
        /// The datastore.
        datastore: String = "datastore" "";
        /// The folder of the machines.
        working_dir: String = "working-dir" "";
        /// UUID of this machine.
        vm_uuid: String = "vm-uuid" "";
        /// Name of this machine.
        vm_name: String = "vm-name" "";
        /// Whether another program manages the Secret.
        secret_not_managed: bool = "secret-not-managed" "";
    }
}

keys! {
    /// Where the old provider put volumes and machines.
    Workspace {
        /// The vCenter.
        server: String = "server" "";
        /// The datacenter.
        datacenter: String = "datacenter" "";
        /// The folder of the machines.
        folder: String = "folder" "";
        /// The datastore of volumes.
        default_datastore: String = "default-datastore" "";
        /// The resource pool of helper machines.
        resourcepool_path: String = "resourcepool-path" "";
    }
}

keys! {
    /// The network of the old provider.
    Network {
        /// Network of the nodes' addresses.
        public_network: String = "public-network" "";
    }
}

keys! {
    /// Disks of the old provider.
    Disk {
        /// The controller disks are attached to.
        scsi_controller_type: String = "scsicontrollertype" "";
    }
}
