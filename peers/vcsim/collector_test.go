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

// A list that grows while its filter has settled.
func TestFilterOfAList(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	first, second := s.at("/eu/dc1/vm/slipway/node-1"), s.at("/eu/dc1/vm/slipway/node-0")
	list, err := methods.CreateListView(s.ctx, c.Client, &types.CreateListView{
		This: *c.ServiceContent.ViewManager, Obj: []types.ManagedObjectReference{first},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = methods.CreateFilter(s.ctx, c.Client, &types.CreateFilter{
		This: c.ServiceContent.PropertyCollector, PartialUpdates: true,
		Spec: types.PropertyFilterSpec{
			PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"guest.hostName"}}},
			ObjectSet: []types.ObjectSpec{{Obj: list.Returnval, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
				&types.TraversalSpec{Type: "ListView", Path: "view"},
			}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(version string, vm types.ManagedObjectReference, kind types.ObjectUpdateKind) string {
		t.Helper()
		u := s.poll(c, version)
		if u == nil || len(u.FilterSet) != 1 || len(u.FilterSet[0].ObjectSet) != 1 {
			t.Fatalf("not one update: %+v", u)
		}
		if got := u.FilterSet[0].ObjectSet[0]; got.Obj != vm || got.Kind != kind {
			t.Fatalf("%s of %s, not %s of %s", got.Kind, got.Obj, kind, vm)
		}
		return u.Version
	}
	rename := func(node, name string) {
		s.control("POST", "/vms/eu/dc1/vm/slipway/"+node+"/guest", `{"hostname": "`+name+`"}`, nil, 200)
	}
	version := expect("", first, types.ObjectUpdateKindEnter)
	_, err = methods.ModifyListView(s.ctx, c.Client, &types.ModifyListView{
		This: list.Returnval, Add: []types.ManagedObjectReference{second},
	})
	if err != nil {
		t.Fatal(err)
	}
	version = expect(version, second, types.ObjectUpdateKindEnter)
	rename("node-1", "one")
	version = expect(version, first, types.ObjectUpdateKindModify)
	rename("node-0", "two")
	expect(version, second, types.ObjectUpdateKindModify)
}
