package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// collector is the simulator's PropertyCollector with two corrections of its
// WaitForUpdatesEx.
//
// There, the collectors of all sessions are registered under one name, so that
// of two clients that wait the later one gets the updates of both. Here each
// has a feed of its own.
//
// And there, every change of any object makes every waiter read all objects of
// its filters again: one client that waits for a few hundred tasks is enough
// to bring it to a halt. Here a feed passes on what concerns a filter, and a
// filter that names its objects, or has them from a list, as those on tasks do,
// reads them once, and again when the list has changed.
type collector struct {
	simulator.PropertyCollector

	mu    sync.Mutex
	feed  *feed
	specs map[ref]types.PropertyFilterSpec // as the client gave them
	known map[ref]bool                     // filters whose objects were sent
	sent  map[ref]bool                     // objects that were sent
	turns int                              // how often a list has changed
}

// feed is what the registry calls on changes.
type feed struct {
	self ref
	c    *collector
}

// feeds holds the feeds of each session, by its key, so that they end with it.
var feeds sync.Map

func dropFeeds(reg *simulator.Registry, session string) {
	if list, ok := feeds.LoadAndDelete(session); ok {
		for _, f := range list.([]*feed) {
			reg.RemoveHandler(f)
		}
	}
}

func (c *collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := new(collector)
	made.Self.Type = "PropertyCollector"
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{
		Returnval: ctx.Session.Put(made).Reference(),
	}}
}

// CreateFilter: the registry calls a filter on every change, for the sake of
// traversals. One that names its objects does without, see settle.
func (c *collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	res := c.PropertyCollector.CreateFilter(ctx, req)
	if body, ok := res.(*methods.CreateFilterBody); ok && body.Res != nil && settles(req.Spec) {
		if f, ok := ctx.Session.Get(body.Res.Returnval).(*simulator.PropertyFilter); ok {
			ctx.Map.RemoveHandler(f)
		}
	}
	return res
}

func (c *collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.mu.Lock()
	if c.feed != nil {
		ctx.Map.RemoveHandler(c.feed)
		c.feed = nil
	}
	c.mu.Unlock()
	return c.PropertyCollector.DestroyPropertyCollector(ctx, req)
}

func (c *collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	filters := slices.Clone(c.Filter)
	fresh := c.learn(ctx, filters)
	if req.Version != "" {
		if fresh {
			// Nothing may have changed, but there is something to report.
			c.PropertyCollector.PutObject(ctx, ctx.Map.Get(ctx.Map.SessionManager().Self))
		}
		res := c.PropertyCollector.WaitForUpdatesEx(ctx, req)
		c.settle(ctx, filters, res)
		return res
	}
	c.attach(ctx) // before the state is read, or a change in between is lost
	res := c.PropertyCollector.WaitForUpdatesEx(ctx, req)
	ctx.Map.RemoveHandler(c) // which it has just registered, under the shared name
	c.settle(ctx, filters, res)
	return res
}

// WaitForUpdates is the old form, by which pyvmomi waits for tasks.
func (c *collector) WaitForUpdates(ctx *simulator.Context, req *types.WaitForUpdates) soap.HasFault {
	body := new(methods.WaitForUpdatesBody)
	res := c.WaitForUpdatesEx(ctx, &types.WaitForUpdatesEx{This: req.This, Version: req.Version}).(*methods.WaitForUpdatesExBody)
	if body.Fault_ = res.Fault_; body.Fault_ == nil && res.Res.Returnval != nil {
		body.Res = &types.WaitForUpdatesResponse{Returnval: *res.Res.Returnval}
	}
	return body
}

func (c *collector) attach(ctx *simulator.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed != nil {
		return
	}
	c.feed = &feed{self: ref{Type: "Feed", Value: uuid.NewString()}, c: c}
	ctx.Map.AddHandler(c.feed)
	list, _ := feeds.Load(ctx.Session.Key)
	old, _ := list.([]*feed)
	feeds.Store(ctx.Session.Key, append(slices.Clone(old), c.feed))
}

// learn takes down the filters' specifications; it reports whether some are
// new since the last call.
func (c *collector) learn(ctx *simulator.Context, filters []ref) (fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.specs == nil {
		c.specs, c.known = make(map[ref]types.PropertyFilterSpec), make(map[ref]bool)
		c.sent = make(map[ref]bool)
	}
	for r := range c.specs {
		if !slices.Contains(filters, r) {
			delete(c.specs, r)
			delete(c.known, r)
		}
	}
	for _, r := range filters {
		if f, ok := ctx.Session.Get(r).(*simulator.PropertyFilter); ok && !c.known[r] {
			c.specs[r] = f.Spec
			fresh = true
		}
	}
	return fresh
}

// settle runs when the objects of the filters have been sent: a filter without
// traversal has nothing more to find, nor has one of a list of which all was
// sent.
func (c *collector) settle(ctx *simulator.Context, filters []ref, res soap.HasFault) {
	// Whoever changes a list holds it and wants our lock: look at the lists first.
	c.mu.Lock()
	turns := c.turns
	c.mu.Unlock()
	listed := make(map[ref][]ref)
	for _, r := range filters {
		if f, ok := ctx.Session.Get(r).(*simulator.PropertyFilter); ok {
			listed[r] = members(ctx, f.Spec)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if body, ok := res.(*methods.WaitForUpdatesExBody); ok && body.Res != nil && body.Res.Returnval != nil {
		for _, f := range body.Res.Returnval.FilterSet {
			for _, o := range f.ObjectSet {
				c.sent[o.Obj] = true
			}
		}
	}
	for _, r := range filters {
		f, ok := ctx.Session.Get(r).(*simulator.PropertyFilter)
		if !ok || c.known[r] {
			continue
		}
		unsent := func(r ref) bool { return !c.sent[r] }
		if turns != c.turns || slices.ContainsFunc(listed[r], unsent) {
			continue
		}
		c.known[r] = true
		if settles(f.Spec) {
			f.Spec.ObjectSet = f.Spec.ObjectSet[:0]
		}
	}
}

// reopen runs when a list has changed: what is new in it has to be found.
func (c *collector) reopen(ctx *simulator.Context, list ref) {
	if list.Type != "ListView" || ctx.Session == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	for r, spec := range c.specs {
		f, ok := ctx.Session.Get(r).(*simulator.PropertyFilter)
		if ok && c.known[r] && names(spec, list) {
			f.Spec.ObjectSet = spec.ObjectSet
			c.known[r] = false
		}
	}
}

// members are the objects of the lists of a filter.
func members(ctx *simulator.Context, spec types.PropertyFilterSpec) (all []ref) {
	for _, o := range spec.ObjectSet {
		if list, ok := ctx.Session.Get(o.Obj).(*simulator.ListView); ok {
			ctx.WithLock(list, func() { all = append(all, list.View...) })
		}
	}
	return all
}

// settles says whether a filter finds nothing more by itself once it has read
// its objects.
func settles(spec types.PropertyFilterSpec) bool {
	return !slices.ContainsFunc(spec.ObjectSet, func(o types.ObjectSpec) bool {
		return len(o.SelectSet) > 0 && o.Obj.Type != "ListView"
	})
}

func names(spec types.PropertyFilterSpec, r ref) bool {
	return slices.ContainsFunc(spec.ObjectSet, func(o types.ObjectSpec) bool { return o.Obj == r })
}

func traverses(spec types.PropertyFilterSpec) bool {
	return slices.ContainsFunc(spec.ObjectSet, func(o types.ObjectSpec) bool { return len(o.SelectSet) > 0 })
}

func (f *feed) Reference() ref { return f.self }

func (f *feed) PutObject(ctx *simulator.Context, obj mo.Reference) {
	if f.c.concerns(obj.Reference(), nil, true) {
		f.c.PropertyCollector.PutObject(ctx, obj)
	}
}

func (f *feed) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	f.c.reopen(ctx, obj.Reference())
	if f.c.concerns(obj.Reference(), changes, false) {
		f.c.PropertyCollector.UpdateObject(ctx, obj, changes)
	}
}

func (f *feed) RemoveObject(ctx *simulator.Context, r ref) {
	if f.c.concerns(r, nil, false) {
		f.c.PropertyCollector.RemoveObject(ctx, r)
	}
}

// concerns says whether a filter may want to know. No changes stands for the
// coming or going of the object.
func (c *collector) concerns(r ref, changes []types.PropertyChange, enters bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, spec := range c.specs {
		deep := traverses(spec)
		named := names(spec, r)
		if named && deep {
			return true // a view, or another place where the traversal starts
		}
		if !deep && (!named || enters) {
			continue
		}
		for _, p := range spec.PropSet {
			if !isKind(r.Type, p.Type) {
				continue
			}
			if changes == nil || (p.All != nil && *p.All) || touches(p.PathSet, changes) {
				return true
			}
		}
	}
	return false
}

// isKind knows the base types that clients name in filters.
func isKind(kind, base string) bool {
	if kind == base {
		return true
	}
	switch base {
	case "ManagedEntity":
		return true // too much rather than too little
	case "ComputeResource":
		return kind == "ClusterComputeResource"
	case "Network":
		return kind == "DistributedVirtualPortgroup" || kind == "OpaqueNetwork"
	case "Folder":
		return kind == "StoragePod"
	case "ResourcePool":
		return kind == "VirtualApp"
	}
	return strings.HasSuffix(kind, base)
}

func touches(paths []string, changes []types.PropertyChange) bool {
	for _, path := range paths {
		for _, c := range changes {
			if strings.HasPrefix(c.Name, path) || strings.HasPrefix(path, c.Name) {
				return true
			}
		}
	}
	return false
}
