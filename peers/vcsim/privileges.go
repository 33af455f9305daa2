package main

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/types"
)

const roleAdmin = int32(-1)

// globalEntity stands for global permissions: it acts as the parent of the
// root folder.
var globalEntity = ref{Type: "GlobalPermission", Value: "global"}

// authority holds roles and permissions and answers what a user may do where.
//
// The rules are vCenter's:
//   - the nearest object with an applicable entry decides, everything above it
//     is overridden; an entry above the object applies only if it propagates;
//   - on one object an entry for the user beats entries for groups, and the
//     entries of several groups add up;
//   - a VM inherits from its folder and from its pool (a template: its host)
//     at the same time, and what either gives counts;
//   - NoAccess is an entry like any other, with no privileges.
type authority struct {
	mu    sync.RWMutex
	dir   *directory
	reg   *simulator.Registry
	known []string
	roles []types.AuthorizationRole
	perms map[ref][]types.Permission
}

func newAuthority(dir *directory, reg *simulator.Registry, vc VCenter) *authority {
	a := &authority{dir: dir, reg: reg, perms: make(map[ref][]types.Permission)}
	unknown := func(id string) bool { return slices.Contains(vc.PrivilegesUnknown, id) }
	for _, role := range esx.RoleList {
		role.Privilege = slices.DeleteFunc(slices.Clone(role.Privilege), unknown)
		if role.RoleId == roleAdmin {
			for _, id := range vc.PrivilegesExtra {
				if !slices.Contains(role.Privilege, id) {
					role.Privilege = append(role.Privilege, id)
				}
			}
			a.known = role.Privilege
		}
		a.roles = append(a.roles, role)
	}
	return a
}

func (a *authority) isKnown(id string) bool { return slices.Contains(a.known, id) }

func (a *authority) roleByName(name string) *types.AuthorizationRole {
	for i := range a.roles {
		if a.roles[i].Name == name {
			return &a.roles[i]
		}
	}
	return nil
}

func (a *authority) roleByID(id int32) *types.AuthorizationRole {
	for i := range a.roles {
		if a.roles[i].RoleId == id {
			return &a.roles[i]
		}
	}
	return nil
}

// addRole: every role of a client also has the three system privileges, as in
// vCenter.
func (a *authority) addRole(name string, privileges []string) (int32, types.BaseMethodFault) {
	if a.roleByName(name) != nil {
		return 0, &types.AlreadyExists{Name: name}
	}
	for _, id := range privileges {
		if !a.isKnown(id) {
			return 0, &types.InvalidArgument{InvalidProperty: "privIds"}
		}
	}
	id := int32(1000)
	for _, r := range a.roles {
		id = max(id, r.RoleId+1)
	}
	a.roles = append(a.roles, types.AuthorizationRole{
		RoleId: id, Name: name,
		Info:      &types.Description{Label: name, Summary: name},
		Privilege: withSystem(privileges),
	})
	return id, nil
}

func withSystem(privileges []string) []string {
	out := slices.Clone(privileges)
	for _, id := range []string{"System.Anonymous", "System.Read", "System.View"} {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// set adds or replaces the entry of one principal on one entity.
func (a *authority) set(p types.Permission) {
	list := a.perms[*p.Entity]
	for i := range list {
		if list[i].Group == p.Group && a.same(list[i].Principal, p.Principal) {
			list[i] = p
			return
		}
	}
	a.perms[*p.Entity] = append(list, p)
}

func (a *authority) same(x, y string) bool {
	return a.dir.parse(x).key() == a.dir.parse(y).key()
}

// load takes roles and permissions from an inventory; resolve maps its paths.
func (a *authority) load(inv *Inventory, resolve func(string) (ref, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range inv.Roles {
		if _, fault := a.addRole(r.Name, r.Privileges); fault != nil {
			return fmt.Errorf("role %q: %T (is a privilege misspelt or unknown to this vCenter?)", r.Name, fault)
		}
	}
	for _, p := range inv.Permissions {
		role := a.roleByName(p.Role)
		if role == nil {
			return fmt.Errorf("permission of %q: no role %q", p.Principal, p.Role)
		}
		entity := globalEntity
		if p.Entity != "global" {
			var err error
			if entity, err = resolve(p.Entity); err != nil {
				return fmt.Errorf("permission of %q: %w", p.Principal, err)
			}
		}
		id := a.dir.qualify(p.Principal)
		if p.Group {
			id = a.dir.groupName(p.Principal)
		}
		a.set(types.Permission{
			Entity: &entity, Principal: a.dir.display(id), Group: p.Group,
			RoleId: role.RoleId, Propagate: orTrue(p.Propagate),
		})
	}
	return nil
}

// privileges of a user on an entity, sorted, without duplicates.
func (a *authority) privileges(user string, entity ref) []string {
	who := a.dir.parse(user)
	if !a.dir.exists(who) {
		return nil // unknown and short names: vCenter answers with nothing
	}
	groups := a.dir.groupsOf(who)
	a.mu.RLock()
	defer a.mu.RUnlock()
	set := make(map[string]bool)
	a.collect(set, who.key(), groups, entity, true)
	out := make([]string, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// has reports whether the user holds one privilege on an entity.
func (a *authority) has(user string, entity ref, privilege string) bool {
	_, found := slices.BinarySearch(a.privileges(user, entity), privilege)
	return found
}

func (a *authority) collect(set map[string]bool, who principal, groups map[principal]bool, at ref, self bool) {
	for {
		if roles, decided := a.entries(who, groups, at, self); decided {
			for _, id := range roles {
				if role := a.roleByID(id); role != nil {
					for _, p := range role.Privilege {
						set[p] = true
					}
				}
			}
			return
		}
		if at == globalEntity {
			return
		}
		self = false
		parents := a.parents(at)
		for _, p := range parents[1:] {
			a.collect(set, who, groups, p, false)
		}
		at = parents[0]
	}
}

// entries are the roles that one object gives; decided is false when it has no
// entry that applies.
func (a *authority) entries(who principal, groups map[principal]bool, at ref, self bool) (roles []int32, decided bool) {
	for _, p := range a.perms[at] {
		if !self && !p.Propagate {
			continue
		}
		id := a.dir.parse(p.Principal).key()
		if !p.Group && id == who {
			return []int32{p.RoleId}, true
		}
		if p.Group && groups[id] {
			roles = append(roles, p.RoleId)
		}
	}
	return roles, len(roles) > 0
}

func (a *authority) parents(at ref) []ref {
	e := entityAt(a.reg, at)
	if e == nil || e.Entity().Parent == nil {
		return []ref{globalEntity}
	}
	out := []ref{*e.Entity().Parent}
	if vm, ok := e.(*simulator.VirtualMachine); ok {
		if vm.ResourcePool != nil {
			out = append(out, *vm.ResourcePool)
		} else if vm.Runtime.Host != nil {
			out = append(out, *vm.Runtime.Host)
		}
	}
	return out
}

func (a *authority) forget(entity ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.perms, entity)
}
