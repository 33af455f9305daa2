//! `platform.vsphere` and the vSphere part of machine pools, as written.

use std::net::IpAddr;

use secrecy::SecretString;

use crate::decode::{Entries, Port, choice, object};
use crate::names::{EnvName, FailureDomainName, ServerName, TagId};
use crate::net::{HostCidr, LooseCidr};

object! {
    /// A cluster on vSphere, across one to three vCenters.
    WrittenPlatform {
        /// The vCenters the cluster's machines live on.
        vcenters: Entries<WrittenVCenter> as "vcenters", at_most 3, needed;
        /// Where machines may be placed: a region and zone, and the vSphere objects behind them.
        failure_domains: Entries<WrittenFailureDomain> as "failureDomains", needed;
        /// Virtual IPs of the API, one per address family. Without any, DNS and load balancers are yours to provide.
        api_vips: Entries<IpAddr> as "apiVIPs", at_most 2;
        /// Virtual IPs of the ingress, one per address family.
        ingress_vips: Entries<IpAddr> as "ingressVIPs", at_most 2;
        /// What machines look like unless their pool says otherwise.
        default_machine: WrittenPool as "defaultMachinePlatform";
        /// URL of the OVA to import, with `?sha256=` and its checksum; only `https://` goes without, with a warning.
        cluster_os_image: String as "clusterOSImage";
        /// How the disk of an imported OVA is provisioned.
        disk_type: DiskType as "diskType", default "the datastore's policy";
        /// Which of a machine's addresses the node uses, when it has several.
        node_networking: WrittenNodeNetworking as "nodeNetworking";
        /// Who balances the load of API and ingress.
        load_balancer: super::super::WrittenLoadBalancer as "loadBalancer";
        /// Where the DNS records of the cluster are.
        dns_records_type: DnsRecords as "dnsRecordsType", default "Internal";
        /// Machines with static addresses.
        hosts: Entries<WrittenHost> as "hosts";
        /// The one vCenter, in the old form.
        vcenter: ServerName as "vCenter", deprecated "use `vcenters[].server`";
        /// The user on the one vCenter.
        username: String as "username", deprecated "use `vcenters[].user`";
        /// The password on the one vCenter.
        password: SecretString as "password", deprecated "use `vcenters[].password`, `passwordFile` or `passwordEnv`";
        /// The datacenter on the one vCenter.
        datacenter: String as "datacenter", deprecated "use `failureDomains[].topology.datacenter`";
        /// The datastore on the one vCenter.
        default_datastore: String as "defaultDatastore", deprecated "use `failureDomains[].topology.datastore`";
        /// The VM folder on the one vCenter.
        folder: String as "folder", deprecated "use `failureDomains[].topology.folder`";
        /// The compute cluster on the one vCenter.
        cluster: String as "cluster", deprecated "use `failureDomains[].topology.computeCluster`";
        /// The resource pool on the one vCenter.
        resource_pool: String as "resourcePool", deprecated "use `failureDomains[].topology.resourcePool`";
        /// The network on the one vCenter.
        network: String as "network", deprecated "use `failureDomains[].topology.networks`";
        /// The API's virtual IP.
        api_vip: IpAddr as "apiVIP", deprecated "use `apiVIPs`";
        /// The ingress's virtual IP.
        ingress_vip: IpAddr as "ingressVIP", deprecated "use `ingressVIPs`";
    }
}

object! {
    /// A vCenter and how to log in to it.
    WrittenVCenter {
        /// Its DNS name or IP address, without `https://` and port.
        server: ServerName as "server", required;
        /// Its HTTPS port.
        port: Port as "port", default "443";
        /// The user, as `name@domain` or `DOMAIN\name`.
        user: String as "user", required;
        /// The user's password. A file or a variable keeps it out of this one.
        password: SecretString as "password";
        /// A file that holds the password.
        password_file: String as "passwordFile", ours;
        /// The environment variable that holds the password.
        password_env: EnvName as "passwordEnv", ours;
        /// The datacenters that are used.
        datacenters: Entries<String> as "datacenters", needed;
        /// How its certificate is verified. Absent means by the system's trust store.
        tls: WrittenTls as "tls", ours;
    }
}

object! {
    /// How a server's certificate is verified: one of the three.
    WrittenTls {
        /// PEM certificates of the authorities to trust.
        ca_bundle: String as "caBundle";
        /// The SHA-1 or SHA-256 fingerprint the certificate must have.
        thumbprint: String as "thumbprint";
        /// `true` accepts any certificate. Only for laboratories.
        insecure: bool as "insecure", default "false";
    }
}

object! {
    /// A place machines can be put: one zone of one region on one vCenter.
    WrittenFailureDomain {
        /// Its name, which machine pools list in `zones`.
        name: FailureDomainName as "name", required;
        /// The name of the region tag.
        region: String as "region", required;
        /// The name of the zone tag.
        zone: String as "zone", required;
        /// The vCenter it is on, one of `vcenters[].server`.
        server: ServerName as "server", needed;
        /// What a region is. Goes together with `zoneType`.
        region_type: RegionType as "regionType", default "Datacenter";
        /// What a zone is. Goes together with `regionType`.
        zone_type: ZoneType as "zoneType", default "ComputeCluster";
        /// The vSphere objects it consists of.
        topology: WrittenTopology as "topology", required;
    }
}

object! {
    /// The vSphere objects of a failure domain.
    WrittenTopology {
        /// The datacenter, one of the vCenter's `datacenters`.
        datacenter: String as "datacenter", needed;
        /// Inventory path of the compute cluster: `/<datacenter>/host/<cluster>`.
        compute_cluster: String as "computeCluster", needed;
        /// Names of the networks machines are attached to, 1 to 10.
        networks: Entries<String> as "networks", at_most 10, needed;
        /// Inventory path of the datastore: `/<datacenter>/datastore/<name>`.
        datastore: String as "datastore", needed;
        /// Inventory path of the resource pool: `/<datacenter>/host/<cluster>/Resources/<pool>`.
        resource_pool: String as "resourcePool", default "the compute cluster's root pool";
        /// Inventory path of the VM folder: `/<datacenter>/vm/<folder>`.
        folder: String as "folder", default "a new folder named after the cluster";
        /// An existing template to clone machines from, instead of importing an OVA.
        template: String as "template";
        /// Ids of tags to attach to the machines, at most 10.
        tag_ids: Entries<TagId> as "tagIDs", at_most 10;
        /// The host group of the zone, when `zoneType` is HostGroup.
        host_group: String as "hostGroup";
    }
}

object! {
    /// Which addresses of a machine the node uses.
    WrittenNodeNetworking {
        /// For traffic from outside.
        external: WrittenNodeNetwork as "external";
        /// For traffic inside the cluster.
        internal: WrittenNodeNetwork as "internal";
    }
}

object! {
    /// How to find a node's address.
    WrittenNodeNetwork {
        /// Name of the vSphere network whose adapter is used.
        network: String as "network";
        /// Networks the address is in.
        subnets: Entries<LooseCidr> as "networkSubnetCidr";
        /// Networks the address is not in.
        excluded: Entries<LooseCidr> as "excludeNetworkSubnetCidr";
    }
}

object! {
    /// A machine with a static address.
    WrittenHost {
        /// What the machine is.
        role: HostRole as "role", required;
        /// The failure domain it is placed in.
        failure_domain: String as "failureDomain";
        /// Its network settings.
        network_device: WrittenNetworkDevice as "networkDevice", required;
    }
}

object! {
    /// Static network settings of a machine.
    WrittenNetworkDevice {
        /// Its addresses with prefix length, such as 10.0.0.5/24.
        ip_addrs: Entries<HostCidr> as "ipAddrs", required;
        /// The default gateway. For dual stack write `gateways`.
        gateway: IpAddr as "gateway";
        /// Default gateways, one per address family.
        gateways: Entries<IpAddr> as "gateways", at_most 2, ours;
        /// Name servers, at most 3.
        nameservers: Entries<IpAddr> as "nameservers", at_most 3;
    }
}

object! {
    /// What machines look like on vSphere.
    WrittenPool {
        /// Failure domains the machines are spread over.
        zones: Entries<String> as "zones", default "all failure domains";
        /// Virtual processors.
        cpus: u32 as "cpus", default "4";
        /// Processors per virtual socket; `cpus` must be a multiple of it.
        cores_per_socket: u32 as "coresPerSocket", default "4";
        /// Memory in MiB.
        memory_mb: u32 as "memoryMB", default "16384";
        /// The disk the system is on.
        os_disk: WrittenOsDisk as "osDisk";
        /// Further disks, at most 29.
        data_disks: Entries<WrittenDataDisk> as "dataDisks", at_most 29;
    }
}

object! {
    /// The disk the system is on.
    WrittenOsDisk {
        /// Its size in GiB.
        disk_size_gb: u32 as "diskSizeGB", default "120";
    }
}

object! {
    /// A further disk of a machine.
    WrittenDataDisk {
        /// Its name, for `diskSetup`.
        name: String as "name", required;
        /// Its size in GiB, at most 16384.
        size_gib: u32 as "sizeGiB", required;
        /// How it is provisioned.
        provisioning_mode: ProvisioningMode as "provisioningMode", default "the datastore's policy";
    }
}

choice! {
    /// How the disk of an imported OVA is provisioned.
    DiskType {
        /// Space is taken as it is written.
        Thin = "thin",
        /// Space is taken at once and zeroed when first written.
        Thick = "thick",
        /// Space is taken and zeroed at once.
        EagerZeroedThick = "eagerZeroedThick",
    }
}

choice! {
    /// How a data disk is provisioned.
    ProvisioningMode {
        /// Space is taken as it is written.
        Thin = "Thin",
        /// Space is taken at once and zeroed when first written.
        Thick = "Thick",
        /// Space is taken and zeroed at once.
        EagerlyZeroed = "EagerlyZeroed",
    }
}

choice! {
    /// What a region is in vSphere.
    RegionType {
        /// A region is a datacenter.
        Datacenter = "Datacenter",
        /// A region is a compute cluster; zones are then host groups.
        ComputeCluster = "ComputeCluster",
        /// Not allowed for a region.
        HostGroup = "HostGroup",
    }
}

choice! {
    /// What a zone is in vSphere.
    ZoneType {
        /// A zone is a compute cluster.
        ComputeCluster = "ComputeCluster",
        /// A zone is a group of hosts of a compute cluster.
        HostGroup = "HostGroup",
    }
}

choice! {
    /// Where the DNS records of the cluster are.
    DnsRecords {
        /// Answered by the cluster's own machines.
        Internal = "Internal",
        /// In a DNS server of yours.
        External = "External",
    }
}

choice! {
    /// What a machine with a static address is.
    HostRole {
        /// The machine that starts the cluster and then goes away.
        Bootstrap = "bootstrap",
        /// A control-plane machine.
        ControlPlane = "control-plane",
        /// A compute machine.
        Compute = "compute",
    }
}
