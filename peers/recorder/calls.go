package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/cns/methods"
	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/ssoadmin"
	sso "github.com/vmware/govmomi/ssoadmin/types"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	vim "github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

type ref = types.ManagedObjectReference

var (
	folder    = ref{Type: "Folder", Value: "group-v3"}
	pool      = ref{Type: "ResourcePool", Value: "resgroup-8"}
	datastore = ref{Type: "Datastore", Value: "datastore-11"}
	host      = ref{Type: "HostSystem", Value: "host-9"}
	source    = ref{Type: "VirtualMachine", Value: "vm-1"}
	other     = ref{Type: "VirtualMachine", Value: "vm-2"}
	cluster   = ref{Type: "ClusterComputeResource", Value: "domain-c8"}
	snapshot  = ref{Type: "VirtualMachineSnapshot", Value: "snapshot-5"}
	network   = ref{Type: "Network", Value: "network-1"}
)

// call makes the calls; the test makes the same ones in the same order, with
// the same values.
func call(ctx context.Context, address string) error {
	u := &url.URL{Scheme: "https", Host: address, Path: "/sdk"}
	c, err := vim25.NewClient(ctx, soap.NewClient(u, true))
	if err != nil {
		return err
	}
	// The server's version, not the newest that govmomi knows.
	c.Client.Version = c.ServiceContent.About.ApiVersion
	user := url.UserPassword("ops@vsphere.local", "p&<w>")
	sessions := session.NewManager(c)
	if err := sessions.Login(ctx, user); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return tokens(ctx, c, sessions, user) },
		func() error { return machines(ctx, c) },
		func() error { return placement(ctx, c) },
		func() error { return imports(ctx, c) },
		func() error { return permissions(ctx, c) },
		func() error { return storage(ctx, c) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func tokens(ctx context.Context, c *vim25.Client, sessions *session.Manager, user *url.Userinfo) error {
	client, err := sts.NewClient(ctx, c)
	if err != nil {
		return err
	}
	token, err := client.Issue(ctx, sts.TokenRequest{Userinfo: user})
	if err != nil {
		return err
	}
	header := soap.Header{Security: token}
	if err := sessions.LoginByToken(c.WithHeader(ctx, header)); err != nil {
		return err
	}
	admin, err := ssoadmin.NewClient(ctx, c)
	if err != nil {
		return err
	}
	if err := admin.Login(admin.WithHeader(ctx, header)); err != nil {
		return err
	}
	if _, err := admin.FindPersonUser(ctx, "node@vsphere.local"); err != nil {
		return err
	}
	if err := admin.CreatePersonUser(ctx, "node", sso.AdminPersonDetails{Description: "a & b"}, "one<two"); err != nil {
		return err
	}
	if err := admin.ResetPersonPassword(ctx, "node", "two>one"); err != nil {
		return err
	}
	return admin.DeletePrincipal(ctx, "node")
}

func machines(ctx context.Context, c *vim25.Client) error {
	vm := object.NewVirtualMachine(c, source)
	devices, err := vm.Device(ctx)
	if err != nil {
		return err
	}
	change := func(op types.VirtualDeviceConfigSpecOperation, file types.VirtualDeviceConfigSpecFileOperation, d types.BaseVirtualDevice) types.BaseVirtualDeviceConfigSpec {
		return &types.VirtualDeviceConfigSpec{Operation: op, FileOperation: file, Device: d}
	}
	card := func(key int32, backing types.BaseVirtualDeviceBackingInfo) types.BaseVirtualDevice {
		d := new(types.VirtualVmxnet3)
		d.Key, d.Backing, d.AddressType, d.WakeOnLanEnabled = key, backing, "generated", types.NewBool(true)
		d.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
		return d
	}
	disk := func(key, unit int32, thin, eager bool) types.BaseVirtualDevice {
		d := new(types.VirtualDisk)
		d.Key, d.ControllerKey, d.UnitNumber = key, 1000, &unit
		d.CapacityInKB, d.CapacityInBytes = 3<<20, 3<<30
		d.Backing = &types.VirtualDiskFlatVer2BackingInfo{
			DiskMode: "persistent", ThinProvisioned: &thin, EagerlyScrub: &eager,
		}
		return d
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, d := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
		changes = append(changes, change("remove", "", d))
	}
	standard := &types.VirtualEthernetCardNetworkBackingInfo{Network: &network}
	standard.DeviceName = "a & b"
	first := devices.SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	first.CapacityInKB, first.CapacityInBytes = 120<<20, 120<<30
	changes = append(changes,
		change("add", "", card(-2, standard)),
		change("add", "", card(-3, &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
			Port: types.DistributedVirtualSwitchPortConnection{SwitchUuid: "50 0b", PortgroupKey: "dvportgroup-7"},
		})),
		change("add", "", card(-4, &types.VirtualEthernetCardOpaqueNetworkBackingInfo{OpaqueNetworkId: "id", OpaqueNetworkType: "nsx.LogicalSwitch"})),
		change("edit", "", first),
		change("add", "create", disk(-6, 1, true, false)),
		change("add", "create", disk(-7, 2, false, false)),
		change("add", "create", disk(-8, 3, false, true)),
	)
	config := &types.VirtualMachineConfigSpec{
		InstanceUuid: "5012", Annotation: "a & b", NumCPUs: 4, NumCoresPerSocket: types.NewInt32(2), MemoryMB: 8192,
		Flags: &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)}, DeviceChange: changes,
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: "guestinfo.ignition.config.data", Value: "e30K <&>"},
			&types.OptionValue{Key: "stealclock.enable", Value: "TRUE"},
		},
	}
	full := types.VirtualMachineCloneSpec{Config: config}
	full.Location = types.VirtualMachineRelocateSpec{
		Datastore: &datastore, Pool: &pool, Host: &host, DiskMoveType: "moveAllDiskBackingsAndConsolidate",
	}
	linked := types.VirtualMachineCloneSpec{Template: true, Config: new(types.VirtualMachineConfigSpec), Snapshot: &snapshot}
	linked.Location = types.VirtualMachineRelocateSpec{Pool: &pool, DiskMoveType: "createNewChildDiskBacking"}
	at := object.NewFolder(c, folder)
	if _, err := vm.Clone(ctx, at, "node/0", full); err != nil {
		return err
	}
	if _, err := vm.Clone(ctx, at, "linked", linked); err != nil {
		return err
	}
	reconfigure := types.VirtualMachineConfigSpec{
		Annotation: "changed", NumCPUs: 8, MemoryMB: 4096,
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{change("remove", "", devices.SelectByType((*types.VirtualDisk)(nil))[0])},
		ExtraConfig:  []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.x", Value: ""}},
	}
	first.CapacityInKB, first.CapacityInBytes = 16<<20, 16<<30
	if _, err := vm.Reconfigure(ctx, reconfigure); err != nil {
		return err
	}
	option := &types.OptionValue{Key: "OverrideAutomationLevel", Value: "fullyAutomated"}
	dc := object.NewDatacenter(c, ref{Type: "Datacenter", Value: "datacenter-2"})
	if _, err := dc.PowerOnVM(ctx, []ref{source, other}, option); err != nil {
		return err
	}
	if _, err := at.CreateFolder(ctx, "a/b & c"); err != nil {
		return err
	}
	if _, err := at.MoveInto(ctx, []ref{source, other}); err != nil {
		return err
	}
	if _, err := vm.Rename(ctx, "x<y"); err != nil {
		return err
	}
	if _, err := vm.Destroy(ctx); err != nil {
		return err
	}
	_, err = vim.UnregisterAndDestroy_Task(ctx, c, &types.UnregisterAndDestroy_Task{This: folder})
	return err
}

func placement(ctx context.Context, c *vim25.Client) error {
	yes, no := types.NewBool(true), types.NewBool(false)
	rule := func(key int32, name string, mandatory *bool) types.ClusterRuleInfo {
		return types.ClusterRuleInfo{Key: key, Enabled: yes, Name: name, Mandatory: mandatory}
	}
	add, edit, remove := types.ArrayUpdateSpec{Operation: "add"}, types.ArrayUpdateSpec{Operation: "edit"}, types.ArrayUpdateOperation("remove")
	spec := &types.ClusterConfigSpecEx{
		RulesSpec: []types.ClusterRuleSpec{
			{ArrayUpdateSpec: add, Info: &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: rule(0, "apart", no), Vm: []ref{source, other}}},
			{ArrayUpdateSpec: edit, Info: &types.ClusterVmHostRuleInfo{ClusterRuleInfo: rule(4, "on", yes), VmGroupName: "g", AffineHostGroupName: "h"}},
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: remove, RemoveKey: int32(3)}},
		},
		GroupSpec: []types.ClusterGroupSpec{
			{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "g"}, Vm: []ref{source}}},
			{ArrayUpdateSpec: edit, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "h"}, Host: []ref{host}}},
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: remove, RemoveKey: "old"}},
		},
	}
	_, err := object.NewClusterComputeResource(c, cluster).Reconfigure(ctx, spec, true)
	return err
}

func imports(ctx context.Context, c *vim25.Client) error {
	p := object.NewResourcePool(c, pool)
	params := &types.OvfCreateImportSpecParams{
		EntityName: "template", HostSystem: &host, DiskProvisioning: "thin",
		NetworkMapping: []types.OvfNetworkMapping{{Name: "VM & Network", Network: network}},
	}
	spec, err := ovf.NewManager(c).CreateImportSpec(ctx, descriptor, p, datastore, params)
	if err != nil {
		return err
	}
	_, err = p.ImportVApp(ctx, spec.ImportSpec, object.NewFolder(c, folder), object.NewHostSystem(c, host))
	return err
}

const descriptor = `<Envelope xmlns:ovf="o"><NetworkSection><Network ovf:name="VM &amp; Network"/></NetworkSection></Envelope>`

func permissions(ctx context.Context, c *vim25.Client) error {
	m := object.NewAuthorizationManager(c)
	if _, err := m.AddRole(ctx, "r & s", []string{"Datastore.Browse", "System.View"}); err != nil {
		return err
	}
	// govmomi's own helper does the same; here the entity is set as a person would see it.
	_, err := vim.SetEntityPermissions(ctx, c, &types.SetEntityPermissions{
		This: m.Reference(), Entity: datastore, Permission: []types.Permission{
			{Entity: &datastore, Principal: `VSPHERE.LOCAL\node`, RoleId: 7, Propagate: true},
		},
	})
	return err
}

func storage(ctx context.Context, c *vim25.Client) error {
	p, err := pbm.NewClient(ctx, c)
	if err != nil {
		return err
	}
	kind := pbmtypes.PbmProfileResourceType{ResourceType: "STORAGE"}
	ids, err := p.QueryProfile(ctx, kind, "REQUIREMENT")
	if err != nil {
		return err
	}
	if _, err := p.RetrieveContent(ctx, ids); err != nil {
		return err
	}
	if _, err := p.DeleteProfile(ctx, ids); err != nil {
		return err
	}
	v := c.NewServiceClient("/vsanHealth", "vsan")
	v.Version = "8.0.3"
	manager := ref{Type: "CnsVolumeManager", Value: "cns-volume-manager"}
	for _, offset := range []int64{0, 2} {
		filter := &cns.CnsQueryFilter{ContainerClusterIds: []string{"ours"}, Cursor: &cns.CnsCursor{Offset: offset, Limit: 500}}
		if _, err := methods.CnsQueryVolume(ctx, v, &cns.CnsQueryVolume{This: manager, Filter: filter}); err != nil {
			return err
		}
	}
	_, err = methods.CnsDeleteVolume(ctx, v, &cns.CnsDeleteVolume{
		This: manager, VolumeIds: []cns.CnsVolumeId{{Id: "1"}}, DeleteDisk: true,
	})
	return err
}
