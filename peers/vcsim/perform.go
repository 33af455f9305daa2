package main

import (
	"fmt"
	"log"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// execute performs a method with what the simulator leaves out.
func (d *taskDesk) execute(ctx *simulator.Context, m *simulator.Method) (types.AnyType, types.BaseMethodFault) {
	switch req := m.Body.(type) {
	case *types.Destroy_Task:
		if m.This.Type == "Folder" {
			if fault := d.emptyFolder(ctx, m.This); fault != nil {
				return nil, fault
			}
		}
		if vm, ok := d.reg.Get(m.This).(*simulator.VirtualMachine); ok {
			return d.destroyVM(ctx, m, vm)
		}
	case *types.UnregisterAndDestroy_Task:
		return d.unregisterFolder(ctx, m.This)
	case *types.CreateVM_Task:
		return d.named(ctx, m, req.This, &req.Config.Name)
	case *types.CloneVM_Task:
		// Powered on here, after the clone is complete: the simulator would
		// do it while it holds the template's lock, and sleep meanwhile.
		start := req.Spec.PowerOn && !req.Spec.Template && req.Spec.Customization == nil
		req.Spec.PowerOn = req.Spec.PowerOn && !start
		edits := diskEdits(req)
		res, fault := d.named(ctx, m, req.Folder, &req.Name)
		r, ok := res.(ref)
		if !ok || fault != nil {
			return res, fault
		}
		if fault = d.completeClone(req, r, edits); fault == nil && start {
			on := &simulator.Method{Name: "PowerOnVM_Task", This: r, Body: &types.PowerOnVM_Task{This: r}}
			_, fault = d.perform(ctx, on)
		}
		return res, fault
	case *types.ReconfigVM_Task:
		vm, ok := d.reg.Get(m.This).(*simulator.VirtualMachine)
		if !ok {
			break
		}
		before := d.watched(vm)
		// The simulator takes space for files that are there already.
		there := attached(&req.Spec)
		res, fault := d.perform(ctx, m)
		if fault == nil {
			for _, disk := range there {
				d.giveBack(disk, 1)
			}
		}
		d.announce(vm, before)
		return res, fault
	}
	return d.perform(ctx, m)
}

// named makes a VM. One whose name has to be stored escaped, which the
// simulator fails to do, is made under a plain name and renamed.
func (d *taskDesk) named(ctx *simulator.Context, m *simulator.Method, folder ref, name *string) (types.AnyType, types.BaseMethodFault) {
	// One at a time in a folder: the simulator looks for duplicate names among
	// VMs that do not have one yet, and panics.
	lock, _ := d.making.LoadOrStore(folder, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	stored := escapeName(*name)
	if stored == *name {
		return d.perform(ctx, m)
	}
	if other, ok := d.child(folder, stored); ok {
		return nil, &types.DuplicateName{Name: stored, Object: other}
	}
	*name = stableUUID("plain", folder.Value, stored)
	res, fault := d.perform(ctx, m)
	if r, ok := res.(ref); ok && fault == nil {
		if vm, ok := d.reg.Get(r).(*simulator.VirtualMachine); ok {
			ctx := d.newContext()
			ctx.WithLock(vm, func() {
				ctx.Update(vm, []types.PropertyChange{
					{Name: "name", Val: stored}, {Name: "config.name", Val: stored}, {Name: "summary.config.name", Val: stored},
				})
			})
		}
	}
	return res, fault
}

// perform calls the simulator's method and waits for the task it starts.
func (d *taskDesk) perform(ctx *simulator.Context, m *simulator.Method) (res types.AnyType, fault types.BaseMethodFault) {
	defer func() {
		if p := recover(); p != nil {
			log.Printf("panic in %s: %v\n%s", m.Name, p, debug.Stack())
			res, fault = nil, &types.SystemError{Reason: fmt.Sprint(p)}
		}
	}()
	obj := d.reg.Get(m.This)
	if obj == nil {
		return nil, &types.ManagedObjectNotFound{Obj: m.This}
	}
	fn := reflect.ValueOf(obj).MethodByName(strings.TrimSuffix(m.Name, "_Task") + "Task")
	if !fn.IsValid() {
		return nil, &types.MethodNotFound{Receiver: m.This, Method: m.Name}
	}
	args := []reflect.Value{reflect.ValueOf(m.Body)}
	if fn.Type().NumIn() == 2 {
		args = slices.Insert(args, 0, reflect.ValueOf(ctx))
	}
	var out reflect.Value
	d.reg.WithLock(ctx, obj, func() { out = fn.Call(args)[0].Elem().Elem() })
	if f := out.FieldByName("Fault_"); f.IsValid() && !f.IsNil() {
		detail := f.Elem().FieldByName("Detail").FieldByName("Fault").Interface()
		if bf, ok := detail.(types.BaseMethodFault); ok {
			return nil, bf
		}
		return nil, new(types.RuntimeFault)
	}
	inner := out.FieldByName("Res").Elem().FieldByName("Returnval").Interface().(ref)
	info, fault := d.await(inner)
	return info.Result, fault
}

// await blocks until a task of the simulator has ended.
func (d *taskDesk) await(task ref) (types.TaskInfo, types.BaseMethodFault) {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		info, ok := d.info(task)
		if !ok {
			return info, &types.SystemError{Reason: "the task vanished"}
		}
		if done(info) {
			if info.Error != nil {
				return info, info.Error.Fault
			}
			return info, nil
		}
		time.Sleep(pause)
	}
}
