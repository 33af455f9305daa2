package main

import (
	"context"
	"fmt"
	"net"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// guestState is what VMware Tools would report.
type guestState struct {
	Hostname string   `json:"hostname,omitempty"`
	IPs      []string `json:"ips,omitempty"`
	// Tools false reports Tools as not running.
	Tools *bool `json:"tools,omitempty"`
}

func (e *estate) vm(r ref) (*simulator.VirtualMachine, error) {
	vm, ok := e.reg.Get(r).(*simulator.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("%s is not a virtual machine", r)
	}
	return vm, nil
}

// setGuest fills guest.* and its copies in the summary. All addresses go to
// the first NIC, the first of them is guest.ipAddress.
func (e *estate) setGuest(r ref, s guestState) error {
	vm, err := e.vm(r)
	if err != nil {
		return err
	}
	config := new(types.NetIpConfigInfo)
	for _, text := range s.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return fmt.Errorf("%q is not an address", text)
		}
		bits := int32(24)
		if ip.To4() == nil {
			bits = 64
		}
		config.IpAddress = append(config.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress: text, PrefixLength: bits, State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
		})
	}
	tools, running, state := types.VirtualMachineToolsStatusToolsOk,
		string(types.VirtualMachineToolsRunningStatusGuestToolsRunning), types.VirtualMachineGuestStateRunning
	if !orTrue(s.Tools) {
		tools, running, state = types.VirtualMachineToolsStatusToolsNotRunning,
			string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning), types.VirtualMachineGuestStateNotRunning
	}
	first := ""
	if len(s.IPs) > 0 {
		first = s.IPs[0]
	}
	ctx := e.newContext()
	ctx.WithLock(vm, func() {
		// Property by property, under the names that clients wait for.
		ctx.Update(vm, []types.PropertyChange{
			{Name: "guest.toolsStatus", Val: tools},
			{Name: "guest.toolsRunningStatus", Val: running},
			{Name: "guest.guestState", Val: string(state)},
			{Name: "guest.hostName", Val: s.Hostname},
			{Name: "guest.ipAddress", Val: first},
			{Name: "guest.net", Val: guestNICs(vm, s.IPs, config)},
			{Name: "summary.guest.toolsStatus", Val: tools},
			{Name: "summary.guest.toolsRunningStatus", Val: running},
			{Name: "summary.guest.hostName", Val: s.Hostname},
			{Name: "summary.guest.ipAddress", Val: first},
		})
	})
	return nil
}

// guestNICs builds guest.net anew from the VM's devices.
func guestNICs(vm *simulator.VirtualMachine, ips []string, config *types.NetIpConfigInfo) (out []types.GuestNicInfo) {
	for _, d := range vm.Config.Hardware.Device {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		c := card.GetVirtualEthernetCard()
		nic := types.GuestNicInfo{MacAddress: c.MacAddress, Connected: true, DeviceConfigId: c.Key}
		for _, old := range vm.Guest.Net {
			if old.MacAddress == c.MacAddress {
				nic.Network = old.Network
			}
		}
		if len(out) == 0 && len(ips) > 0 {
			nic.IpAddress, nic.IpConfig = ips, config
		}
		out = append(out, nic)
	}
	return out
}

// power switches a VM as its user would, without a session.
func (e *estate) power(r ref, state string) error {
	if _, err := e.vm(r); err != nil {
		return err
	}
	vm := object.NewVirtualMachine(e.client, r)
	ctx := context.Background()
	var task *object.Task
	var err error
	switch state {
	case "on":
		task, err = vm.PowerOn(ctx)
	case "off":
		task, err = vm.PowerOff(ctx)
	case "suspended":
		task, err = vm.Suspend(ctx)
	default:
		return fmt.Errorf("unknown state %q: want on, off or suspended", state)
	}
	if err != nil {
		return err
	}
	if err := task.Wait(ctx); err != nil {
		return err
	}
	if state == "off" {
		no := false
		return e.setGuest(r, guestState{Tools: &no})
	}
	return nil
}

// destroy removes a VM as its user would.
func (e *estate) destroy(r ref) error {
	if _, err := e.vm(r); err != nil {
		return err
	}
	m := &simulator.Method{Name: "Destroy_Task", This: r, Body: &types.Destroy_Task{This: r}}
	if _, fault := e.tasks.execute(e.newContext(), m); fault != nil {
		return fmt.Errorf("destroying %s: %T", r, fault)
	}
	return nil
}

func (e *estate) setDatastore(r ref, s datastoreState) error {
	ds, ok := e.reg.Get(r).(*simulator.Datastore)
	if !ok {
		return fmt.Errorf("%s is not a datastore", r)
	}
	ctx := e.newContext()
	var err error
	ctx.WithLock(ds, func() {
		if err = s.write(ds); err == nil {
			ctx.Update(ds, []types.PropertyChange{
				{Name: "summary.freeSpace", Val: ds.Summary.FreeSpace},
				{Name: "summary.accessible", Val: ds.Summary.Accessible},
				{Name: "summary.maintenanceMode", Val: ds.Summary.MaintenanceMode},
			})
		}
	})
	return err
}

// hostState is what may change of a host while the vCenter runs.
type hostState struct {
	Connection  string `json:"connection,omitempty"`
	Maintenance bool   `json:"maintenance"`
}

func (e *estate) setHost(r ref, s hostState) error {
	host, ok := e.reg.Get(r).(*simulator.HostSystem)
	if !ok {
		return fmt.Errorf("%s is not a host", r)
	}
	switch s.Connection {
	case "", "connected", "disconnected", "notResponding":
	default:
		return fmt.Errorf("unknown connection %q", s.Connection)
	}
	ctx := e.newContext()
	ctx.WithLock(host, func() {
		changes := []types.PropertyChange{{Name: "runtime.inMaintenanceMode", Val: s.Maintenance}}
		if s.Connection != "" {
			changes = append(changes, types.PropertyChange{
				Name: "runtime.connectionState", Val: types.HostSystemConnectionState(s.Connection),
			})
		}
		ctx.Update(host, changes)
		host.Summary.Runtime = &host.Runtime
	})
	return nil
}
