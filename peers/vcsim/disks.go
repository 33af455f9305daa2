package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Files of machines. The simulator gives a clone whose disk is edited the file
// of its template, deletes whatever else lies in the folder of a machine it
// destroys, and counts space that no file takes.

func disksOf(vm *simulator.VirtualMachine) (out []*types.VirtualDisk) {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			out = append(out, disk)
		}
	}
	return out
}

func fileOf(disk *types.VirtualDisk) string {
	if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return b.GetVirtualDeviceFileBackingInfo().FileName
	}
	return ""
}

// diskEdits takes the changes of existing disks out of a clone's request: they
// name the source's files, and a clone keeps its own.
func diskEdits(req *types.CloneVM_Task) (edits []*types.VirtualDisk) {
	c := req.Spec.Config
	if c == nil {
		return nil
	}
	c.DeviceChange = slices.DeleteFunc(c.DeviceChange, func(change types.BaseVirtualDeviceConfigSpec) bool {
		spec := change.GetVirtualDeviceConfigSpec()
		disk, ok := spec.Device.(*types.VirtualDisk)
		if !ok || spec.Operation != types.VirtualDeviceConfigSpecOperationEdit {
			return false
		}
		edits = append(edits, disk)
		return true
	})
	return edits
}

// onOwnFiles makes the edits anew for the clone's own disks, by key.
func (d *taskDesk) onOwnFiles(clone *simulator.VirtualMachine, edits []*types.VirtualDisk) (out []types.BaseVirtualDeviceConfigSpec) {
	d.reg.WithLock(d.newContext(), clone, func() {
		for _, edit := range edits {
			for _, own := range disksOf(clone) {
				if own.Key != edit.Key {
					continue
				}
				disk := *own
				disk.CapacityInKB, disk.CapacityInBytes = edit.CapacityInKB, edit.CapacityInBytes
				out = append(out, &types.VirtualDeviceConfigSpec{
					Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk,
				})
			}
		}
	})
	return out
}

// link makes the disks of a clone children of its source's: they take no space
// worth counting, and go without their parents.
func (d *taskDesk) link(src, clone *simulator.VirtualMachine) {
	parents := make(map[int32]types.VirtualDiskFlatVer2BackingInfo)
	d.reg.WithLock(d.newContext(), src, func() {
		for _, disk := range disksOf(src) {
			if b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				parents[disk.Key] = *b
			}
		}
	})
	ctx := d.newContext()
	var linked []*types.VirtualDisk
	ctx.AutoUpdate(clone, func() {
		for _, disk := range disksOf(clone) {
			parent, ok := parents[disk.Key]
			if b, flat := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && flat {
				b.Parent = &parent
				linked = append(linked, disk)
			}
		}
	})
	for _, disk := range linked {
		d.giveBack(disk, 1)
	}
}

// giveBack adds the size of a disk to what is free on its datastore, or with
// -1 takes it away.
func (d *taskDesk) giveBack(disk *types.VirtualDisk, sign int64) {
	b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok {
		return
	}
	at := b.GetVirtualDeviceFileBackingInfo().Datastore
	if at == nil {
		return
	}
	ds, ok := d.reg.Get(*at).(*simulator.Datastore)
	if !ok {
		return
	}
	d.reg.WithLock(d.newContext(), ds, func() {
		ds.Summary.FreeSpace += sign * disk.CapacityInKB << 10
		ds.Info.GetDatastoreInfo().FreeSpace = ds.Summary.FreeSpace
	})
}

// attached are the disks a reconfiguration adds with the file they have.
func attached(spec *types.VirtualMachineConfigSpec) (out []*types.VirtualDisk) {
	for _, change := range spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		disk, ok := c.Device.(*types.VirtualDisk)
		if ok && c.Operation == types.VirtualDeviceConfigSpecOperationAdd && c.FileOperation == "" {
			out = append(out, disk)
		}
	}
	return out
}

// destroyVM deletes what vCenter deletes: the files of the machine and of every
// disk that is attached, wherever they lie, but for first-class disks that
// outlive their machine. Whatever else is in the machine's folder stays.
func (d *taskDesk) destroyVM(ctx *simulator.Context, m *simulator.Method, vm *simulator.VirtualMachine) (types.AnyType, types.BaseMethodFault) {
	keep := d.outliving()
	var files []string
	var folder object.DatastorePath
	var children []*types.VirtualDisk
	var devices []types.BaseVirtualDevice
	dc, _ := ancestor(d.reg, vm.Self, "Datacenter")
	restore := func() {}
	d.reg.WithLock(ctx, vm, func() {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			return // refused, and nothing may change
		}
		logs := vm.Config.Files.LogDirectory
		devices = vm.Config.Hardware.Device
		restore = func() { vm.Config.Files.LogDirectory, vm.Config.Hardware.Device = logs, devices }
		// Without a folder to delete the simulator leaves it to this function.
		vm.Config.Files.LogDirectory = ""
		vm.Config.Hardware.Device = slices.DeleteFunc(slices.Clone(devices), func(device types.BaseVirtualDevice) bool {
			disk, ok := device.(*types.VirtualDisk)
			return ok && keep[fileOf(disk)]
		})
		for _, disk := range disksOf(vm) {
			if b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && b.Parent != nil {
				children = append(children, disk)
			}
		}
		folder.FromString(vm.Config.Files.VmPathName)
		folder.Path = path.Dir(folder.Path)
		files = []string{vm.Config.Files.VmPathName, path.Join(folder.String(), "vmware.log")}
		for _, f := range vm.LayoutEx.File {
			if path.Ext(f.Name) != ".vmdk" {
				files = append(files, f.Name)
			}
		}
		for _, extension := range []string{".nvram", ".vmsd", ".vswp"} {
			base := vm.Config.Files.VmPathName
			files = append(files, base[:len(base)-len(path.Ext(base))]+extension)
		}
	})
	res, fault := d.perform(ctx, m)
	if fault != nil {
		d.reg.WithLock(ctx, vm, restore)
		return res, fault
	}
	for _, disk := range children {
		d.giveBack(disk, -1)
	}
	for _, file := range files {
		d.deleteFile(ctx, dc, file)
	}
	if ds := d.place.datastoreNamed(dc, folder.Datastore); ds != nil {
		removeEmpty(ds, folder.Path)
	}
	return res, nil
}

// outliving are the files of first-class disks that stay when a machine goes.
func (d *taskDesk) outliving() map[string]bool {
	out := make(map[string]bool)
	for _, objects := range d.reg.VStorageObjectManager().Catalog() {
		for _, o := range objects {
			b, ok := o.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo)
			if ok && o.Config.KeepAfterDeleteVm != nil && *o.Config.KeepAfterDeleteVm {
				out[b.FilePath] = true
			}
		}
	}
	return out
}

// deleteFile deletes one file, if it is there.
func (d *taskDesk) deleteFile(ctx *simulator.Context, dc ref, name string) {
	manager := d.reg.FileManager()
	m := &simulator.Method{Name: "DeleteDatastoreFile_Task", This: manager.Self, Body: &types.DeleteDatastoreFile_Task{
		This: manager.Self, Name: name, Datacenter: &dc,
	}}
	_, _ = d.perform(ctx, m)
}

// removeEmpty removes a folder that has nothing in it any more. On vSAN it has
// another name here.
func removeEmpty(ds *simulator.Datastore, folder string) {
	dirs := []string{filepath.Join(ds.Summary.Url, folder)}
	if ds.Summary.Type == "vsan" {
		dirs, _ = filepath.Glob(filepath.Join(ds.Summary.Url, "*"))
	}
	for _, dir := range dirs {
		if dir != filepath.Clean(ds.Summary.Url) {
			_ = os.Remove(dir)
		}
	}
}

// files lists what lies on a datastore, folders with a slash at the end.
func files(ds *simulator.Datastore) []string {
	out := []string{}
	_ = filepath.WalkDir(ds.Summary.Url, func(at string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(ds.Summary.Url, at)
		if err != nil || relErr != nil || name == "." {
			return nil // what is being deleted may be gone by now
		}
		if entry.IsDir() {
			name += "/"
		}
		out = append(out, name)
		return nil
	})
	sort.Strings(out)
	return out
}
