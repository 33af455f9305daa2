package main

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type ref = types.ManagedObjectReference

// vCenter stores these three characters of a name escaped, in lower case.
var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")
	unescaper = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")
)

func escapeName(name string) string   { return escaper.Replace(name) }
func unescapeName(name string) string { return unescaper.Replace(name) }

func nameOf(e mo.Entity) string {
	if name := e.Entity().Name; name != "" {
		return name
	}
	// These types shadow ManagedEntity.name with a field of their own.
	switch x := e.(type) {
	case *mo.Network:
		return x.Name
	case *mo.OpaqueNetwork:
		return x.Network.Name
	case *simulator.DistributedVirtualPortgroup:
		return x.Name
	case *simulator.DistributedVirtualSwitch:
		return x.Name
	}
	return ""
}

func entityAt(reg *simulator.Registry, r ref) mo.Entity {
	e, _ := reg.Get(r).(mo.Entity)
	return e
}

// pathOf is the inventory path as govc prints it: the root folder is "/".
func pathOf(reg *simulator.Registry, r ref) string {
	var parts []string
	for e := entityAt(reg, r); e != nil; {
		parent := e.Entity().Parent
		if parent == nil {
			break
		}
		parts = append(parts, nameOf(e))
		e = entityAt(reg, *parent)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return "/" + strings.Join(parts, "/")
}

// children are the inventory objects directly below one.
func children(obj mo.Reference) []ref {
	switch x := obj.(type) {
	case *simulator.Folder:
		return x.ChildEntity
	case *simulator.StoragePod:
		return x.ChildEntity
	case *simulator.Datacenter:
		return []ref{x.VmFolder, x.HostFolder, x.DatastoreFolder, x.NetworkFolder}
	case *simulator.ClusterComputeResource:
		return append([]ref{*x.ResourcePool}, x.Host...)
	case *mo.ComputeResource:
		return append([]ref{*x.ResourcePool}, x.Host...)
	case *simulator.ResourcePool:
		return x.ResourcePool.ResourcePool
	case *simulator.VirtualApp:
		return x.ResourcePool.ResourcePool
	}
	return nil
}

// childrenOf copies the list under the object's lock: it changes at run time.
func (e *estate) childrenOf(r ref) (out []ref) {
	obj := e.reg.Get(r)
	if obj == nil {
		return nil
	}
	e.reg.WithLock(e.newContext(), obj, func() {
		out = append(out, children(obj)...)
	})
	return out
}

func (e *estate) child(parent ref, name string) (ref, bool) {
	for _, r := range e.childrenOf(parent) {
		if c := entityAt(e.reg, r); c != nil && nameOf(c) == name {
			return r, true
		}
	}
	return ref{}, false
}

// resolve takes an inventory path or a moref ("VirtualMachine:vm-12").
func (e *estate) resolve(s string) (ref, error) {
	if !strings.HasPrefix(s, "/") {
		var r ref
		if r.FromString(s) && e.reg.Get(r) != nil {
			return r, nil
		}
		return ref{}, fmt.Errorf("no object %q: want a path that starts with / or Type:value", s)
	}
	at := e.root
	for _, part := range strings.Split(strings.Trim(s, "/"), "/") {
		if part == "" {
			continue
		}
		next, ok := e.child(at, part)
		if !ok {
			return ref{}, fmt.Errorf("no object at %q: %q is not below %s", s, part, pathOf(e.reg, at))
		}
		at = next
	}
	return at, nil
}

// ancestor is the nearest object of a type at or above r.
func ancestor(reg *simulator.Registry, r ref, kinds ...string) (ref, bool) {
	for e := entityAt(reg, r); e != nil; {
		for _, kind := range kinds {
			if e.Reference().Type == kind {
				return e.Reference(), true
			}
		}
		parent := e.Entity().Parent
		if parent == nil {
			break
		}
		e = entityAt(reg, *parent)
	}
	return ref{}, false
}
