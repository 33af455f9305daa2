package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Inventory is the whole description of a simulated vCenter. Every field is
// optional; an empty inventory is replaced by defaultInventory. The same type,
// partially filled, is what POST /inventory/apply takes.
type Inventory struct {
	VCenter       VCenter      `json:"vcenter"`
	DefaultDomain string       `json:"default_domain,omitempty"`
	Domains       []Domain     `json:"domains,omitempty"`
	Users         []User       `json:"users,omitempty"`
	Groups        []Group      `json:"groups,omitempty"`
	Roles         []Role       `json:"roles,omitempty"`
	Permissions   []Permission `json:"permissions,omitempty"`

	// Folders are datacenter folders ("eu/west"), below the root folder.
	Folders     []string     `json:"folders,omitempty"`
	Datacenters []Datacenter `json:"datacenters,omitempty"`

	Categories      []Category `json:"categories,omitempty"`
	StoragePolicies []Policy   `json:"storage_policies,omitempty"`

	// Enforce makes the methods listed in enforce.go answer NoPermission when
	// the caller lacks the privilege. The simulator itself never does.
	Enforce bool `json:"enforce,omitempty"`

	// TaskMS gives task methods a duration ("CloneVM_Task": 300).
	TaskMS map[string]int `json:"task_ms,omitempty"`
	// DHCP is the network from which machines get an address when they are
	// powered on ("10.0.0.0/24"); without it only the control API gives any.
	DHCP string `json:"dhcp,omitempty"`
	// CloneSlots and CloneSlotsPerHost bound the clones that run at once; more
	// of them stay in state queued. 0 means no bound.
	CloneSlots        int `json:"clone_slots,omitempty"`
	CloneSlotsPerHost int `json:"clone_slots_per_host,omitempty"`

	// Faults are rules that are active from the start.
	Faults []Rule `json:"faults,omitempty"`
}

// VCenter is what ServiceContent.about says, and what this vCenter knows.
type VCenter struct {
	Name         string `json:"name,omitempty"`
	Version      string `json:"version,omitempty"`
	Build        string `json:"build,omitempty"`
	APIVersion   string `json:"api_version,omitempty"`
	InstanceUUID string `json:"instance_uuid,omitempty"`
	// PrivilegesUnknown are taken out of AuthorizationManager.privilegeList and
	// out of every role, PrivilegesExtra are added: names differ by version.
	PrivilegesUnknown []string `json:"privileges_unknown,omitempty"`
	PrivilegesExtra   []string `json:"privileges_extra,omitempty"`
	// SessionTimeoutS ends idle sessions, SOAP and REST.
	SessionTimeoutS int `json:"session_timeout_s,omitempty"`
}

// Domain is an identity source. NetBIOS is the short form of DOMAIN\name.
type Domain struct {
	Name    string `json:"name"`
	NetBIOS string `json:"netbios,omitempty"`
}

// User logs in as name@domain, DOMAIN\name or, in the default domain, name.
type User struct {
	Name     string   `json:"name"`
	Password string   `json:"password"`
	Groups   []string `json:"groups,omitempty"`
	Locked   bool     `json:"locked,omitempty"`
	Expired  bool     `json:"expired,omitempty"`
	// LoginFault is the fault type that a correct login gets instead.
	LoginFault string `json:"login_fault,omitempty"`
}

// Group has users or other groups as members.
type Group struct {
	Name    string   `json:"name"`
	Members []string `json:"members,omitempty"`
}

// Role is a named set of privilege ids.
type Role struct {
	Name       string   `json:"name"`
	Privileges []string `json:"privileges"`
}

// Permission grants a role to a principal on an entity. Entity is an inventory
// path, "/" for the root folder, or "global" for a global permission.
type Permission struct {
	Principal string `json:"principal"`
	Group     bool   `json:"group,omitempty"`
	Role      string `json:"role"`
	Entity    string `json:"entity"`
	Propagate *bool  `json:"propagate,omitempty"`
}

// Datacenter holds everything that has a place in the inventory tree.
type Datacenter struct {
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"`
	// Folders, by kind: nested paths such as "team/prod".
	Folders FolderSet `json:"folders"`
	// VMNetwork false removes the "VM Network" every new datacenter has.
	VMNetwork  *bool       `json:"vm_network,omitempty"`
	Clusters   []Cluster   `json:"clusters,omitempty"`
	Hosts      []Host      `json:"hosts,omitempty"`
	Switches   []Switch    `json:"switches,omitempty"`
	Networks   []Network   `json:"networks,omitempty"`
	Datastores []Datastore `json:"datastores,omitempty"`
	VMs        []VM        `json:"vms,omitempty"`
}

// FolderSet lists folders below the four folders of a datacenter.
type FolderSet struct {
	VM        []string `json:"vm,omitempty"`
	Host      []string `json:"host,omitempty"`
	Datastore []string `json:"datastore,omitempty"`
	Network   []string `json:"network,omitempty"`
}

// Cluster is a ClusterComputeResource.
type Cluster struct {
	Name   string         `json:"name"`
	Folder string         `json:"folder,omitempty"`
	DRS    *DRS           `json:"drs,omitempty"`
	HA     *bool          `json:"ha,omitempty"`
	Hosts  []Host         `json:"hosts,omitempty"`
	Pools  []Pool         `json:"pools,omitempty"`
	Groups []ClusterGroup `json:"groups,omitempty"`
	Rules  []ClusterRule  `json:"rules,omitempty"`
}

// DRS behaviour is manual, partiallyAutomated or fullyAutomated.
type DRS struct {
	Enabled   bool   `json:"enabled"`
	Behaviour string `json:"behaviour,omitempty"`
}

// Host is an ESXi host. Count n makes n of them, named name-0 … name-(n-1).
type Host struct {
	Name         string `json:"name"`
	Count        int    `json:"count,omitempty"`
	Folder       string `json:"folder,omitempty"` // standalone hosts only
	Version      string `json:"version,omitempty"`
	Build        string `json:"build,omitempty"`
	Connection   string `json:"connection,omitempty"` // connected, disconnected, notResponding
	Maintenance  bool   `json:"maintenance,omitempty"`
	Cores        int    `json:"cores,omitempty"`
	MHz          int    `json:"mhz,omitempty"`
	MemoryMB     int    `json:"memory_mb,omitempty"`
	CPUUsedMHz   int    `json:"cpu_used_mhz,omitempty"`
	MemoryUsedMB int    `json:"memory_used_mb,omitempty"`
}

// Pool is a resource pool; pools nest.
type Pool struct {
	Name  string `json:"name"`
	Pools []Pool `json:"pools,omitempty"`
}

// ClusterGroup is a DRS group of hosts or of VMs, by name or path.
type ClusterGroup struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts,omitempty"`
	VMs   []string `json:"vms,omitempty"`
}

// ClusterRule kind is affinity, anti-affinity or vm-host.
type ClusterRule struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Enabled    *bool    `json:"enabled,omitempty"`
	Mandatory  bool     `json:"mandatory,omitempty"`
	VMs        []string `json:"vms,omitempty"`
	VMGroup    string   `json:"vm_group,omitempty"`
	HostGroup  string   `json:"host_group,omitempty"`
	AntiAffine bool     `json:"anti_affine,omitempty"` // vm-host: keep away from HostGroup
}

// Switch is a distributed switch. Hosts: cluster or host names, default all.
type Switch struct {
	Name   string   `json:"name"`
	Folder string   `json:"folder,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
}

// Network type is standard, distributed (needs Switch) or opaque.
type Network struct {
	Name   string   `json:"name"`
	Type   string   `json:"type,omitempty"`
	Folder string   `json:"folder,omitempty"`
	Switch string   `json:"switch,omitempty"`
	VLAN   int      `json:"vlan,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
	// Accessible is summary.accessible, default true.
	Accessible *bool `json:"accessible,omitempty"`
}

// Datastore type is VMFS, NFS, NFS41, vsan or OTHER.
type Datastore struct {
	Name        string   `json:"name"`
	Folder      string   `json:"folder,omitempty"`
	Pod         string   `json:"pod,omitempty"` // datastore cluster, created when missing
	Type        string   `json:"type,omitempty"`
	CapacityGB  float64  `json:"capacity_gb,omitempty"`
	FreeGB      *float64 `json:"free_gb,omitempty"`
	URL         string   `json:"url,omitempty"`
	Accessible  *bool    `json:"accessible,omitempty"`
	Maintenance string   `json:"maintenance,omitempty"` // normal, enteringMaintenance, inMaintenance
	Hosts       []string `json:"hosts,omitempty"`       // cluster or host names, default all
}

// VM is a virtual machine or template. Count n makes n of them.
type VM struct {
	Name            string            `json:"name"`
	Count           int               `json:"count,omitempty"`
	Folder          string            `json:"folder,omitempty"`
	Template        bool              `json:"template,omitempty"`
	Cluster         string            `json:"cluster,omitempty"`
	Pool            string            `json:"pool,omitempty"` // "a/b" below the cluster's Resources
	Host            string            `json:"host,omitempty"`
	Datastore       string            `json:"datastore,omitempty"`
	CPUs            int               `json:"cpus,omitempty"`
	CoresPerSocket  int               `json:"cores_per_socket,omitempty"`
	MemoryMB        int               `json:"memory_mb,omitempty"`
	HardwareVersion string            `json:"hardware_version,omitempty"`
	Firmware        string            `json:"firmware,omitempty"`
	GuestID         string            `json:"guest_id,omitempty"`
	DisksGB         []int             `json:"disks_gb,omitempty"`
	Networks        []string          `json:"networks,omitempty"`
	Annotation      string            `json:"annotation,omitempty"`
	ExtraConfig     map[string]string `json:"extra_config,omitempty"`
	UUID            string            `json:"uuid,omitempty"`
	InstanceUUID    string            `json:"instance_uuid,omitempty"`
	Product         *Product          `json:"product,omitempty"`
	ChangeTracking  *bool             `json:"change_tracking,omitempty"`
	DiskLatencyMS   int64             `json:"disk_latency_ms,omitempty"`
	Power           string            `json:"power,omitempty"` // on, off, suspended
	Hostname        string            `json:"hostname,omitempty"`
	IPs             []string          `json:"ips,omitempty"`
}

// Product is vAppConfig.product[0].
type Product struct {
	Name        string `json:"name"`
	Vendor      string `json:"vendor,omitempty"`
	Version     string `json:"version,omitempty"`
	FullVersion string `json:"full_version,omitempty"`
}

// Category cardinality is SINGLE (default) or MULTIPLE. No types means all.
type Category struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Cardinality string   `json:"cardinality,omitempty"`
	Types       []string `json:"types,omitempty"`
	Tags        []Tag    `json:"tags,omitempty"`
}

// Tag is attached to inventory paths.
type Tag struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Attach      []string `json:"attach,omitempty"`
}

// Policy is a storage policy with one tag rule, or none.
type Policy struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty"`
	Tag         string `json:"tag,omitempty"`
}

// defaultInventory is what an empty description means: one datacenter, one
// cluster of three hosts, one datastore, one template.
func defaultInventory() *Inventory {
	return &Inventory{Datacenters: []Datacenter{{
		Name: "DC0",
		Clusters: []Cluster{{
			Name:  "DC0_C0",
			Hosts: []Host{{Name: "DC0_C0_H", Count: 3}},
		}},
		Datastores: []Datastore{{Name: "LocalDS_0"}},
		VMs:        []VM{{Name: "template-0", Template: true, Cluster: "DC0_C0"}},
	}}}
}

// decodeStrict refuses unknown fields and trailing data: a misspelt field in a
// test's inventory must fail the test, not silently describe another estate.
func decodeStrict(r io.Reader, into any) error {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the JSON value")
	}
	return nil
}

func loadInventory(file string) (*Inventory, error) {
	if file == "" {
		return defaultInventory(), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	inv := new(Inventory)
	if err := decodeStrict(bytes.NewReader(data), inv); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return inv, nil
}

func orTrue(b *bool) bool { return b == nil || *b }
