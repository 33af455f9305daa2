package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// builder turns a description into objects. Where vSphere has a method it is
// called in process; what no client can set (free space, host versions, URLs)
// is written into the objects.
type builder struct {
	*estate
	ctx context.Context
}

// stableUUID makes ids that are the same in every run of one inventory.
func stableUUID(parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vcsim\x00"+strings.Join(parts, "\x00"))).String()
}

// folder finds or makes a nested folder. Parts of the path are written escaped.
func (b *builder) folder(parent ref, path string) (ref, error) {
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		name := unescapeName(part)
		if r, ok := b.child(parent, escapeName(name)); ok {
			parent = r
			continue
		}
		f, err := object.NewFolder(b.client, parent).CreateFolder(b.ctx, name)
		if err != nil {
			return ref{}, fmt.Errorf("folder %q: %w", path, err)
		}
		parent = f.Reference()
	}
	return parent, nil
}

// wait runs a task method and returns the object it made.
func (b *builder) wait(task *object.Task, err error) (ref, error) {
	if err != nil {
		return ref{}, err
	}
	// Looking at the task costs less than a property collector in big estates.
	info, fault := b.tasks.await(task.Reference())
	if fault != nil {
		return ref{}, fmt.Errorf("%T", fault)
	}
	r, _ := info.Result.(ref)
	return r, nil
}

// dcBuilder works inside one datacenter.
type dcBuilder struct {
	*builder
	spec *Datacenter
	dc   *simulator.Datacenter
}

func (b *builder) datacenter(spec *Datacenter) error {
	if spec.Name == "" {
		return fmt.Errorf("it has no name")
	}
	parent, err := b.folder(b.root, spec.Folder)
	if err != nil {
		return err
	}
	at, exists := b.child(parent, escapeName(spec.Name))
	if !exists {
		dc, err := object.NewFolder(b.client, parent).CreateDatacenter(b.ctx, escapeName(spec.Name))
		if err != nil {
			return err
		}
		at = dc.Reference()
	}
	d := &dcBuilder{builder: b, spec: spec, dc: b.reg.Get(at).(*simulator.Datacenter)}

	for _, set := range []struct {
		parent ref
		paths  []string
	}{
		{d.dc.VmFolder, spec.Folders.VM}, {d.dc.HostFolder, spec.Folders.Host},
		{d.dc.DatastoreFolder, spec.Folders.Datastore}, {d.dc.NetworkFolder, spec.Folders.Network},
	} {
		for _, path := range set.paths {
			if _, err := b.folder(set.parent, path); err != nil {
				return err
			}
		}
	}
	steps := []func() error{d.hosts, d.switches, d.networks, d.datastores, d.vms, d.freeSpace, d.drs, d.dropVMNetwork}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// hosts makes clusters with their hosts and pools, and standalone hosts.
func (d *dcBuilder) hosts() error {
	for i := range d.spec.Clusters {
		c := &d.spec.Clusters[i]
		if c.Name == "" {
			return fmt.Errorf("a cluster has no name")
		}
		parent, err := d.folder(d.dc.HostFolder, c.Folder)
		if err != nil {
			return err
		}
		at, exists := d.child(parent, escapeName(c.Name))
		if !exists {
			cluster, err := object.NewFolder(d.client, parent).CreateCluster(d.ctx, escapeName(c.Name), types.ClusterConfigSpecEx{})
			if err != nil {
				return fmt.Errorf("cluster %q: %w", c.Name, err)
			}
			at = cluster.Reference()
		}
		cluster := object.NewClusterComputeResource(d.client, at)
		mob := d.reg.Get(at).(*simulator.ClusterComputeResource)
		if err := d.clusterHosts(cluster, mob, c); err != nil {
			return err
		}
		d.totals(&mob.ComputeResource)
		if err := d.pools(*mob.ResourcePool, c.Pools); err != nil {
			return err
		}
		if err := d.clusterConfig(cluster, c); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	for _, h := range expandHosts(d.spec.Hosts) {
		parent, err := d.folder(d.dc.HostFolder, h.Folder)
		if err != nil {
			return err
		}
		r, err := d.wait(object.NewFolder(d.client, parent).AddStandaloneHost(d.ctx, types.HostConnectSpec{HostName: h.Name}, true, nil, nil))
		if err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
		if err := d.configureHost(r, h); err != nil {
			return err
		}
		if cr, ok := d.reg.Get(*entityAt(d.reg, r).Entity().Parent).(*mo.ComputeResource); ok {
			d.totals(cr)
		}
	}
	return nil
}

// clusterHosts adds hosts. The simulator parses the versions of the hosts that
// are there whenever one is added, and panics at those it does not know: they
// get theirs when all are in.
func (d *dcBuilder) clusterHosts(cluster *object.ClusterComputeResource, mob *simulator.ClusterComputeResource, c *Cluster) error {
	versions := make(map[*simulator.HostSystem]string)
	for _, r := range mob.Host {
		h := d.reg.Get(r).(*simulator.HostSystem)
		versions[h] = h.Config.Product.Version
		h.Config.Product.Version = "8.0.2"
	}
	defer func() {
		for h, v := range versions {
			h.Config.Product.Version = v
		}
	}()
	specs := expandHosts(c.Hosts)
	added := make([]ref, len(specs))
	for i, h := range specs {
		r, err := d.wait(cluster.AddHost(d.ctx, types.HostConnectSpec{HostName: h.Name}, true, nil, nil))
		if err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
		added[i] = r
	}
	for i, h := range specs {
		if err := d.configureHost(added[i], h); err != nil {
			return err
		}
	}
	return nil
}

func expandHosts(in []Host) (out []Host) {
	for _, h := range in {
		if h.Count == 0 {
			out = append(out, h)
			continue
		}
		for i := range h.Count {
			one := h
			one.Name = fmt.Sprintf("%s-%d", h.Name, i)
			out = append(out, one)
		}
	}
	return out
}

// configureHost overwrites what the simulator's host template says. Structures
// that the template shares between hosts are copied first.
func (d *dcBuilder) configureHost(r ref, spec Host) error {
	host := d.reg.Get(r).(*simulator.HostSystem)
	switch spec.Connection {
	case "", "connected", "disconnected", "notResponding":
	default:
		return fmt.Errorf("host %q: unknown connection %q", spec.Name, spec.Connection)
	}
	version, build := spec.Version, spec.Build
	if version == "" {
		version, build = "8.0.3", "24022510"
	}
	if build == "" {
		build = "20513097"
	}
	product := *host.Summary.Config.Product
	product.Version, product.Build = version, build
	product.ApiVersion = apiVersion(version)
	product.FullName = fmt.Sprintf("VMware ESXi %s build-%s", version, build)
	host.Summary.Config.Product = &product
	host.Config.Product = product

	cpu, hw := host.Hardware.CpuInfo, host.Summary.Hardware
	cores, mhz, mem := int16(32), int32(2400), int64(256<<30)
	if spec.Cores > 0 {
		cores = int16(spec.Cores)
	}
	if spec.MHz > 0 {
		mhz = int32(spec.MHz)
	}
	if spec.MemoryMB > 0 {
		mem = int64(spec.MemoryMB) << 20
	}
	cpu.NumCpuCores, cpu.NumCpuThreads, cpu.Hz = cores, cores*2, int64(mhz)*1_000_000
	host.Hardware.CpuInfo, host.Hardware.MemorySize = cpu, mem
	hw.NumCpuCores, hw.NumCpuThreads, hw.CpuMhz, hw.MemorySize = cores, cores*2, mhz, mem
	host.Summary.QuickStats.OverallCpuUsage = int32(spec.CPUUsedMHz)
	host.Summary.QuickStats.OverallMemoryUsage = int32(spec.MemoryUsedMB)

	// Two hosts of one name in different datacenters must not share an id.
	id := stableUUID("host", pathOf(d.reg, r))
	hw.Uuid, host.Hardware.SystemInfo.Uuid = id, id
	d.setHostState(host, spec.Connection, spec.Maintenance)
	return nil
}

func (e *estate) setHostState(host *simulator.HostSystem, connection string, maintenance bool) {
	if connection != "" {
		host.Runtime.ConnectionState = types.HostSystemConnectionState(connection)
	}
	host.Runtime.InMaintenanceMode = maintenance
	host.Summary.Runtime = &host.Runtime
}

// totals recomputes a compute resource's sums: the simulator adds a host's
// numbers before the description is applied, and counts MHz per CPU, not core.
func (d *dcBuilder) totals(cr *mo.ComputeResource) {
	s := cr.Summary.GetComputeResourceSummary()
	*s = types.ComputeResourceSummary{OverallStatus: types.ManagedEntityStatusGreen}
	for _, r := range cr.Host {
		h := d.reg.Get(r).(*simulator.HostSystem)
		hw := h.Summary.Hardware
		s.NumHosts++
		s.TotalCpu += hw.CpuMhz * int32(hw.NumCpuCores)
		s.TotalMemory += hw.MemorySize
		s.NumCpuCores += hw.NumCpuCores
		s.NumCpuThreads += hw.NumCpuThreads
		if h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected && !h.Runtime.InMaintenanceMode {
			s.NumEffectiveHosts++
			s.EffectiveCpu += hw.CpuMhz * int32(hw.NumCpuCores)
			s.EffectiveMemory += hw.MemorySize >> 20 // in MB, unlike the total
		}
	}
}

func (d *dcBuilder) pools(parent ref, pools []Pool) error {
	for _, p := range pools {
		at, exists := d.child(parent, escapeName(p.Name))
		if !exists {
			pool, err := object.NewResourcePool(d.client, parent).Create(d.ctx, escapeName(p.Name), types.DefaultResourceConfigSpec())
			if err != nil {
				return fmt.Errorf("pool %q: %w", p.Name, err)
			}
			at = pool.Reference()
		}
		if err := d.pools(at, p.Pools); err != nil {
			return err
		}
	}
	return nil
}

func (d *dcBuilder) clusterConfig(cluster *object.ClusterComputeResource, c *Cluster) error {
	spec := &types.ClusterConfigSpecEx{}
	if c.DRS != nil {
		spec.DrsConfig = &types.ClusterDrsConfigInfo{
			Enabled:           types.NewBool(c.DRS.Enabled),
			DefaultVmBehavior: types.DrsBehavior(c.DRS.Behaviour),
		}
	}
	if c.HA != nil {
		spec.DasConfig = &types.ClusterDasConfigInfo{Enabled: c.HA}
	}
	_, err := d.wait(cluster.Reconfigure(d.ctx, spec, true))
	return err
}
