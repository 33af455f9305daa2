package main

import (
	"sort"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// dump is GET /inventory: what an independent reader would want to see, taken
// from the objects themselves and not from the description.
type dump struct {
	VCenter types.AboutInfo `json:"vcenter"`
	Objects []dumpObject    `json:"objects"`
}

type dumpObject struct {
	Path  string         `json:"path"`
	Type  string         `json:"type"`
	Moref string         `json:"moref"`
	Name  string         `json:"name"`
	Tags  []string       `json:"tags,omitempty"`
	Props map[string]any `json:"props,omitempty"`
}

func (e *estate) dump() dump {
	d := dump{VCenter: e.client.ServiceContent.About}
	for _, obj := range e.reg.All("") {
		o := dumpObject{
			Path: pathOf(e.reg, obj.Reference()), Type: obj.Reference().Type,
			Moref: obj.Reference().String(), Name: nameOf(obj), Tags: e.tagsOf(obj.Reference()),
		}
		e.reg.WithLock(e.newContext(), obj, func() { o.Props = e.props(obj) })
		d.Objects = append(d.Objects, o)
	}
	sort.Slice(d.Objects, func(i, j int) bool {
		a, b := d.Objects[i], d.Objects[j]
		if a.Path != b.Path {
			return a.Path < b.Path
		}
		return a.Moref < b.Moref
	})
	return d
}

func morefs(list []ref) []string {
	out := make([]string, 0, len(list))
	for _, r := range list {
		out = append(out, r.String())
	}
	return out
}

func moref(r *ref) string {
	if r == nil {
		return ""
	}
	return r.String()
}

func (e *estate) props(obj mo.Entity) map[string]any {
	switch x := obj.(type) {
	case *simulator.ClusterComputeResource:
		p := map[string]any{
			"host": morefs(x.Host), "datastore": morefs(x.Datastore), "network": morefs(x.Network),
			"resourcePool": moref(x.ResourcePool), "summary": x.Summary,
		}
		if c, ok := x.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			p["drs"], p["das"] = c.DrsConfig, c.DasConfig
			// None is none, whether there have been any or not.
			p["group"] = append([]types.BaseClusterGroupInfo{}, c.Group...)
			p["rule"] = append([]types.BaseClusterRuleInfo{}, c.Rule...)
		}
		return p
	case *mo.ComputeResource:
		return map[string]any{
			"host": morefs(x.Host), "datastore": morefs(x.Datastore), "network": morefs(x.Network),
			"resourcePool": moref(x.ResourcePool),
		}
	case *simulator.HostSystem:
		return map[string]any{
			"version": x.Summary.Config.Product.Version, "build": x.Summary.Config.Product.Build,
			"connectionState": x.Runtime.ConnectionState, "inMaintenanceMode": x.Runtime.InMaintenanceMode,
			"cores": x.Summary.Hardware.NumCpuCores, "memory": x.Summary.Hardware.MemorySize,
			"vm": morefs(x.Vm), "datastore": morefs(x.Datastore), "network": morefs(x.Network),
		}
	case *simulator.Datastore:
		url := x.Summary.Url
		e.urlMu.RLock()
		for _, p := range e.urls {
			if p.dir == url {
				url = p.url
			}
		}
		e.urlMu.RUnlock()
		hosts := make([]string, 0, len(x.Host))
		for _, m := range x.Host {
			hosts = append(hosts, m.Key.String())
		}
		return map[string]any{
			"type": x.Summary.Type, "capacity": x.Summary.Capacity, "freeSpace": x.Summary.FreeSpace,
			"url": url, "accessible": x.Summary.Accessible, "maintenanceMode": x.Summary.MaintenanceMode,
			"host": hosts, "vm": morefs(x.Vm), "files": files(x),
		}
	case *mo.Network:
		return map[string]any{"host": morefs(x.Host), "accessible": x.Summary.GetNetworkSummary().Accessible}
	case *mo.OpaqueNetwork:
		return map[string]any{"host": morefs(x.Host), "summary": x.Summary}
	case *simulator.DistributedVirtualPortgroup:
		return map[string]any{
			"host": morefs(x.Host), "key": x.Key, "switch": moref(x.Config.DistributedVirtualSwitch),
			"uplink": x.Config.Uplink != nil && *x.Config.Uplink,
		}
	case *simulator.DistributedVirtualSwitch:
		return map[string]any{"uuid": x.Uuid, "portgroup": morefs(x.Portgroup), "host": morefs(x.Summary.HostMember)}
	case *simulator.ResourcePool:
		return map[string]any{"owner": x.Owner.String(), "vm": morefs(x.Vm)}
	case *simulator.VirtualMachine:
		return vmProps(x)
	}
	return nil
}

func vmProps(x *simulator.VirtualMachine) map[string]any {
	extra := make(map[string]any)
	for _, v := range x.Config.ExtraConfig {
		extra[v.GetOptionValue().Key] = v.GetOptionValue().Value
	}
	var disks []int64
	var diskFiles []string
	var nics []map[string]any
	for _, d := range x.Config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualDisk:
			disks = append(disks, d.CapacityInKB)
			diskFiles = append(diskFiles, fileOf(d))
		case types.BaseVirtualEthernetCard:
			c := d.GetVirtualEthernetCard()
			nics = append(nics, map[string]any{"mac": c.MacAddress, "key": c.Key})
		}
	}
	p := map[string]any{
		"template": x.Config.Template, "powerState": x.Runtime.PowerState, "host": moref(x.Runtime.Host),
		"resourcePool": moref(x.ResourcePool), "uuid": x.Config.Uuid, "instanceUuid": x.Config.InstanceUuid,
		"version": x.Config.Version, "guestId": x.Config.GuestId, "firmware": x.Config.Firmware,
		"numCPU": x.Config.Hardware.NumCPU, "memoryMB": x.Config.Hardware.MemoryMB,
		"annotation": x.Config.Annotation, "extraConfig": extra, "disksKB": disks, "diskFiles": diskFiles, "vmPathName": x.Config.Files.VmPathName, "nics": nics,
		"network": morefs(x.Network), "datastore": morefs(x.Datastore),
		"hostName": x.Guest.HostName, "ipAddress": x.Guest.IpAddress, "net": x.Guest.Net,
	}
	if x.Config.VAppConfig != nil {
		p["vAppProduct"] = x.Config.VAppConfig.GetVmConfigInfo().Product
		p["vAppProperty"] = x.Config.VAppConfig.GetVmConfigInfo().Property
	}
	return p
}
