package main

import (
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// watch puts a filter on the session's own collector, as a client with one
// long poll for everything does.
func (s *sim) watch(c *govmomi.Client, kind, property string, objects ...types.ManagedObjectReference) {
	s.t.Helper()
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: kind, PathSet: []string{property}}}}
	for _, o := range objects {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: o})
	}
	_, err := methods.CreateFilter(s.ctx, c.Client, &types.CreateFilter{
		This: c.ServiceContent.PropertyCollector, Spec: spec, PartialUpdates: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sim) poll(c *govmomi.Client, version string) *types.UpdateSet {
	s.t.Helper()
	res, err := methods.WaitForUpdatesEx(s.ctx, c.Client, &types.WaitForUpdatesEx{
		This: c.ServiceContent.PropertyCollector, Version: version,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(3)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return res.Returnval
}

func TestLongPollsOfSeveralSessions(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	vm := s.at("/eu/dc1/vm/slipway/node-1")
	type answer struct {
		n   int
		val any
	}
	got := make(chan answer, 3)
	for n := range 3 {
		c := s.admin()
		s.watch(c, "VirtualMachine", "guest.hostName", vm)
		first := s.poll(c, "")
		if len(first.FilterSet) != 1 {
			t.Fatalf("first: %+v", first)
		}
		go func() {
			a := answer{n: n}
			if u := s.poll(c, first.Version); u != nil {
				a.val = u.FilterSet[0].ObjectSet[0].ChangeSet[0].Val
			}
			got <- a
		}()
	}
	time.Sleep(50 * time.Millisecond)
	s.control("POST", "/vms/eu/dc1/vm/slipway/node-1/guest", `{"hostname": "seen"}`, nil, 200)
	for range 3 {
		if a := <-got; a.val != "seen" {
			t.Errorf("session %d saw %v", a.n, a.val)
		}
	}
}

func TestFilterAddedLater(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	s.watch(c, "VirtualMachine", "name", s.at("/eu/dc1/vm/slipway/node-1"))
	first := s.poll(c, "")
	s.watch(c, "HostSystem", "name", s.at("/eu/dc1/host/zone-a/esx-a1.example.com"))
	next := s.poll(c, first.Version)
	if next == nil || len(next.FilterSet) != 1 || next.FilterSet[0].ObjectSet[0].Kind != types.ObjectUpdateKindEnter {
		t.Fatalf("next: %+v", next)
	}
	// Removal is reported too.
	s.control("POST", "/vms/eu/dc1/vm/slipway/node-1/power", `{"state": "off"}`, nil, 200)
	if _, err := methods.Destroy_Task(s.ctx, c.Client, &types.Destroy_Task{This: s.at("/eu/dc1/vm/slipway/node-1")}); err != nil {
		t.Fatal(err)
	}
	gone := s.poll(c, next.Version)
	if gone == nil || gone.FilterSet[0].ObjectSet[0].Kind != types.ObjectUpdateKindLeave {
		t.Errorf("after removal: %+v", gone)
	}
}
