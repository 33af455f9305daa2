package main

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// machineEvent is what happens to the power of a virtual machine: what a
// hypervisor would have to act upon.
type machineEvent struct {
	Seq int `json:"seq"`
	// on, off, suspended, or gone with its disks.
	Kind    string `json:"kind"`
	Machine string `json:"machine"` // moref
	Name    string `json:"name,omitempty"`
	// The id in the firmware's tables.
	UUID string `json:"uuid,omitempty"`
	// When it is switched on: what the guest can ask for.
	ExtraConfig map[string]string `json:"extra_config,omitempty"`
}

// machineLog keeps all events, so that whoever joins late misses none.
type machineLog struct {
	mu     sync.Mutex
	events []machineEvent
	more   chan struct{} // closed by the next event
}

func newMachineLog() *machineLog { return &machineLog{more: make(chan struct{})} }

func (l *machineLog) add(e machineEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Seq = len(l.events) + 1
	l.events = append(l.events, e)
	close(l.more)
	l.more = make(chan struct{})
}

// since waits for the first event after seq, but not for ever.
func (l *machineLog) since(ctx context.Context, seq int, wait time.Duration) []machineEvent {
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		l.mu.Lock()
		found, more := l.events[min(max(seq, 0), len(l.events)):], l.more
		l.mu.Unlock()
		if len(found) > 0 {
			return found
		}
		select {
		case <-more:
		case <-end.C:
			return []machineEvent{}
		case <-ctx.Done():
			return []machineEvent{}
		}
	}
}

var powerKinds = map[types.AnyType]string{
	types.VirtualMachinePowerStatePoweredOn:  "on",
	types.VirtualMachinePowerStatePoweredOff: "off",
	types.VirtualMachinePowerStateSuspended:  "suspended",
}

// power notes a change. Whoever reports it holds the machine's lock.
func (l *machineLog) power(vm *simulator.VirtualMachine, state types.AnyType) {
	e := machineEvent{Kind: powerKinds[state], Machine: vm.Self.String(), Name: vm.Name, UUID: vm.Config.Uuid}
	if e.Kind == "on" {
		e.ExtraConfig = make(map[string]string)
		for _, o := range vm.Config.ExtraConfig {
			if text, ok := o.GetOptionValue().Value.(string); ok {
				e.ExtraConfig[o.GetOptionValue().Key] = text
			}
		}
	}
	l.add(e)
}
