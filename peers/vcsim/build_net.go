package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// below collects objects of some types under an object, in tree order.
func (e *estate) below(at ref, kinds ...string) (out []ref) {
	for _, r := range e.childrenOf(at) {
		if slices.Contains(kinds, r.Type) {
			out = append(out, r)
		}
		out = append(out, e.below(r, kinds...)...)
	}
	return out
}

// hostsNamed maps names or paths of hosts and clusters to hosts; none is all.
func (d *dcBuilder) hostsNamed(names []string) ([]ref, error) {
	all := d.below(d.dc.HostFolder, "HostSystem")
	if len(names) == 0 {
		return all, nil
	}
	var out []ref
	for _, name := range names {
		found := false
		for _, r := range all {
			h := entityAt(d.reg, r)
			parent := *h.Entity().Parent
			if nameOf(h) == name || pathOf(d.reg, r) == name ||
				nameOf(entityAt(d.reg, parent)) == escapeName(name) || pathOf(d.reg, parent) == name {
				found = true
				if !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no host or cluster %q", name)
		}
	}
	return out, nil
}

// named finds one object of a type below a folder, by name or by path.
func (d *dcBuilder) named(at ref, name string, kinds ...string) (ref, error) {
	var hits []ref
	for _, r := range d.below(at, kinds...) {
		if pathOf(d.reg, r) == name || nameOf(entityAt(d.reg, r)) == escapeName(name) {
			hits = append(hits, r)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return ref{}, fmt.Errorf("no %s %q", strings.Join(kinds, " or "), name)
	}
	return ref{}, fmt.Errorf("%q is ambiguous among %s: give a path", name, strings.Join(kinds, ", "))
}

// put places an object made here below a folder, as the simulator does for its
// own: list of children first, so that container views see it.
func (e *estate) put(folder ref, obj mo.Entity) {
	ctx := e.newContext()
	parent := e.reg.Get(folder)
	kids := childList(parent)
	e.reg.AppendReference(ctx, parent, kids, obj.Reference())
	e.reg.PutEntity(parent.(mo.Entity), obj)
}

func childList(obj mo.Reference) *[]ref {
	switch x := obj.(type) {
	case *simulator.Folder:
		return &x.ChildEntity
	case *simulator.StoragePod:
		return &x.ChildEntity
	}
	panic(fmt.Sprintf("%s has no list of children", obj.Reference()))
}

// compute is the compute resource part of a host's parent.
func (e *estate) compute(host *simulator.HostSystem) (mo.Reference, *mo.ComputeResource) {
	switch x := e.reg.Get(*host.Parent).(type) {
	case *simulator.ClusterComputeResource:
		return x, &x.ComputeResource
	case *mo.ComputeResource:
		return x, x
	}
	return nil, nil
}

// plug tells hosts, and what they belong to, about a network.
func (d *dcBuilder) plug(net ref, hosts []ref) {
	ctx := d.newContext()
	for _, r := range hosts {
		host := d.reg.Get(r).(*simulator.HostSystem)
		d.reg.AddReference(ctx, host, &host.Network, net)
		owner, cr := d.compute(host)
		d.reg.AddReference(ctx, owner, &cr.Network, net)
	}
	d.reg.AddReference(ctx, d.dc, &d.dc.Network, net)
}

func (d *dcBuilder) switches() error {
	for _, s := range d.spec.Switches {
		parent, err := d.folder(d.dc.NetworkFolder, s.Folder)
		if err != nil {
			return err
		}
		hosts, err := d.hostsNamed(s.Hosts)
		if err != nil {
			return fmt.Errorf("switch %q: %w", s.Name, err)
		}
		create := types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{
			DVSConfigSpec: types.DVSConfigSpec{Name: escapeName(s.Name)},
		}}
		r, err := d.wait(object.NewFolder(d.client, parent).CreateDVS(d.ctx, create))
		if err != nil {
			return fmt.Errorf("switch %q: %w", s.Name, err)
		}
		dvs := d.reg.Get(r).(*simulator.DistributedVirtualSwitch)
		id := stableUUID("dvs", pathOf(d.reg, r)) // the simulator's depends on the name alone
		dvs.Uuid, dvs.Summary.Uuid, dvs.Config.GetDVSConfigInfo().Uuid = id, id, id

		spec := &types.VMwareDVSConfigSpec{}
		for _, h := range hosts {
			spec.Host = append(spec.Host, types.DistributedVirtualSwitchHostMemberConfigSpec{
				Operation: string(types.ConfigSpecOperationAdd), Host: h,
			})
		}
		if _, err := d.wait(object.NewDistributedVirtualSwitch(d.client, r).Reconfigure(d.ctx, spec)); err != nil {
			return fmt.Errorf("switch %q: %w", s.Name, err)
		}
		// Clients tell the uplink port group from usable ones by this mark.
		for _, pg := range dvs.Portgroup {
			if up, ok := d.reg.Get(pg).(*simulator.DistributedVirtualPortgroup); ok {
				up.Config.Uplink = types.NewBool(true)
				up.Tag = []types.Tag{{Key: "SYSTEM/DVS.UPLINKPG"}}
			}
		}
	}
	return nil
}

func (d *dcBuilder) networks() error {
	for i := range d.spec.Networks {
		n := &d.spec.Networks[i]
		if n.Name == "" {
			return fmt.Errorf("a network has no name")
		}
		var r ref
		var err error
		switch n.Type {
		case "", "standard":
			r, err = d.standardNetwork(n)
		case "distributed":
			r, err = d.portgroup(n, "")
		case "opaque":
			r, err = d.opaqueNetwork(n)
		default:
			err = fmt.Errorf("unknown type %q", n.Type)
		}
		if err != nil {
			return fmt.Errorf("network %q: %w", n.Name, err)
		}
		if !orTrue(n.Accessible) {
			d.network(r).Summary.GetNetworkSummary().Accessible = false
		}
	}
	// The simulator lists a new port group once per host of a cluster.
	for _, r := range d.below(d.dc.HostFolder, "HostSystem") {
		_, cr := d.compute(d.reg.Get(r).(*simulator.HostSystem))
		cr.Network = unique(cr.Network)
	}
	return nil
}

func unique(list []ref) (out []ref) {
	for _, r := range list {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

func (e *estate) network(r ref) *mo.Network {
	switch x := e.reg.Get(r).(type) {
	case *mo.Network:
		return x
	case *mo.OpaqueNetwork:
		return &x.Network
	case *simulator.DistributedVirtualPortgroup:
		return &x.Network
	}
	return nil
}

func (d *dcBuilder) standardNetwork(n *Network) (ref, error) {
	parent, err := d.folder(d.dc.NetworkFolder, n.Folder)
	if err != nil {
		return ref{}, err
	}
	hosts, err := d.hostsNamed(n.Hosts)
	if err != nil {
		return ref{}, err
	}
	name := escapeName(n.Name)
	if at, ok := d.child(parent, name); ok {
		if at.Type == "Network" && n.Name == "VM Network" {
			return at, nil // every datacenter starts with this one
		}
		return ref{}, fmt.Errorf("the folder has this name already")
	}
	net := &mo.Network{}
	net.Name = name
	net.ManagedEntity.Name = name
	d.reg.NewEntity(net)
	net.Host = hosts
	net.Summary = &types.NetworkSummary{Network: &net.Self, Name: name, Accessible: true}
	d.put(parent, net)
	d.plug(net.Self, hosts)
	return net.Self, nil
}

// portgroup makes a distributed port group; logical names the NSX segment that
// it stands for, if any.
func (d *dcBuilder) portgroup(n *Network, logical string) (ref, error) {
	at, err := d.named(d.dc.NetworkFolder, n.Switch, "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch")
	if err != nil {
		return ref{}, err
	}
	spec := types.DVPortgroupConfigSpec{
		Name: escapeName(n.Name), NumPorts: 8, LogicalSwitchUuid: logical,
		Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
		DefaultPortConfig: &types.VMwareDVSPortSetting{
			Vlan: &types.VmwareDistributedVirtualSwitchVlanIdSpec{VlanId: int32(n.VLAN)},
		},
	}
	if logical != "" {
		spec.Name += "-nsx"
		spec.BackingType = string(types.DistributedVirtualPortgroupBackingTypeNsx)
	}
	dvs := d.reg.Get(at).(*simulator.DistributedVirtualSwitch)
	before := len(dvs.Portgroup)
	task, err := object.NewDistributedVirtualSwitch(d.client, at).AddPortgroup(d.ctx, []types.DVPortgroupConfigSpec{spec})
	if _, err := d.wait(task, err); err != nil {
		return ref{}, err
	}
	return dvs.Portgroup[before], nil
}

// opaqueNetwork: a VM can use it only if a switch is named, because the
// simulator looks for the port group behind an NSX segment.
func (d *dcBuilder) opaqueNetwork(n *Network) (ref, error) {
	parent, err := d.folder(d.dc.NetworkFolder, n.Folder)
	if err != nil {
		return ref{}, err
	}
	hosts, err := d.hostsNamed(n.Hosts)
	if err != nil {
		return ref{}, err
	}
	id := stableUUID("opaque", pathOf(d.reg, parent), n.Name)
	if n.Switch != "" {
		if _, err := d.portgroup(n, id); err != nil {
			return ref{}, err
		}
	}
	summary := types.OpaqueNetworkSummary{OpaqueNetworkId: id}
	summary.Name = escapeName(n.Name)
	folder := d.reg.Get(parent).(*simulator.Folder)
	if err := folder.AddOpaqueNetwork(d.newContext(), summary); err != nil {
		return ref{}, err
	}
	r := folder.ChildEntity[len(folder.ChildEntity)-1]
	net := d.reg.Get(r).(*mo.OpaqueNetwork)
	net.ManagedEntity.Name = summary.Name
	net.Host = hosts
	d.plug(r, hosts)
	return r, nil
}

// dropVMNetwork runs last: the simulator gives every new cluster and host the
// default network and cannot do without one while building.
func (d *dcBuilder) dropVMNetwork() error {
	r, ok := d.child(d.dc.NetworkFolder, "VM Network")
	if !ok {
		return nil
	}
	if orTrue(d.spec.VMNetwork) {
		hosts, err := d.hostsNamed(nil)
		if err == nil {
			d.network(r).Host = hosts
		}
		return err
	}
	ctx := d.newContext()
	for _, h := range d.below(d.dc.HostFolder, "HostSystem") {
		host := d.reg.Get(h).(*simulator.HostSystem)
		// The lists are shared between hosts and clusters: copy, then cut.
		host.Network = slices.DeleteFunc(slices.Clone(host.Network), func(x ref) bool { return x == r })
		_, cr := d.compute(host)
		cr.Network = slices.DeleteFunc(slices.Clone(cr.Network), func(x ref) bool { return x == r })
	}
	folder := d.reg.Get(d.dc.NetworkFolder).(*simulator.Folder)
	d.reg.RemoveReference(ctx, folder, &folder.ChildEntity, r)
	d.reg.RemoveReference(ctx, d.dc, &d.dc.Network, r)
	d.reg.Remove(ctx, r)
	return nil
}
