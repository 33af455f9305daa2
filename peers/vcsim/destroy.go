package main

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// emptyFolder destroys what is in a VM folder, deepest first, as vCenter does.
// The simulator removes the folder alone and leaves its VMs without a parent.
// A VM that is powered on stops it, with the fault its own removal would get.
func (d *taskDesk) emptyFolder(ctx *simulator.Context, folder ref) types.BaseMethodFault {
	for _, r := range d.childrenOf(folder) {
		if r.Type != "VirtualMachine" && r.Type != "Folder" {
			continue
		}
		if r.Type == "Folder" {
			if fault := d.emptyFolder(ctx, r); fault != nil {
				return fault
			}
		}
		m := &simulator.Method{Name: "Destroy_Task", This: r, Body: &types.Destroy_Task{This: r}}
		if _, fault := d.execute(ctx, m); fault != nil {
			return fault
		}
	}
	return nil
}

// unregisterFolder takes the machines out of a VM folder and all below it, and
// destroys the folders. Files stay. The simulator does not know the method.
func (d *taskDesk) unregisterFolder(ctx *simulator.Context, folder ref) (types.AnyType, types.BaseMethodFault) {
	if folder.Type != "Folder" {
		return nil, new(types.NotSupported)
	}
	for _, r := range d.childrenOf(folder) {
		if r.Type == "Folder" {
			if _, fault := d.unregisterFolder(ctx, r); fault != nil {
				return nil, fault
			}
			continue
		}
		vm, ok := d.reg.Get(r).(*simulator.VirtualMachine)
		if !ok {
			return nil, new(types.NotSupported)
		}
		var fault types.BaseMethodFault
		d.reg.WithLock(ctx, vm, func() {
			if f := vm.UnregisterVM(ctx, &types.UnregisterVM{This: r}).Fault(); f != nil {
				fault, _ = f.VimFault().(types.BaseMethodFault)
			}
		})
		if fault != nil {
			return nil, fault
		}
	}
	m := &simulator.Method{Name: "Destroy_Task", This: folder, Body: &types.Destroy_Task{This: folder}}
	return d.perform(ctx, m)
}

// leaveGroups takes a VM out of the DRS groups and rules of all clusters.
func (d *taskDesk) leaveGroups(ctx *simulator.Context, vm ref) {
	for _, e := range d.reg.All("ClusterComputeResource") {
		cluster := e.(*simulator.ClusterComputeResource)
		d.reg.WithLock(ctx, cluster, func() {
			cfg, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
			if !ok {
				return
			}
			same := func(r ref) bool { return r == vm }
			for _, g := range cfg.Group {
				if g, ok := g.(*types.ClusterVmGroup); ok {
					g.Vm = slices.DeleteFunc(slices.Clone(g.Vm), same)
				}
			}
			for _, r := range cfg.Rule {
				switch r := r.(type) {
				case *types.ClusterAffinityRuleSpec:
					r.Vm = slices.DeleteFunc(slices.Clone(r.Vm), same)
				case *types.ClusterAntiAffinityRuleSpec:
					r.Vm = slices.DeleteFunc(slices.Clone(r.Vm), same)
				}
			}
		})
	}
}
