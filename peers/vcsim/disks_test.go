package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const oneTemplate = `{"datacenters": [{"name": "d",
	"clusters": [{"name": "c", "hosts": [{"name": "h", "count": 3}]}],
	"datastores": [{"name": "s", "capacity_gb": 1000, "free_gb": 500}, {"name": "v", "type": "vsan"}],
	"vms": [{"name": "t", "template": true, "datastore": "s", "disks_gb": [16, 4]}]}]}`

func (s *sim) store(name string) *simulator.Datastore {
	s.t.Helper()
	return s.reg.Get(s.at("/d/datastore/" + name)).(*simulator.Datastore)
}

func (s *sim) done(task *object.Task, err error) {
	s.t.Helper()
	if err == nil {
		err = task.Wait(s.ctx)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sim) reconfigure(c *govmomi.Client, path string, changes ...types.BaseVirtualDeviceConfigSpec) {
	s.t.Helper()
	vm := object.NewVirtualMachine(c.Client, s.at(path))
	s.done(vm.Reconfigure(s.ctx, types.VirtualMachineConfigSpec{DeviceChange: changes}))
}

func diskFiles(vm mo.VirtualMachine) (out []string) {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			out = append(out, fileOf(disk))
		}
	}
	slices.Sort(out)
	return out
}

// grown is a clone's request as installers make it: the first disk grows, and
// is named by what the template has.
func (s *sim) grown(c *govmomi.Client, store string, linked bool) types.VirtualMachineCloneSpec {
	_, template := s.vmAt(c, "/d/vm/t")
	disk := *object.VirtualDeviceList(template.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	disk.CapacityInKB, disk.CapacityInBytes = 120<<20, 120<<30
	pool, ds := s.at("/d/host/c/Resources"), s.at("/d/datastore/"+store)
	move := types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate
	if linked {
		move = types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking
	}
	return types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &ds, DiskMoveType: string(move)},
		Config: &types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk},
		}},
	}
}

// TestClonesHaveDisksOfTheirOwn: in a folder named after the machine; they go
// with it, and the template's stay, cycle after cycle.
func TestClonesHaveDisksOfTheirOwn(t *testing.T) {
	s := startSim(t, oneTemplate)
	c := s.admin()
	for _, store := range []string{"s", "v"} {
		ds := s.store(store)
		before, free := files(s.store("s")), ds.Summary.FreeSpace
		empty := files(ds)
		for _, linked := range []bool{false, true, false} {
			s.done(s.clone(c, "/d/vm/t", "/d/vm", "m", s.grown(c, store, linked)))
			_, vm := s.vmAt(c, "/d/vm/m")
			folder := strings.TrimSuffix(vm.Config.Files.VmPathName, "m.vmx")
			want := []string{folder + "m.vmdk", folder + "m_1.vmdk"}
			// vSAN has ids where others have names.
			if got := diskFiles(vm); !slices.Equal(got, want) || (store == "s" && folder != "[s] m/") {
				t.Fatalf("linked %v: %v, %s", linked, got, vm.Config.Files.VmPathName)
			}
			first := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
			slices.SortFunc(first, func(a, b types.BaseVirtualDevice) int {
				return int(*a.GetVirtualDevice().UnitNumber - *b.GetVirtualDevice().UnitNumber)
			})
			disk := first[0].(*types.VirtualDisk)
			parent := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Parent
			if disk.CapacityInKB != 120<<20 || (parent != nil) != linked {
				t.Errorf("linked %v: %d KB, parent %v", linked, disk.CapacityInKB, parent)
			}
			taken := int64(124) << 30
			if linked {
				taken = 0
			}
			if now := ds.Summary.FreeSpace; free-now != taken {
				t.Errorf("linked %v: it takes %d bytes", linked, free-now)
			}
			if n := len(files(ds)) - len(empty); n < 6 {
				t.Errorf("%d files: %v", n, files(ds))
			}
			s.done(object.NewCommon(c.Client, vm.Self).Destroy(s.ctx))
			if !slices.Equal(files(ds), empty) || !slices.Equal(files(s.store("s")), before) || ds.Summary.FreeSpace != free {
				t.Fatalf("linked %v: %v, %d bytes less", linked, files(ds), free-ds.Summary.FreeSpace)
			}
		}
	}
}

// TestDestroyDeletesEveryAttachedDisk, wherever it lies, as vCenter does; what
// is not attached stays, also in the machine's folder.
func TestDestroyDeletesEveryAttachedDisk(t *testing.T) {
	s := startSim(t, oneTemplate)
	c := s.admin()
	ds := s.store("s")
	s.done(s.clone(c, "/d/vm/t", "/d/vm", "m", s.grown(c, "s", false)))
	_, vm := s.vmAt(c, "/d/vm/m")
	controller := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualSCSIController)(nil))[0]
	free := ds.Summary.FreeSpace
	disk := func(file string, unit int32) *types.VirtualDisk {
		return &types.VirtualDisk{CapacityInKB: 1 << 20, VirtualDevice: types.VirtualDevice{
			Key: -unit, ControllerKey: controller.GetVirtualDevice().Key, UnitNumber: &unit,
			Backing: &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file}, DiskMode: "persistent",
			},
		}}
	}
	add := func(d *types.VirtualDisk, op types.VirtualDeviceConfigSpecFileOperation) *types.VirtualDeviceConfigSpec {
		return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: op, Device: d}
	}
	for _, dir := range []string{"far", "fcd"} {
		if err := os.Mkdir(filepath.Join(ds.Summary.Url, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.reconfigure(c, "/d/vm/m", add(disk("[s] far/away.vmdk", 9), "create"), add(disk("[s] m/mine.vmdk", 10), "create"))
	// A volume that outlives its machine, and one that does not.
	for i, keep := range []bool{true, false} {
		res, err := methods.CreateDisk_Task(s.ctx, c.Client, &types.CreateDisk_Task{
			This: *c.ServiceContent.VStorageObjectManager,
			Spec: types.VslmCreateSpec{Name: "volume", KeepAfterDeleteVm: &keep, CapacityInMB: 1024,
				BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{
					VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds.Self, Path: []string{"fcd/a.vmdk", "fcd/b.vmdk"}[i]},
				}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.done(object.NewTask(c.Client, res.Returnval), nil)
	}
	s.reconfigure(c, "/d/vm/m", add(disk("[s] fcd/a.vmdk", 11), ""), add(disk("[s] fcd/b.vmdk", 12), ""))
	if taken := free - ds.Summary.FreeSpace; taken != 2<<30 {
		t.Errorf("files that are there take no space: %d", taken)
	}
	// A disk that is taken out stays where it is.
	_, vm = s.vmAt(c, "/d/vm/m")
	for _, d := range vm.Config.Hardware.Device {
		if x, ok := d.(*types.VirtualDisk); ok && fileOf(x) == "[s] m/mine.vmdk" {
			s.reconfigure(c, "/d/vm/m", &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: x})
		}
	}
	s.done(object.NewCommon(c.Client, vm.Self).Destroy(s.ctx))
	var left []string
	for _, file := range files(ds) {
		if !strings.HasPrefix(file, "t/") {
			left = append(left, file)
		}
	}
	want := []string{"far/", "fcd/", "fcd/a-flat.vmdk", "fcd/a.vmdk", "m/", "m/mine-flat.vmdk", "m/mine.vmdk"}
	if !slices.Equal(left, want) {
		t.Errorf("left: %v", left)
	}
	// The name is free again, the folder is not.
	s.done(s.clone(c, "/d/vm/t", "/d/vm", "m", s.grown(c, "s", false)))
	if _, vm = s.vmAt(c, "/d/vm/m"); len(diskFiles(vm)) != 2 || strings.HasPrefix(vm.Config.Files.VmPathName, "[s] m/") {
		t.Errorf("the next one: %v in %s", diskFiles(vm), vm.Config.Files.VmPathName)
	}
}

// TestFoldersGoWithoutFiles: the call that takes machines out of the inventory
// deletes none of them.
func TestFoldersGoWithoutFiles(t *testing.T) {
	s := startSim(t, oneTemplate)
	c := s.admin()
	folder, err := object.NewFolder(c.Client, s.at("/d/vm")).CreateFolder(s.ctx, "f")
	if err != nil {
		t.Fatal(err)
	}
	s.done(s.clone(c, "/d/vm/t", "/d/vm/f", "m", s.grown(c, "s", false)))
	before := files(s.store("s"))
	res, err := methods.UnregisterAndDestroy_Task(s.ctx, c.Client, &types.UnregisterAndDestroy_Task{This: folder.Reference()})
	if err != nil {
		t.Fatal(err)
	}
	s.done(object.NewTask(c.Client, res.Returnval), nil)
	if s.reg.Get(folder.Reference()) != nil || !slices.Equal(files(s.store("s")), before) {
		t.Errorf("left: %v", files(s.store("s")))
	}
}
