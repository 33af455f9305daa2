package main

import (
	"fmt"
	"log"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// taskDesk gives tasks a duration, a queue and faults.
//
// The simulator runs a task the moment it is asked to, holding the lock of the
// object, so a slow task there would block every reader of a template. Here a
// task that must be slow, queue or fail is a shadow: a task object of our own
// that the client watches, which calls the simulator's method when its time
// has come and takes over the result.
type taskDesk struct {
	*estate
	mu       sync.Mutex
	running  int
	peak     int
	peakWait int
	tracked  map[ref]bool
	waiting  []*slotWait
	perHost  map[ref]int
	clones   int
	making   sync.Map // folder → lock
	leases   leases
}

func newTaskDesk(e *estate) *taskDesk {
	return &taskDesk{estate: e, tracked: make(map[ref]bool), perHost: make(map[ref]int)}
}

// The desk watches the registry: see simulator.RegisterObject.

func (d *taskDesk) Reference() ref { return ref{Type: "TaskDesk", Value: "TaskDesk"} }

// PutObject guards new tasks. A panic in a task would end this process, where
// in an HTTP handler it would only end the request.
func (d *taskDesk) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		completeVM(vm)
		return
	}
	task, ok := obj.(*simulator.Task)
	if !ok || task.Execute == nil {
		return
	}
	run := task.Execute
	task.Execute = func(t *simulator.Task) (res types.AnyType, fault types.BaseMethodFault) {
		defer func() {
			if p := recover(); p != nil {
				log.Printf("panic in task %s: %v\n%s", t.Info.DescriptionId, p, debug.Stack())
				res, fault = nil, &types.SystemError{Reason: fmt.Sprint(p)}
			}
		}()
		return run(t)
	}
}

// completeVM sets required enumerations that the simulator leaves empty, which
// strict clients refuse to read.
func completeVM(vm *simulator.VirtualMachine) {
	vm.Runtime.FaultToleranceState = types.VirtualMachineFaultToleranceStateNotConfigured
	vm.Runtime.RecordReplayState = types.VirtualMachineRecordReplayStateInactive
	vm.Summary.Runtime.FaultToleranceState = vm.Runtime.FaultToleranceState
	vm.Summary.Runtime.RecordReplayState = vm.Runtime.RecordReplayState
}

func (d *taskDesk) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	if vm, ok := d.reg.Get(obj.Reference()).(*simulator.VirtualMachine); ok {
		for _, c := range changes {
			if c.Name != "runtime.powerState" {
				continue
			}
			d.machines.power(vm, c.Val)
			if d.inv.DHCP != "" && c.Val == types.VirtualMachinePowerStatePoweredOn {
				// Later: whoever reports the change holds the machine's lock.
				go d.leases.give(d.estate, obj.Reference())
			}
		}
	}
	if obj.Reference().Type != "Task" {
		return
	}
	for _, c := range changes {
		if c.Name == "info.state" && (c.Val == types.TaskInfoStateSuccess || c.Val == types.TaskInfoStateError) {
			d.mu.Lock()
			if d.tracked[obj.Reference()] {
				delete(d.tracked, obj.Reference())
				d.running--
			}
			d.mu.Unlock()
		}
	}
}

// RemoveObject forgets what vCenter forgets with an object: its tags, its
// permissions and its place in DRS groups and rules.
func (d *taskDesk) RemoveObject(ctx *simulator.Context, r ref) {
	if entityAt(d.reg, r) == nil {
		return
	}
	d.auth.forget(r)
	if d.vapi != nil {
		d.vapi.forget(r)
	}
	if r.Type == "VirtualMachine" {
		d.machines.add(machineEvent{Kind: "gone", Machine: r.String()})
	}
	if r.Type == "VirtualMachine" && ctx != nil {
		d.leaveGroups(ctx, r)
	}
}

func (d *taskDesk) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count()
}

// count adds a running task. Call with mu held.
func (d *taskDesk) count() {
	d.running++
	d.peak = max(d.peak, d.running)
}

func (d *taskDesk) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
}

// follow counts a task of the simulator as running until it ends. The caller
// has called begin before the method ran.
func (d *taskDesk) follow(task ref) {
	d.mu.Lock()
	d.tracked[task] = true
	d.mu.Unlock()
	info, ok := d.info(task)
	if ok && !done(info) {
		return // UpdateObject will see the end
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tracked[task] {
		delete(d.tracked, task)
		d.running--
	}
}

func done(info types.TaskInfo) bool {
	return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
}

func (d *taskDesk) info(task ref) (info types.TaskInfo, ok bool) {
	t, ok := d.reg.Get(task).(*simulator.Task)
	if ok {
		d.reg.WithLock(d.newContext(), t, func() { info = t.Info })
	}
	return info, ok
}

// plan is why a task gets a shadow.
type taskPlan struct {
	delay time.Duration
	fault types.BaseMethodFault
	host  *ref // clones count against this host's slots
}

// corrected are the methods whose tasks always are shadows, because the
// simulator's own leave something out.
var corrected = map[string]bool{
	"CreateVM_Task":   true, // names with special characters
	"CloneVM_Task":    true, // those, and completeClone
	"ReconfigVM_Task": true, // property updates
	"Destroy_Task":    true, // folders with content, files

	"UnregisterAndDestroy_Task": true, // unknown to the simulator
}

// planFor: nil means the simulator's own task will do.
func (d *taskDesk) planFor(method string, act *Action) (*taskPlan, error) {
	if !strings.HasSuffix(method, "_Task") {
		return nil, nil
	}
	p := &taskPlan{delay: time.Duration(d.inv.TaskMS[method]) * time.Millisecond}
	if act != nil {
		p.delay += time.Duration(act.TaskDelayMS) * time.Millisecond
		if act.TaskFault != nil {
			var err error
			if p.fault, err = act.TaskFault.vimFault(); err != nil {
				return nil, err
			}
		}
	}
	if p.delay == 0 && p.fault == nil && !corrected[method] && d.gate.tasks() == nil {
		return nil, nil
	}
	return p, nil
}

// shadow starts a task for a decoded request that hook has already checked.
func (d *taskDesk) shadow(m *simulator.Method, c *call, p *taskPlan) (ref, types.BaseMethodFault) {
	entity, ok := d.reg.Get(m.This).(mo.Entity)
	if !ok {
		return ref{}, &types.ManagedObjectNotFound{Obj: m.This}
	}
	clone, isClone := m.Body.(*types.CloneVM_Task)
	if isClone {
		p.host = clone.Spec.Location.Host
	}
	task := simulator.CreateTask(entity, m.Name, nil)
	task.Info.Name = m.Name
	task.Info.DescriptionId = m.This.Type + "." + lowerFirst(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_Task"), "VM"))
	task.Info.EntityName = nameOf(entity)
	task.Info.Reason = &types.TaskReasonUser{UserName: c.user}
	task.Info.Cancelable = true
	ctx := d.newContext()
	ctx.Session.UserSession.UserName = c.user
	ctx.Session.UserSession.Key = c.session
	d.reg.WithLock(ctx, entity, func() { d.reg.Put(task) })
	d.reg.AtomicUpdate(ctx, task, []types.PropertyChange{
		{Name: "info.key", Val: task.Self.Value}, {Name: "info.task", Val: task.Self},
	})
	// Whoever is told of the task finds it queued or running.
	ready, release := (<-chan struct{})(nil), func() {}
	if isClone {
		ready, release = d.slot(p.host)
	} else {
		d.begin()
	}
	go func() {
		if isClone {
			<-ready
		}
		defer func() { d.finish(); release() }()
		d.set(task, types.TaskInfoStateRunning, nil, nil)
		time.Sleep(p.delay)
		if held := d.gate.tasks(); held != nil {
			<-held
		}
		if info, _ := d.info(task.Self); done(info) {
			return // cancelled while it waited
		}
		res, fault := types.AnyType(nil), p.fault
		if fault == nil {
			res, fault = d.execute(ctx, m)
		}
		if fault != nil {
			d.set(task, types.TaskInfoStateError, nil, fault)
		} else {
			d.set(task, types.TaskInfoStateSuccess, res, nil)
		}
	}()
	return task.Self, nil
}

func (d *taskDesk) set(task *simulator.Task, state types.TaskInfoState, res types.AnyType, fault types.BaseMethodFault) {
	changes := []types.PropertyChange{{Name: "info.state", Val: state}}
	now := time.Now()
	switch state {
	case types.TaskInfoStateRunning:
		changes = append(changes, types.PropertyChange{Name: "info.startTime", Val: now})
	case types.TaskInfoStateSuccess:
		changes = append(changes, types.PropertyChange{Name: "info.completeTime", Val: now},
			types.PropertyChange{Name: "info.result", Val: res})
	case types.TaskInfoStateError:
		kind := reflect.TypeOf(fault).Elem().Name()
		changes = append(changes, types.PropertyChange{Name: "info.completeTime", Val: now},
			types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{
				Fault: fault, LocalizedMessage: faultMessage(kind),
			}})
	}
	d.reg.AtomicUpdate(d.newContext(), task, changes)
}
