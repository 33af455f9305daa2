package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func (s *sim) machineEvents(since, wait int) []machineEvent {
	s.t.Helper()
	res, err := http.Get(fmt.Sprintf("%s/machines/events?since=%d&wait_ms=%d", s.ready.ControlURL, since, wait))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		Events []machineEvent `json:"events"`
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v", res.Status, err)
	}
	return out.Events
}

func TestMachineEvents(t *testing.T) {
	s := startSim(t, `{"datacenters": [{"name": "d", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}],
		"datastores": [{"name": "s"}], "vms": [{"name": "a", "cluster": "c", "datastore": "s", "networks": ["VM Network"]}]}]}`)
	if got := s.machineEvents(0, 0); len(got) != 0 {
		t.Fatalf("events before anything happened: %+v", got)
	}
	vm := object.NewVirtualMachine(s.admin().Client, s.at("/d/vm/a"))
	do := func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(s.ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	do(vm.Reconfigure(s.ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.hostname", Value: "a-0"},
	}}))
	// Whoever waits is woken by the event.
	woken := make(chan []machineEvent)
	go func() { woken <- s.machineEvents(0, 20_000) }()
	began := time.Now()
	do(vm.PowerOn(s.ctx))
	on := <-woken
	if time.Since(began) > 10*time.Second {
		t.Error("the waiting reader was not woken")
	}
	if len(on) != 1 || on[0].Kind != "on" || on[0].Name != "a" || on[0].Machine != vm.Reference().String() ||
		on[0].ExtraConfig["guestinfo.hostname"] != "a-0" || len(on[0].UUID) != 36 {
		t.Fatalf("%+v", on)
	}
	do(vm.PowerOff(s.ctx))
	if res, err := http.Post(s.ready.ControlURL+"/vms/d/vm/a/destroy", "", nil); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	rest := s.machineEvents(on[0].Seq, 1000)
	if len(rest) != 2 || rest[0].Kind != "off" || rest[1].Kind != "gone" || rest[1].Machine != vm.Reference().String() {
		t.Fatalf("%+v", rest)
	}
	if rest[0].ExtraConfig != nil {
		t.Error("secrets are told again when a machine is switched off")
	}
}
