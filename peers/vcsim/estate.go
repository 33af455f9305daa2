package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	// The other services of a vCenter register themselves.
	_ "github.com/vmware/govmomi/cns/simulator"
	_ "github.com/vmware/govmomi/lookup/simulator"
	_ "github.com/vmware/govmomi/pbm/simulator"
	_ "github.com/vmware/govmomi/ssoadmin/simulator"
	_ "github.com/vmware/govmomi/sts/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

// estate is one simulated vCenter with everything the wrapper adds to it.
type estate struct {
	inv    *Inventory
	svc    *simulator.Service
	reg    *simulator.Registry // the vim25 objects
	server *simulator.Server
	client *vim25.Client // in process: neither logged nor subject to faults
	root   ref
	home   string // local folders behind the datastores

	dir    *directory
	auth   *authority
	authMO *authManager
	vapi   *vapiHandler
	log    *requestLog
	faults *faultBook
	tasks  *taskDesk
	gate   *freezeGate
	live   *liveRequests
	place  *placement
	// What happens to the power of machines.
	machines *machineLog

	latency sync.Map // of disks in milliseconds, by VM

	urlMu   sync.RWMutex
	urls    []urlPair         // datastore URL and the local folder behind it
	toWire  *strings.Replacer // folder → URL
	toLocal *strings.Replacer // URL → folder

	applyMu sync.Mutex // one build at a time
}

type urlPair struct{ url, dir string }

// newEstate builds the objects. Serving starts with listen: tags and storage
// policies need the endpoints and are built there.
func newEstate(inv *Inventory, parent string) (*estate, error) {
	if len(inv.Datacenters) == 0 {
		inv.Datacenters = defaultInventory().Datacenters
	}
	e := &estate{
		inv: inv, dir: newDirectory(), log: newRequestLog(),
		gate: newFreezeGate(), live: newLiveRequests(), machines: newMachineLog(),
	}
	if err := e.dir.load(inv); err != nil {
		return nil, err
	}
	simulator.DefaultUserGroup = e.dir.searchResults()

	home, err := os.MkdirTemp(parent, "vcsim-")
	if err != nil {
		return nil, err
	}
	e.home = home

	content := vpx.ServiceContent
	ctx, instance := simulator.NewServiceInstance(simulator.NewContext(), content, vpx.RootFolder)
	instance.Content.About = about(inv.VCenter)
	e.svc = simulator.New(ctx, instance)
	e.reg = ctx.Map
	e.root = content.RootFolder
	e.reg.OptionManager().Setting = append(e.reg.OptionManager().Setting,
		&types.OptionValue{Key: "vcsim.home", Value: home})
	if s := inv.VCenter.SessionTimeoutS; s > 0 {
		e.reg.OptionManager().UpdateOptions(&types.UpdateOptions{ChangedValue: []types.BaseOptionValue{
			&types.OptionValue{Key: "config.vmacore.soap.sessionTimeout", Value: fmt.Sprintf("%ds", s)},
		}})
	}
	e.faults = newFaultBook(e.resolve)
	e.tasks = newTaskDesk(e)
	e.place = newPlacement(e)
	e.reg.AddHandler(e.tasks) // turns panics of the simulator into task faults

	e.auth = newAuthority(e.dir, e.reg, inv.VCenter)
	e.auth.set(types.Permission{
		Entity: &e.root, Principal: e.dir.display(principal{systemDomain, "Administrators"}),
		Group: true, RoleId: roleAdmin, Propagate: true,
	})
	e.authMO = &authManager{auth: e.auth, session: e.soapSession}
	e.authMO.Self = *content.AuthorizationManager
	e.reg.Put(e.authMO)

	perf := e.reg.Get(*content.PerfManager).(*simulator.PerformanceManager)
	e.reg.Put(&perfManager{PerformanceManager: *perf, latency: &e.latency})

	waiter := new(collector)
	waiter.Self = content.PropertyCollector
	e.reg.Put(waiter)

	if e.client, err = vim25.NewClient(context.Background(), e.svc); err != nil {
		return nil, err
	}
	if err := e.build(inv); err != nil {
		e.close()
		return nil, err
	}
	e.reg.Handler = e.hook
	return e, nil
}

// about fills what the inventory leaves out with a current vCenter.
func about(vc VCenter) types.AboutInfo {
	or := func(s, fallback string) string {
		if s == "" {
			return fallback
		}
		return s
	}
	a := vpx.ServiceContent.About
	a.Name = or(vc.Name, "VMware vCenter Server")
	a.Version = or(vc.Version, "8.0.3")
	a.Build = or(vc.Build, "24322831")
	a.ApiVersion = or(vc.APIVersion, apiVersion(a.Version))
	a.InstanceUuid = or(vc.InstanceUUID, stableUUID("vcenter", a.Name))
	a.FullName = fmt.Sprintf("%s %s build-%s", a.Name, a.Version, a.Build)
	a.LicenseProductVersion = strings.SplitN(a.Version, ".", 2)[0] + ".0"
	return a
}

// apiVersion: vCenter 8.0.3 speaks API 8.0.3.0, 6.7.0 spoke 6.7.
func apiVersion(version string) string {
	parts := strings.Split(version, ".")
	if parts[0] < "7" && len(parts[0]) == 1 {
		return strings.Join(parts[:min(2, len(parts))], ".")
	}
	for len(parts) < 4 {
		parts = append(parts, "0")
	}
	return strings.Join(parts[:4], ".")
}

// build adds an inventory, or a part of one, to what is there.
func (e *estate) build(inv *Inventory) (err error) {
	// The simulator panics where vCenter would fault; say which input it was.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the simulator refused the inventory: %v", p)
		}
	}()
	b := &builder{estate: e, ctx: context.Background()}
	for _, f := range inv.Folders {
		if _, err := b.folder(e.root, f); err != nil {
			return err
		}
	}
	for i := range inv.Datacenters {
		if err := b.datacenter(&inv.Datacenters[i]); err != nil {
			return fmt.Errorf("datacenter %q: %w", inv.Datacenters[i].Name, err)
		}
	}
	if err := e.auth.load(inv, e.resolve); err != nil {
		return err
	}
	e.reg.WithLock(e.newContext(), e.authMO, func() {
		e.auth.mu.RLock()
		defer e.auth.mu.RUnlock()
		e.authMO.publish()
	})
	return nil
}

// apply adds a partial inventory to the running vCenter.
func (e *estate) apply(inv *Inventory) error {
	e.applyMu.Lock()
	defer e.applyMu.Unlock()
	fixed := Inventory{
		VCenter: inv.VCenter, Enforce: inv.Enforce, TaskMS: inv.TaskMS, DHCP: inv.DHCP,
		CloneSlots: inv.CloneSlots, CloneSlotsPerHost: inv.CloneSlotsPerHost,
	}
	if !reflect.DeepEqual(fixed, Inventory{}) {
		return fmt.Errorf("vcenter, enforce, task_ms, dhcp and clone slots can be given at start only")
	}
	if err := e.dir.load(inv); err != nil {
		return err
	}
	if err := e.build(inv); err != nil {
		return err
	}
	for _, r := range inv.Faults {
		if _, err := e.faults.add(r); err != nil {
			return err
		}
	}
	return e.buildServices(inv)
}

// buildServices makes what lives outside vim25.
func (e *estate) buildServices(inv *Inventory) error {
	for _, c := range inv.Categories {
		if err := e.buildCategory(c); err != nil {
			return fmt.Errorf("category %q: %w", c.Name, err)
		}
	}
	for _, p := range inv.StoragePolicies {
		if err := e.buildPolicy(p); err != nil {
			return fmt.Errorf("storage policy %q: %w", p.Name, err)
		}
	}
	return nil
}

// newContext is a fresh locking context. The simulator lets one context hold a
// lock many times, so sharing one between goroutines would share its locks.
func (e *estate) newContext() *simulator.Context {
	return &simulator.Context{
		Context: context.Background(),
		Map:     e.reg,
		Session: &simulator.Session{Registry: simulator.NewRegistry(), Map: e.reg},
	}
}

// addURL makes a datastore show a vSphere URL although the simulator keeps its
// files in a local folder: the two are exchanged on the wire.
func (e *estate) addURL(url string) (string, error) {
	e.urlMu.Lock()
	defer e.urlMu.Unlock()
	for _, p := range e.urls {
		if p.url == url {
			return "", fmt.Errorf("two datastores have the URL %q", url)
		}
	}
	dir := filepath.Join(e.home, fmt.Sprintf("datastore-%04d.d", len(e.urls)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	e.urls = append(e.urls, urlPair{url, dir})
	var out, in []string
	for _, p := range e.urls {
		out = append(out, p.dir, p.url)
		in = append(in, p.url, p.dir)
	}
	e.toWire, e.toLocal = strings.NewReplacer(out...), strings.NewReplacer(in...)
	return dir, nil
}

func (e *estate) close() { _ = os.RemoveAll(e.home) }
