package main

import (
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const gib = float64(1 << 30)

// datastores are put together here and not by CreateLocalDatastore: that knows
// neither type nor size, and puts a datastore into the first folder it finds.
func (d *dcBuilder) datastores() error {
	for i := range d.spec.Datastores {
		if err := d.datastore(&d.spec.Datastores[i]); err != nil {
			return fmt.Errorf("datastore %q: %w", d.spec.Datastores[i].Name, err)
		}
	}
	return nil
}

func (d *dcBuilder) datastore(spec *Datastore) error {
	if spec.Name == "" {
		return fmt.Errorf("it has no name")
	}
	name := escapeName(spec.Name)
	for _, r := range d.below(d.dc.DatastoreFolder, "Datastore") {
		if nameOf(entityAt(d.reg, r)) == name {
			return fmt.Errorf("the datacenter has this name already")
		}
	}
	parent, err := d.folder(d.dc.DatastoreFolder, spec.Folder)
	if err != nil {
		return err
	}
	if spec.Pod != "" {
		pod, ok := d.child(parent, escapeName(spec.Pod))
		if !ok {
			p, err := object.NewFolder(d.client, parent).CreateStoragePod(d.ctx, escapeName(spec.Pod))
			if err != nil {
				return err
			}
			pod = p.Reference()
		}
		parent = pod
	}
	hosts, err := d.hostsNamed(spec.Hosts)
	if err != nil {
		return err
	}

	id := stableUUID("datastore", pathOf(d.reg, d.dc.Self), spec.Name)
	url := spec.URL
	if url == "" {
		url = "ds:///vmfs/volumes/" + id + "/"
	}
	dir, err := d.addURL(url)
	if err != nil {
		return err
	}
	ds := &simulator.Datastore{}
	ds.Name = name
	d.reg.NewEntity(ds)
	ds.Summary = types.DatastoreSummary{
		Datastore: &ds.Self, Name: name, Url: dir,
		Capacity:           int64(1024 * gib),
		MultipleHostAccess: types.NewBool(len(hosts) > 1),
		Accessible:         true,
		MaintenanceMode:    "normal",
	}
	if spec.CapacityGB > 0 {
		ds.Summary.Capacity = int64(spec.CapacityGB * gib)
	}
	ds.Summary.FreeSpace = ds.Summary.Capacity
	ds.Capability = types.DatastoreCapability{
		DirectoryHierarchySupported:      true,
		PerFileThinProvisioningSupported: true,
		TopLevelDirectoryCreateSupported: types.NewBool(spec.Type != "vsan"),
	}
	base := types.DatastoreInfo{
		Name: name, Url: dir,
		MaxFileSize: ds.Summary.Capacity, MaxMemoryFileSize: ds.Summary.Capacity,
	}
	switch spec.Type {
	case "", "VMFS":
		ds.Summary.Type = "VMFS"
		ds.Info = &types.VmfsDatastoreInfo{DatastoreInfo: base, Vmfs: &types.HostVmfsVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{Type: "VMFS", Name: name, Capacity: ds.Summary.Capacity},
			Uuid:                 id, Version: "6.82", MajorVersion: 6,
		}}
	case "NFS", "NFS41":
		ds.Summary.Type = spec.Type
		ds.Info = &types.NasDatastoreInfo{DatastoreInfo: base, Nas: &types.HostNasVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{Type: spec.Type, Name: name, Capacity: ds.Summary.Capacity},
			RemoteHost:           "nfs.example.com", RemotePath: "/" + id,
		}}
	case "vsan":
		ds.Summary.Type = "vsan"
		ds.Info = &types.VsanDatastoreInfo{DatastoreInfo: base, MembershipUuid: id}
	case "OTHER":
		ds.Summary.Type = "OTHER"
		ds.Info = &types.LocalDatastoreInfo{DatastoreInfo: base, Path: dir}
	default:
		return fmt.Errorf("unknown type %q", spec.Type)
	}
	state := datastoreState{FreeGB: spec.FreeGB, Accessible: spec.Accessible, Maintenance: spec.Maintenance}
	if err := state.write(ds); err != nil {
		return err
	}
	browser := &simulator.HostDatastoreBrowser{}
	browser.Datastore = []ref{ds.Self}
	ds.Browser = d.reg.Put(browser).Reference()
	d.put(parent, ds)
	d.mount(ds, hosts)
	return nil
}

// freeSpace runs after the VMs: their disks have taken space, but a description
// says what is free with them in place.
func (d *dcBuilder) freeSpace() error {
	for i := range d.spec.Datastores {
		spec := &d.spec.Datastores[i]
		at, err := d.named(d.dc.DatastoreFolder, spec.Name, "Datastore")
		if err != nil {
			return err
		}
		ds := d.reg.Get(at).(*simulator.Datastore)
		free := float64(ds.Summary.Capacity) / gib
		if spec.FreeGB != nil {
			free = *spec.FreeGB
		}
		if err := (datastoreState{FreeGB: &free}).write(ds); err != nil {
			return err
		}
	}
	return nil
}

// mount tells hosts, their compute resources and the datacenter.
func (d *dcBuilder) mount(ds *simulator.Datastore, hosts []ref) {
	ctx := d.newContext()
	for _, r := range hosts {
		ds.Host = append(ds.Host, types.DatastoreHostMount{Key: r, MountInfo: types.HostMountInfo{
			AccessMode: string(types.HostMountModeReadWrite),
			Mounted:    types.NewBool(true),
			Accessible: types.NewBool(ds.Summary.Accessible),
		}})
		host := d.reg.Get(r).(*simulator.HostSystem)
		d.reg.AddReference(ctx, host, &host.Datastore, ds.Self)
		if sys, ok := d.reg.Get(*host.ConfigManager.DatastoreSystem).(*simulator.HostDatastoreSystem); ok {
			d.reg.AddReference(ctx, sys, &sys.Datastore, ds.Self)
		}
		owner, cr := d.compute(host)
		d.reg.AddReference(ctx, owner, &cr.Datastore, ds.Self)
	}
	d.reg.AddReference(ctx, d.dc, &d.dc.Datastore, ds.Self)
}

// datastoreState is what may change while the vCenter runs.
type datastoreState struct {
	FreeGB      *float64 `json:"free_gb,omitempty"`
	Accessible  *bool    `json:"accessible,omitempty"`
	Maintenance string   `json:"maintenance,omitempty"`
}

func (s datastoreState) write(ds *simulator.Datastore) error {
	switch s.Maintenance {
	case "":
	case "normal", "enteringMaintenance", "inMaintenance":
		ds.Summary.MaintenanceMode = s.Maintenance
	default:
		return fmt.Errorf("unknown maintenance %q", s.Maintenance)
	}
	if s.FreeGB != nil {
		ds.Summary.FreeSpace = int64(*s.FreeGB * gib)
	}
	ds.Info.GetDatastoreInfo().FreeSpace = ds.Summary.FreeSpace
	if s.Accessible != nil {
		ds.Summary.Accessible = *s.Accessible
	}
	return nil
}
