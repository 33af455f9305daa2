package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func now(s *sim, c *govmomi.Client) error {
	_, err := methods.GetCurrentTime(s.ctx, c.Client)
	return err
}

func TestSOAPFaultsCount(t *testing.T) {
	s := startSim(t, "")
	c := s.admin()
	s.fault(`{"on": {"kind": "soap", "method": "CurrentTime"}, "skip": 1, "count": 2,
		"fault": {"type": "NoPermission", "privilegeId": "System.View", "message": "no"}}`)
	var got []string
	for range 5 {
		got = append(got, faultName(now(s, c)))
	}
	if want := []string{"", "NoPermission", "NoPermission", "", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var list struct{ Faults []Rule }
	s.control("GET", "/faults", nil, &list, 200)
	if list.Faults[0].Seen != 5 || list.Faults[0].Fired != 2 {
		t.Errorf("rule: %+v", list.Faults[0])
	}
	injected := 0
	for _, r := range s.requests() {
		if r.Injected {
			injected++
			if r.Fault != "NoPermission" || r.User != `VSPHERE.LOCAL\Administrator` {
				t.Errorf("log: %+v", r)
			}
		}
	}
	if injected != 2 {
		t.Errorf("%d injected", injected)
	}
	s.control("POST", "/faults", `{"on": {}, "fault": {"type": "Nonsense"}}`, nil, 400)
	s.control("POST", "/faults", `{"on": {}, "fault": {"http_stats": 1}}`, nil, 400)
	s.control("POST", "/faults", `{"on": {"metod": "x"}, "fault": {"delay_ms": 1}}`, nil, 400)
	s.control("DELETE", "/faults/1", nil, nil, 200)
	s.control("DELETE", "/faults/1", nil, nil, 404)
}

func TestFaultOnOneObject(t *testing.T) {
	s := startSim(t, `{"datacenters": [{"name": "d", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}],
		"datastores": [{"name": "s"}], "vms": [{"name": "a"}, {"name": "b"}]}]}`)
	c := s.admin()
	s.fault(`{"on": {"method": "PowerOnVM_Task", "object": "/d/vm/b"}, "fault": {"type": "TaskInProgress"}}`)
	for name, want := range map[string]string{"a": "", "b": "TaskInProgress"} {
		vm := object.NewVirtualMachine(c.Client, s.at("/d/vm/"+name))
		_, err := vm.PowerOn(s.ctx)
		if faultName(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHTTPFaults(t *testing.T) {
	s := startSim(t, "")
	c := s.admin()
	rc := s.rest(c, adminUser, adminPassword)
	m := tags.NewManager(rc)

	s.fault(`{"on": {"kind": "rest", "method": "GET", "path": "/rest/com/vmware/cis/tagging/category"}, "count": 1,
		"fault": {"http_status": 503, "retry_after": 2}}`)
	if _, err := m.ListCategories(s.ctx); !rest.IsStatusError(err, http.StatusServiceUnavailable) {
		t.Errorf("want 503: %v", err)
	}
	if _, err := m.ListCategories(s.ctx); err != nil {
		t.Error(err)
	}

	// Dropped before: not executed. Dropped after: executed, no answer.
	s.fault(`{"on": {"kind": "rest", "method": "POST", "path": "/rest/com/vmware/cis/tagging/category"}, "count": 1, "fault": {"drop": "before"}}`)
	if _, err := m.CreateCategory(s.ctx, &tags.Category{Name: "before"}); err == nil {
		t.Error("an answer came through")
	}
	s.fault(`{"on": {"kind": "rest", "method": "POST", "path": "/rest/com/vmware/cis/tagging/category"}, "count": 1, "fault": {"drop": "after"}}`)
	if _, err := m.CreateCategory(s.ctx, &tags.Category{Name: "after"}); err == nil {
		t.Error("an answer came through")
	}
	list, err := m.GetCategories(s.ctx)
	if err != nil || len(list) != 1 || list[0].Name != "after" {
		t.Errorf("categories: %+v %v", list, err)
	}

	// A REST fault for one object and one action.
	if _, err := m.CreateTag(s.ctx, &tags.Tag{Name: "t", CategoryID: list[0].ID}); err != nil {
		t.Fatal(err)
	}
	s.fault(`{"on": {"kind": "rest", "query": "~action=attach", "object": "/DC0"},
		"fault": {"type": "unauthorized", "http_status": 403, "message": "not you"}}`)
	if err := m.AttachTag(s.ctx, "t", s.at("/DC0")); !rest.IsStatusError(err, http.StatusForbidden) {
		t.Errorf("want 403: %v", err)
	}
	if err := m.AttachTag(s.ctx, "t", s.at("/DC0/vm")); err != nil {
		t.Error(err)
	}

	s.fault(`{"on": {"method": "CurrentTime"}, "count": 1, "fault": {"drop": "before"}}`)
	if err := now(s, c); err == nil {
		t.Error("an answer came through")
	}
	s.fault(`{"on": {"method": "CurrentTime"}, "count": 1, "fault": {"delay_ms": 150}}`)
	start := time.Now()
	if err := now(s, c); err != nil || time.Since(start) < 150*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	s.fault(`{"on": {"method": "CurrentTime"}, "count": 1, "fault": {"http_status": 503}}`)
	if err := now(s, c); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("want 503: %v", err)
	}
}

func TestTaskFaultsAndDelays(t *testing.T) {
	s := startSim(t, `{"task_ms": {"PowerOffVM_Task": 120}, "datacenters": [{"name": "d",
		"clusters": [{"name": "c", "hosts": [{"name": "h"}]}], "datastores": [{"name": "s"}],
		"vms": [{"name": "a"}]}]}`)
	c := s.admin()
	vm := object.NewVirtualMachine(c.Client, s.at("/d/vm/a"))
	s.fault(`{"on": {"method": "PowerOnVM_Task"}, "count": 1, "fault": {"task_fault": {"type": "InsufficientCpuResourcesFault"}}}`)
	task, err := vm.PowerOn(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(s.ctx); faultName(err) != "InsufficientCpuResourcesFault" {
		t.Errorf("task: %s (%v)", faultName(err), err)
	}
	s.fault(`{"on": {"method": "PowerOnVM_Task"}, "count": 1, "fault": {"task_delay_ms": 150}}`)
	s.control("POST", "/freeze", map[string]string{"kind": "task"}, nil, 200)
	start := time.Now()
	if task, err = vm.PowerOn(s.ctx); err != nil {
		t.Fatal(err)
	}
	if n := s.tasks.stats().Running; n != 1 {
		t.Errorf("%d tasks run", n)
	}
	if info, ok := s.tasks.info(task.Reference()); !ok || done(info) {
		t.Errorf("the call waited for its task, or did not make one: %+v", info)
	}
	s.control("POST", "/thaw", nil, nil, 200)
	if err := task.Wait(s.ctx); err != nil || time.Since(start) < 150*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	start = time.Now()
	if task, err = vm.PowerOff(s.ctx); err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(s.ctx, nil)
	if err != nil || time.Since(start) < 120*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	if info.Name != "PowerOffVM_Task" || info.Reason.(*types.TaskReasonUser).UserName != `VSPHERE.LOCAL\Administrator` {
		t.Errorf("task info: %+v", info)
	}
}

func TestExpiredSessions(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	admin, ops := s.admin(), s.login(`CORP\ops`, "ops")
	rc := s.rest(admin, adminUser, adminPassword)
	var res struct{ Expired int }
	s.control("POST", "/sessions/expire", `{"user": "ops@corp.example.com"}`, &res, 200)
	if res.Expired != 1 || faultName(now(s, ops)) != "NotAuthenticated" || now(s, admin) != nil {
		t.Errorf("expired %d: %v %v", res.Expired, now(s, ops), now(s, admin))
	}
	s.control("POST", "/sessions/expire", `{"kind": "rest"}`, &res, 200)
	if _, err := tags.NewManager(rc).ListCategories(s.ctx); !rest.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("want 401: %v", err)
	}
	// A long poll ends with its session.
	polled := make(chan error, 1)
	go func() {
		pc := property.DefaultCollector(admin.Client)
		polled <- property.Wait(s.ctx, pc, s.at("/eu/dc1"), []string{"name"}, func([]types.PropertyChange) bool { return false })
	}()
	for s.count("WaitForUpdatesEx") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	s.control("POST", "/sessions/expire", nil, &res, 200)
	select {
	case err := <-polled:
		if faultName(err) != "NotAuthenticated" {
			t.Errorf("long poll: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the long poll goes on")
	}
	if faultName(now(s, admin)) != "NotAuthenticated" {
		t.Error("still logged in")
	}
}

// A client that leaves before it learns of its task does not leave a count
// behind.
func TestTasksOfNobody(t *testing.T) {
	s := startSim(t, "")
	asked, release := make(chan struct{}), make(chan struct{})
	p := &proxy{estate: s.estate, inner: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	})}
	ctx, leave := context.WithCancel(s.ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/sdk", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-asked
		leave()
	}()
	if rec := p.forward(&call{kind: "soap", method: "PowerOnVM_Task"}, r); rec != nil {
		t.Errorf("somebody was answered: %d", rec.status)
	}
	if n := s.tasks.stats().Running; n != 1 {
		t.Errorf("%d tasks run", n)
	}
	close(release)
	for end := time.Now().Add(5 * time.Second); s.tasks.stats().Running != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it still counts")
		}
	}
}

func TestFreeze(t *testing.T) {
	s := startSim(t, "")
	c := s.admin()
	s.control("POST", "/freeze", nil, nil, 200)
	answered := make(chan error, 1)
	go func() { answered <- now(s, c) }()
	last := func() logEntry {
		r := s.requests()
		return r[len(r)-1]
	}
	for end := time.Now().Add(20 * time.Second); last().Method != "CurrentTime"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not asked")
		}
	}
	select {
	case err := <-answered:
		t.Fatalf("answered while frozen: %v", err)
	case <-time.After(150 * time.Millisecond):
	}
	if last().Done {
		t.Error("a frozen request is logged as done")
	}
	s.control("POST", "/thaw", nil, nil, 200)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestRequestLog(t *testing.T) {
	s := startSim(t, "")
	if n := len(s.requests()); n != 0 {
		t.Fatalf("%d requests before the first", n)
	}
	c := s.admin()
	for range 3 {
		_ = now(s, c)
	}
	if n := s.count("CurrentTime"); n != 3 {
		t.Errorf("%d calls logged", n)
	}
	all := s.requests()
	last := all[len(all)-1]
	if last.User != `VSPHERE.LOCAL\Administrator` || last.Object != "ServiceInstance:ServiceInstance" || last.Session == "" ||
		last.Status != 200 || last.BytesOut == 0 || last.Connection == 0 || !last.Done {
		t.Errorf("entry: %+v", last)
	}
	i := slices.IndexFunc(all, func(e logEntry) bool { return e.Method == "Login" })
	if i < 0 || all[i].User != last.User || all[i].Session != last.Session {
		t.Errorf("login: %+v", all)
	}
	var stats struct {
		Methods map[string]int `json:"by_method"`
		SOAP    int            `json:"soap_sessions"`
		Conns   int            `json:"open_connections"`
	}
	s.control("GET", "/stats", nil, &stats, 200)
	if stats.Methods["CurrentTime"] != 3 || stats.SOAP != 1 || stats.Conns < 1 {
		t.Errorf("stats: %+v", stats)
	}
	s.control("DELETE", "/requests", nil, nil, 200)
	_ = now(s, c)
	if r := s.requests(); len(r) != 1 || r[0].Seq != last.Seq+1 {
		t.Errorf("after clearing: %+v", r)
	}
	if err := c.Logout(s.ctx); err != nil {
		t.Error(err)
	}
	s.control("GET", "/stats", nil, &stats, 200)
	if stats.SOAP != 0 {
		t.Errorf("%d sessions after logout", stats.SOAP)
	}
}
