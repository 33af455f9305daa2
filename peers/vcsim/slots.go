package main

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// slotWait is a clone that waits for room, in the order of arrival.
type slotWait struct {
	host  *ref
	ready chan struct{}
}

// slot queues a clone. It may run, and counts as running, when ready is
// closed; release gives the room back.
func (d *taskDesk) slot(host *ref) (ready <-chan struct{}, release func()) {
	w := &slotWait{host: host, ready: make(chan struct{})}
	d.mu.Lock()
	d.waiting = append(d.waiting, w)
	d.admit()
	d.peakWait = max(d.peakWait, len(d.waiting))
	d.mu.Unlock()
	return w.ready, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.clones--
		if host != nil {
			d.perHost[*host]--
		}
		d.admit()
	}
}

// admit lets in whoever fits, oldest first; a full host does not hold up
// clones to other hosts. Call with mu held.
func (d *taskDesk) admit() {
	d.waiting = slices.DeleteFunc(d.waiting, func(w *slotWait) bool {
		if n := d.inv.CloneSlots; n > 0 && d.clones >= n {
			return false
		}
		if n := d.inv.CloneSlotsPerHost; n > 0 && w.host != nil && d.perHost[*w.host] >= n {
			return false
		}
		d.clones++
		d.count()
		if w.host != nil {
			d.perHost[*w.host]++
		}
		close(w.ready)
		return true
	})
}

// completeClone adds what the simulator leaves out of a clone: from the source
// its extraConfig, vAppConfig, annotation and firmware; from the request every
// part of the config spec that is not a device, an id or extraConfig, and the
// edits of disks.
func (d *taskDesk) completeClone(req *types.CloneVM_Task, made ref, edits []*types.VirtualDisk) types.BaseMethodFault {
	src, ok := d.reg.Get(req.This).(*simulator.VirtualMachine)
	clone, ok2 := d.reg.Get(made).(*simulator.VirtualMachine)
	if !ok || !ok2 {
		return nil
	}
	var extra []types.BaseOptionValue
	var vapp *types.VmConfigInfo
	var annotation, firmware string
	d.reg.WithLock(d.newContext(), src, func() {
		extra = slices.Clone(src.Config.ExtraConfig)
		annotation, firmware = src.Config.Annotation, src.Config.Firmware
		if src.Config.VAppConfig != nil {
			info := *src.Config.VAppConfig.GetVmConfigInfo()
			info.Product = slices.Clone(info.Product)
			info.Property = slices.Clone(info.Property)
			vapp = &info
		}
	})
	if c := req.Spec.Config; c != nil && c.Annotation != "" {
		annotation = c.Annotation
	}
	ctx := d.newContext()
	ctx.AutoUpdate(clone, func() {
		for _, v := range extra {
			key := v.GetOptionValue().Key
			has := slices.ContainsFunc(clone.Config.ExtraConfig, func(x types.BaseOptionValue) bool {
				return x.GetOptionValue().Key == key
			})
			if !has {
				clone.Config.ExtraConfig = append(clone.Config.ExtraConfig, v)
			}
		}
		clone.Config.Annotation, clone.Summary.Config.Annotation = annotation, annotation
		clone.Config.Firmware = firmware
		if vapp != nil {
			clone.Config.VAppConfig = vapp
		}
	})
	linked := req.Spec.Location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	if linked {
		defer d.link(src, clone) // last: the simulator gives a child the size of its parent
	}
	if req.Spec.Config == nil || req.Spec.Template {
		return nil // vCenter, like the simulator, does not reconfigure templates
	}
	rest := *req.Spec.Config
	rest.Name, rest.Files, rest.Uuid, rest.InstanceUuid = "", nil, "", ""
	rest.DeviceChange, rest.ExtraConfig = d.onOwnFiles(clone, edits), nil
	task, err := object.NewVirtualMachine(d.client, made).Reconfigure(ctx, rest)
	if err != nil {
		return &types.SystemError{Reason: err.Error()}
	}
	if _, err := task.WaitForResult(ctx, nil); err != nil {
		return &types.SystemError{Reason: err.Error()}
	}
	return nil
}

type taskStats struct {
	Running     int `json:"running_tasks"`
	PeakRunning int `json:"peak_running_tasks"`
	Queued      int `json:"queued_tasks"`
	PeakQueued  int `json:"peak_queued_tasks"`
}

func (d *taskDesk) stats() taskStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return taskStats{d.running, d.peak, len(d.waiting), d.peakWait}
}

func (d *taskDesk) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peak, d.peakWait = d.running, len(d.waiting)
}
