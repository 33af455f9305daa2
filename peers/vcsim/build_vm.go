package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func (d *dcBuilder) vms() error {
	for i := range d.spec.VMs {
		spec := d.spec.VMs[i]
		if spec.Count == 0 {
			if err := d.vm(spec); err != nil {
				return fmt.Errorf("vm %q: %w", spec.Name, err)
			}
			continue
		}
		for n := range spec.Count {
			one := spec
			one.Name = fmt.Sprintf("%s-%d", spec.Name, n)
			if err := d.vm(one); err != nil {
				return fmt.Errorf("vm %q: %w", one.Name, err)
			}
		}
	}
	return nil
}

// where finds pool, host and datastore of a VM. Everything that is left out is
// the first that fits, so that small inventories stay small.
func (d *dcBuilder) where(spec VM) (pool, host ref, ds *simulator.Datastore, err error) {
	var owner ref
	switch {
	case spec.Cluster != "":
		owner, err = d.named(d.dc.HostFolder, spec.Cluster, "ClusterComputeResource", "ComputeResource")
	case spec.Host != "":
		var hosts []ref
		if hosts, err = d.hostsNamed([]string{spec.Host}); err == nil {
			owner = *entityAt(d.reg, hosts[0]).Entity().Parent
		}
	default:
		all := d.below(d.dc.HostFolder, "ClusterComputeResource", "ComputeResource")
		if len(all) == 0 {
			err = fmt.Errorf("the datacenter has no cluster or host")
		} else {
			owner = all[0]
		}
	}
	if err != nil {
		return
	}
	kids := d.childrenOf(owner)
	pool = kids[0]
	for _, part := range strings.Split(strings.Trim(spec.Pool, "/"), "/") {
		if part == "" {
			continue
		}
		next, ok := d.child(pool, part)
		if !ok {
			err = fmt.Errorf("no pool %q in %s", spec.Pool, pathOf(d.reg, owner))
			return
		}
		pool = next
	}
	for _, r := range d.dc.Datastore {
		x := d.reg.Get(r).(*simulator.Datastore)
		if spec.Datastore != "" && x.Name != escapeName(spec.Datastore) && pathOf(d.reg, r) != spec.Datastore {
			continue
		}
		for _, h := range kids[1:] {
			if spec.Host != "" && nameOf(entityAt(d.reg, h)) != spec.Host {
				continue
			}
			if mounts(x, h) {
				return pool, d.spread(kids[1:], x, spec.Host), x, nil
			}
		}
	}
	err = fmt.Errorf("no datastore %q on a host of %s", spec.Datastore, pathOf(d.reg, owner))
	return
}

func mounts(ds *simulator.Datastore, host ref) bool {
	return slices.ContainsFunc(ds.Host, func(m types.DatastoreHostMount) bool { return m.Key == host })
}

// spread picks the host with the fewest VMs, so that the same description
// always gives the same placement; hosts that cannot run VMs come last.
func (d *dcBuilder) spread(hosts []ref, ds *simulator.Datastore, name string) (best ref) {
	fewest := -1
	for _, r := range hosts {
		h := d.reg.Get(r).(*simulator.HostSystem)
		if !mounts(ds, r) || (name != "" && h.Name != name) {
			continue
		}
		n := len(h.Vm)
		if h.Runtime.InMaintenanceMode || h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
			n += 1 << 20
		}
		if fewest < 0 || n < fewest {
			best, fewest = r, n
		}
	}
	return best
}

func (d *dcBuilder) vm(spec VM) error {
	folder, err := d.folder(d.dc.VmFolder, spec.Folder)
	if err != nil {
		return err
	}
	pool, host, ds, err := d.where(spec)
	if err != nil {
		return err
	}
	config := types.VirtualMachineConfigSpec{
		Name:                  spec.Name,
		GuestId:               spec.GuestID,
		Version:               spec.HardwareVersion,
		Firmware:              spec.Firmware,
		NumCPUs:               int32(max(spec.CPUs, 1)),
		MemoryMB:              int64(spec.MemoryMB),
		Annotation:            spec.Annotation,
		Uuid:                  spec.UUID,
		InstanceUuid:          spec.InstanceUUID,
		ChangeTrackingEnabled: spec.ChangeTracking,
		Files:                 &types.VirtualMachineFileInfo{VmPathName: fmt.Sprintf("[%s]", ds.Name)},
	}
	if config.GuestId == "" {
		config.GuestId = string(types.VirtualMachineGuestOsIdentifierOtherLinux64Guest)
	}
	if config.Version == "" {
		config.Version = "vmx-19"
	}
	if config.MemoryMB == 0 {
		config.MemoryMB = 1024
	}
	if spec.CoresPerSocket > 0 {
		config.NumCoresPerSocket = types.NewInt32(int32(spec.CoresPerSocket))
	}
	path := pathOf(d.reg, folder) + "/" + spec.Name
	if config.Uuid == "" {
		config.Uuid = stableUUID("bios", path)
	}
	if config.InstanceUuid == "" {
		config.InstanceUuid = stableUUID("instance", path)
	}
	keys := make([]string, 0, len(spec.ExtraConfig))
	for k := range spec.ExtraConfig {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: k, Value: spec.ExtraConfig[k]})
	}
	if p := spec.Product; p != nil {
		config.VAppConfig = &types.VmConfigSpec{Product: []types.VAppProductSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info: &types.VAppProductInfo{
				Name: p.Name, Vendor: p.Vendor, Version: p.Version, FullVersion: p.FullVersion,
			},
		}}}
	}
	if config.DeviceChange, err = d.devices(spec, ds); err != nil {
		return err
	}
	// The simulator doubles the devices of a VM whose name it has to escape.
	config.Name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\%`, c) {
			return '_'
		}
		return c
	}, spec.Name)
	r, err := d.wait(object.NewFolder(d.client, folder).CreateVM(d.ctx, config,
		object.NewResourcePool(d.client, pool), object.NewHostSystem(d.client, host)))
	if err != nil {
		return err
	}
	made := d.reg.Get(r).(*simulator.VirtualMachine)
	name := escapeName(spec.Name)
	made.Name, made.Config.Name, made.Summary.Config.Name = name, name, name
	for k, v := range spec.ExtraConfig {
		if strings.EqualFold(k, "disk.EnableUUID") {
			made.Config.Flags.DiskUuidEnabled = types.NewBool(strings.EqualFold(v, "TRUE"))
		}
	}
	if spec.DiskLatencyMS > 0 {
		d.latency.Store(r, spec.DiskLatencyMS)
	}
	return d.settle(r, spec)
}

func (d *dcBuilder) devices(spec VM, ds *simulator.Datastore) ([]types.BaseVirtualDeviceConfigSpec, error) {
	var list object.VirtualDeviceList
	scsi, err := list.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	list = append(list, scsi)
	disks := spec.DisksGB
	if len(disks) == 0 {
		disks = []int{16}
	}
	for _, gb := range disks {
		disk := list.CreateDisk(scsi.(types.BaseVirtualController), ds.Self, "")
		disk.CapacityInKB = int64(gb) << 20
		disk.CapacityInBytes = int64(gb) << 30
		list = append(list, disk)
	}
	networks := spec.Networks
	if networks == nil && len(d.dc.Network) > 0 {
		networks = []string{pathOf(d.reg, d.dc.Network[0])}
	}
	for _, name := range networks {
		net, err := d.named(d.dc.NetworkFolder, name, "Network", "DistributedVirtualPortgroup", "OpaqueNetwork")
		if err != nil {
			return nil, err
		}
		backing, err := object.NewReference(d.client, net).(object.NetworkReference).EthernetCardBackingInfo(d.ctx)
		if err != nil {
			return nil, err
		}
		nic, err := list.CreateEthernetCard("vmxnet3", backing)
		if err != nil {
			return nil, err
		}
		list = append(list, nic)
	}
	return list.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

// settle brings a new VM into the state described.
func (d *dcBuilder) settle(r ref, spec VM) error {
	vm := object.NewVirtualMachine(d.client, r)
	if len(spec.IPs) > 0 {
		d.tasks.leases.static.Store(r, true)
	}
	switch spec.Power {
	case "", "off":
	case "on", "suspended":
		if _, err := d.wait(vm.PowerOn(d.ctx)); err != nil {
			return err
		}
		if spec.Power == "suspended" {
			if _, err := d.wait(vm.Suspend(d.ctx)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown power %q", spec.Power)
	}
	if spec.Hostname != "" || len(spec.IPs) > 0 {
		if err := d.setGuest(r, guestState{Hostname: spec.Hostname, IPs: spec.IPs}); err != nil {
			return err
		}
	}
	if spec.Template {
		return vm.MarkAsTemplate(d.ctx)
	}
	return nil
}

// drs makes groups and rules, which name VMs and so come after them.
func (d *dcBuilder) drs() error {
	for i := range d.spec.Clusters {
		c := &d.spec.Clusters[i]
		if len(c.Groups) == 0 && len(c.Rules) == 0 {
			continue
		}
		at, err := d.named(d.dc.HostFolder, c.Name, "ClusterComputeResource")
		if err != nil {
			return err
		}
		spec := &types.ClusterConfigSpecEx{}
		for _, g := range c.Groups {
			info, err := d.drsGroup(g)
			if err != nil {
				return fmt.Errorf("group %q: %w", g.Name, err)
			}
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: info,
			})
		}
		for _, r := range c.Rules {
			info, err := d.drsRule(r)
			if err != nil {
				return fmt.Errorf("rule %q: %w", r.Name, err)
			}
			spec.RulesSpec = append(spec.RulesSpec, types.ClusterRuleSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: info,
			})
		}
		if _, err := d.wait(object.NewClusterComputeResource(d.client, at).Reconfigure(d.ctx, spec, true)); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	return nil
}

func (d *dcBuilder) vmsNamed(names []string) (out []ref, err error) {
	for _, name := range names {
		r, err := d.named(d.dc.VmFolder, name, "VirtualMachine")
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (d *dcBuilder) drsGroup(g ClusterGroup) (types.BaseClusterGroupInfo, error) {
	base := types.ClusterGroupInfo{Name: g.Name, UserCreated: types.NewBool(true)}
	if len(g.VMs) > 0 {
		vms, err := d.vmsNamed(g.VMs)
		return &types.ClusterVmGroup{ClusterGroupInfo: base, Vm: vms}, err
	}
	if len(g.Hosts) == 0 {
		return &types.ClusterVmGroup{ClusterGroupInfo: base}, nil
	}
	hosts, err := d.hostsNamed(g.Hosts)
	return &types.ClusterHostGroup{ClusterGroupInfo: base, Host: hosts}, err
}

func (d *dcBuilder) drsRule(r ClusterRule) (types.BaseClusterRuleInfo, error) {
	base := types.ClusterRuleInfo{
		Name: r.Name, Enabled: types.NewBool(orTrue(r.Enabled)), UserCreated: types.NewBool(true),
		Mandatory: types.NewBool(r.Mandatory),
	}
	vms, err := d.vmsNamed(r.VMs)
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case "affinity":
		return &types.ClusterAffinityRuleSpec{ClusterRuleInfo: base, Vm: vms}, nil
	case "anti-affinity":
		return &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: base, Vm: vms}, nil
	case "vm-host":
		rule := &types.ClusterVmHostRuleInfo{ClusterRuleInfo: base, VmGroupName: r.VMGroup}
		if r.AntiAffine {
			rule.AntiAffineHostGroupName = r.HostGroup
		} else {
			rule.AffineHostGroupName = r.HostGroup
		}
		return rule, nil
	}
	return nil, fmt.Errorf("unknown kind %q", r.Kind)
}
