package main

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestPoweredOnMachinesGetAnAddress(t *testing.T) {
	s := startSim(t, `{"dhcp": "10.0.0.0/24", "datacenters": [{"name": "d", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}],
		"datastores": [{"name": "s"}], "vms": [{"name": "a", "cluster": "c", "datastore": "s", "networks": ["VM Network"],
		"extra_config": {"guestinfo.hostname": "a.example.com"}}]}]}`)
	c := s.admin()
	for range 2 {
		vm := object.NewVirtualMachine(c.Client, s.at("/d/vm/a"))
		task, err := vm.PowerOn(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(s.ctx); err != nil {
			t.Fatal(err)
		}
		var got mo.VirtualMachine
		ready := func(changes []types.PropertyChange) bool {
			for _, c := range changes {
				if c.Name == "guest.ipAddress" && c.Val == "10.0.0.100" {
					return true
				}
			}
			return false
		}
		if err := property.Wait(s.ctx, property.DefaultCollector(c.Client), vm.Reference(), []string{"guest.ipAddress"}, ready); err != nil {
			t.Fatal(err)
		}
		if err := vm.Properties(s.ctx, vm.Reference(), []string{"guest"}, &got); err != nil {
			t.Fatal(err)
		}
		if got.Guest.HostName != "a.example.com" || len(got.Guest.Net) != 1 {
			t.Fatalf("%+v", got.Guest)
		}
		task, err = vm.PowerOff(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStaticAddressesStay(t *testing.T) {
	s := startSim(t, `{"dhcp": "10.0.0.0/24", "datacenters": [{"name": "d", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}],
		"datastores": [{"name": "s"}], "vms": [{"name": "a", "cluster": "c", "datastore": "s", "networks": ["VM Network"],
		"power": "on", "ips": ["10.0.0.50", "10.0.0.2"]}]}]}`)
	at := s.at("/d/vm/a")
	s.estate.tasks.leases.give(s.estate, at)
	var got mo.VirtualMachine
	if err := object.NewVirtualMachine(s.admin().Client, at).Properties(s.ctx, at, []string{"guest"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Guest.IpAddress != "10.0.0.50" {
		t.Fatalf("%+v", got.Guest)
	}
}
