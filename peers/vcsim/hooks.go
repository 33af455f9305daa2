package main

import (
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// hook runs before every vim25 method, with the decoded request. It checks
// logins, closes the simulator's door for readers without a session, and
// completes requests that would make the simulator panic or roll dice.
func (e *estate) hook(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	switch req := m.Body.(type) {
	case *types.Login:
		name, fault := e.checkLogin(req.UserName, req.Password)
		if fault != nil {
			return nil, fault
		}
		req.UserName = name // the session shows the fully qualified name
	case *types.LoginByToken:
		return nil, e.checkToken(ctx)
	case *types.RetrieveProperties:
		return nil, e.anonymous(ctx, req.SpecSet)
	case *types.RetrievePropertiesEx:
		return nil, e.anonymous(ctx, req.SpecSet)
	case *types.CreateVM_Task:
		return nil, e.place.create(req.This, &req.Config, req.Pool, &req.Host)
	case *types.ImportVApp:
		if spec, ok := req.Spec.(*types.VirtualMachineImportSpec); ok {
			folder := req.Folder
			if folder == nil {
				folder = e.vmFolderOf(req.This)
			}
			if folder != nil {
				return nil, e.place.create(*folder, &spec.ConfigSpec, req.This, &req.Host)
			}
		}
	case *types.CloneVM_Task:
		return nil, e.place.clone(req)
	}
	return nil, nil
}

func (e *estate) vmFolderOf(r ref) *ref {
	at, ok := ancestor(e.reg, r, "Datacenter")
	if !ok {
		return nil
	}
	return &e.reg.Get(at).(*simulator.Datacenter).VmFolder
}

func (e *estate) checkLogin(name, password string) (string, types.BaseMethodFault) {
	if internal := e.svc.Listen; internal != nil && internal.User != nil && name == internal.User.Username() {
		// The simulator calls itself for some REST methods.
		if p, _ := internal.User.Password(); p == password {
			return name, nil
		}
	}
	return e.dir.login(name, password)
}

// checkToken: the token is not verified, but its subject must exist.
func (e *estate) checkToken(ctx *simulator.Context) types.BaseMethodFault {
	var subject struct {
		ID string `xml:"Assertion>Subject>NameID"`
	}
	if el, ok := ctx.Header.Security.(*simulator.Element); ok {
		_ = el.Decode(&subject)
	}
	if !e.dir.exists(e.dir.qualify(subject.ID)) {
		return new(types.InvalidLogin)
	}
	return nil
}

// anonymous: without a session vCenter lets a client read the service content
// and the session manager only. The simulator shows everything.
func (e *estate) anonymous(ctx *simulator.Context, specs []types.PropertyFilterSpec) types.BaseMethodFault {
	if ctx.Session != nil {
		return nil
	}
	for _, s := range specs {
		for _, o := range s.ObjectSet {
			switch o.Obj.Type {
			case "ServiceInstance", "SessionManager", "PropertyCollector":
				continue
			}
			return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &o.Obj, PrivilegeId: "System.View"}}
		}
	}
	return nil
}

// placement chooses hosts. The simulator takes a random one, loses hosts from
// the cluster's list when some do not mount the datastore, and panics when
// none does; and it leaves clones on the template's host.
type placement struct {
	*estate
	mu   sync.Mutex
	turn map[ref]int // per compute resource
}

func newPlacement(e *estate) *placement { return &placement{estate: e, turn: make(map[ref]int)} }

// pick goes round the usable hosts of a pool's compute resource, so that the
// same requests in the same order give the same placement.
func (p *placement) pick(pool ref, ds *simulator.Datastore) (*ref, types.BaseMethodFault) {
	owner, ok := ancestor(p.reg, pool, "ClusterComputeResource", "ComputeResource")
	if !ok {
		return nil, &types.InvalidArgument{InvalidProperty: "pool"}
	}
	var usable []ref
	for _, r := range p.childrenOf(owner) {
		h, ok := p.reg.Get(r).(*simulator.HostSystem)
		if ok && mounts(ds, r) && !h.Runtime.InMaintenanceMode &&
			h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected {
			usable = append(usable, r)
		}
	}
	if len(usable) == 0 {
		return nil, &types.InvalidDatastore{Datastore: &ds.Self, Name: ds.Name}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host := usable[p.turn[owner]%len(usable)]
	p.turn[owner]++
	return &host, nil
}

func (p *placement) datastoreNamed(folder ref, name string) *simulator.Datastore {
	dc, ok := ancestor(p.reg, folder, "Datacenter")
	if !ok {
		return nil
	}
	for _, r := range p.reg.Get(dc).(*simulator.Datacenter).Datastore {
		if ds, ok := p.reg.Get(r).(*simulator.Datastore); ok && ds.Name == name {
			return ds
		}
	}
	return nil
}

func (p *placement) create(folder ref, config *types.VirtualMachineConfigSpec, pool ref, host **ref) types.BaseMethodFault {
	if config.Files == nil || config.Files.VmPathName == "" {
		return nil // the simulator answers this one itself
	}
	var path object.DatastorePath
	if !path.FromString(config.Files.VmPathName) {
		return &types.InvalidDatastorePath{DatastorePath: config.Files.VmPathName}
	}
	ds := p.datastoreNamed(folder, path.Datastore)
	if ds == nil {
		return &types.InvalidDatastorePath{DatastorePath: config.Files.VmPathName}
	}
	if p.reg.Get(pool) == nil {
		return &types.ManagedObjectNotFound{Obj: pool}
	}
	return p.settle(pool, ds, host)
}

func (p *placement) settle(pool ref, ds *simulator.Datastore, host **ref) types.BaseMethodFault {
	if *host == nil {
		picked, fault := p.pick(pool, ds)
		*host = picked
		return fault
	}
	h, ok := p.reg.Get(**host).(*simulator.HostSystem)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: **host}
	}
	if !mounts(ds, h.Self) {
		return &types.InvalidDatastore{Datastore: &ds.Self, Name: ds.Name}
	}
	return nil
}

func (p *placement) clone(req *types.CloneVM_Task) types.BaseMethodFault {
	vm, ok := p.reg.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	if _, ok := p.reg.Get(req.Folder).(*simulator.Folder); !ok {
		return &types.ManagedObjectNotFound{Obj: req.Folder}
	}
	pool := req.Spec.Location.Pool
	if pool == nil {
		if pool = vm.ResourcePool; pool == nil {
			return nil // a template without a pool: the task ends in InvalidArgument
		}
	}
	if p.reg.Get(*pool) == nil {
		return &types.ManagedObjectNotFound{Obj: *pool}
	}
	at := req.Spec.Location.Datastore
	if at == nil {
		if len(vm.Datastore) == 0 {
			return nil
		}
		at = &vm.Datastore[0]
	}
	ds, ok := p.reg.Get(*at).(*simulator.Datastore)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: *at}
	}
	if p.datastoreNamed(req.Folder, ds.Name) != ds {
		return &types.InvalidDatastore{Datastore: &ds.Self, Name: ds.Name}
	}
	return p.settle(*pool, ds, &req.Spec.Location.Host)
}
