package main

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// The simulator changes some properties without telling property collectors,
// so that a client that waits for them would wait for ever. These functions
// tell, under the names that clients put into their filters.

// watched are the properties of a VM that a reconfiguration may change.
func (e *estate) watched(vm *simulator.VirtualMachine) (out []types.PropertyChange) {
	e.reg.WithLock(e.newContext(), vm, func() {
		c := vm.Config
		out = []types.PropertyChange{
			{Name: "name", Val: vm.Name},
			{Name: "config.name", Val: c.Name},
			{Name: "config.annotation", Val: c.Annotation},
			{Name: "config.version", Val: c.Version},
			{Name: "config.guestId", Val: c.GuestId},
			{Name: "config.firmware", Val: c.Firmware},
			{Name: "config.hardware.numCPU", Val: c.Hardware.NumCPU},
			{Name: "config.hardware.memoryMB", Val: c.Hardware.MemoryMB},
			{Name: "config.hardware.device", Val: slices.Clone(c.Hardware.Device)},
		}
		if c.VAppConfig != nil {
			out = append(out, types.PropertyChange{Name: "config.vAppConfig", Val: c.VAppConfig})
		}
	})
	return out
}

// announce tells what is different from before.
func (e *estate) announce(vm *simulator.VirtualMachine, before []types.PropertyChange) {
	changes := slices.DeleteFunc(e.watched(vm), func(c types.PropertyChange) bool {
		return slices.ContainsFunc(before, func(old types.PropertyChange) bool {
			return old.Name == c.Name && reflect.DeepEqual(old.Val, c.Val)
		})
	})
	if len(changes) == 0 {
		return
	}
	ctx := e.newContext()
	ctx.WithLock(vm, func() { ctx.Update(vm, changes) })
}

// announceTemplate follows MarkAsTemplate and MarkAsVirtualMachine.
func (e *estate) announceTemplate(at ref) {
	vm, ok := e.reg.Get(at).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx := e.newContext()
	ctx.WithLock(vm, func() {
		changes := []types.PropertyChange{
			{Name: "config.template", Val: vm.Config.Template},
			{Name: "summary.config.template", Val: vm.Config.Template},
		}
		if vm.ResourcePool != nil {
			changes = append(changes, types.PropertyChange{Name: "resourcePool", Val: vm.ResourcePool})
		}
		ctx.Update(vm, changes)
	})
}
