package main

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// authManager replaces the simulator's AuthorizationManager, which grants
// everything to everybody, has no privilegeList, returns no id for a new role
// and replaces an entity's permissions where vCenter merges them.
type authManager struct {
	mo.AuthorizationManager // first field: the property collector reads it

	auth    *authority
	session func(key string) (user string, ok bool)
}

// publish copies the authority's state into the managed object's properties.
// Call with the object locked, which a method call has done already.
func (m *authManager) publish() {
	m.RoleList = slices.Clone(m.auth.roles)
	m.PrivilegeList = m.PrivilegeList[:0:0]
	for _, id := range m.auth.known {
		group, name := "", id
		if i := strings.LastIndex(id, "."); i >= 0 {
			group, name = id[:i], id[i+1:]
		}
		m.PrivilegeList = append(m.PrivilegeList, types.AuthorizationPrivilege{
			PrivId: id, Name: name, PrivGroupName: group,
			OnParent: strings.HasSuffix(id, ".Create") || strings.HasSuffix(id, ".Delete"),
		})
	}
}

// missing finds the first entity that does not exist.
func (m *authManager) missing(ctx *simulator.Context, entities ...ref) *soap.Fault {
	for _, e := range entities {
		if ctx.Map.Get(e) == nil {
			return simulator.Fault("", &types.ManagedObjectNotFound{Obj: e})
		}
	}
	return nil
}

func (m *authManager) FetchUserPrivilegeOnEntities(ctx *simulator.Context, req *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	body := new(methods.FetchUserPrivilegeOnEntitiesBody)
	if body.Fault_ = m.missing(ctx, req.Entities...); body.Fault_ != nil {
		return body
	}
	body.Res = new(types.FetchUserPrivilegeOnEntitiesResponse)
	for _, e := range req.Entities {
		body.Res.Returnval = append(body.Res.Returnval, types.UserPrivilegeResult{
			Entity: e, Privileges: m.auth.privileges(req.UserName, e),
		})
	}
	return body
}

func (m *authManager) availability(user string, entities []ref, ids []string) (out []types.EntityPrivilege) {
	for _, e := range entities {
		held := m.auth.privileges(user, e)
		res := types.EntityPrivilege{Entity: e}
		for _, id := range ids {
			_, granted := slices.BinarySearch(held, id)
			res.PrivAvailability = append(res.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: granted})
		}
		out = append(out, res)
	}
	return out
}

// unknownPrivilege: vCenter refuses a question about a privilege it does not
// have, which is why a client must ask for known ones only.
func (m *authManager) unknownPrivilege(ids []string) *soap.Fault {
	for _, id := range ids {
		if !m.auth.isKnown(id) {
			return simulator.Fault("", &types.InvalidArgument{InvalidProperty: "privId"})
		}
	}
	return nil
}

func (m *authManager) HasUserPrivilegeOnEntities(ctx *simulator.Context, req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	body := new(methods.HasUserPrivilegeOnEntitiesBody)
	if body.Fault_ = m.missing(ctx, req.Entities...); body.Fault_ != nil {
		return body
	}
	if body.Fault_ = m.unknownPrivilege(req.PrivId); body.Fault_ != nil {
		return body
	}
	body.Res = &types.HasUserPrivilegeOnEntitiesResponse{
		Returnval: m.availability(req.UserName, req.Entities, req.PrivId),
	}
	return body
}

func (m *authManager) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	body := new(methods.HasPrivilegeOnEntitiesBody)
	if body.Fault_ = m.missing(ctx, req.Entity...); body.Fault_ != nil {
		return body
	}
	if body.Fault_ = m.unknownPrivilege(req.PrivId); body.Fault_ != nil {
		return body
	}
	user, _ := m.session(req.SessionId)
	body.Res = &types.HasPrivilegeOnEntitiesResponse{Returnval: m.availability(user, req.Entity, req.PrivId)}
	return body
}

func (m *authManager) HasPrivilegeOnEntity(ctx *simulator.Context, req *types.HasPrivilegeOnEntity) soap.HasFault {
	body := new(methods.HasPrivilegeOnEntityBody)
	if body.Fault_ = m.missing(ctx, req.Entity); body.Fault_ != nil {
		return body
	}
	if body.Fault_ = m.unknownPrivilege(req.PrivId); body.Fault_ != nil {
		return body
	}
	user, _ := m.session(req.SessionId)
	body.Res = new(types.HasPrivilegeOnEntityResponse)
	for _, p := range m.availability(user, []ref{req.Entity}, req.PrivId)[0].PrivAvailability {
		body.Res.Returnval = append(body.Res.Returnval, p.IsGranted)
	}
	return body
}

func (m *authManager) RetrieveEntityPermissions(ctx *simulator.Context, req *types.RetrieveEntityPermissions) soap.HasFault {
	body := new(methods.RetrieveEntityPermissionsBody)
	if body.Fault_ = m.missing(ctx, req.Entity); body.Fault_ != nil {
		return body
	}
	m.auth.mu.RLock()
	defer m.auth.mu.RUnlock()
	body.Res = new(types.RetrieveEntityPermissionsResponse)
	body.Res.Returnval = append(body.Res.Returnval, m.auth.perms[req.Entity]...)
	for at := req.Entity; req.Inherited && at != globalEntity; {
		at = m.auth.parents(at)[0]
		for _, p := range m.auth.perms[at] {
			if p.Propagate && at != globalEntity {
				body.Res.Returnval = append(body.Res.Returnval, p)
			}
		}
	}
	return body
}

func (m *authManager) all(keep func(types.Permission) bool) (out []types.Permission) {
	m.auth.mu.RLock()
	defer m.auth.mu.RUnlock()
	for entity, list := range m.auth.perms {
		for _, p := range list {
			if entity != globalEntity && keep(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func (m *authManager) RetrieveAllPermissions(*types.RetrieveAllPermissions) soap.HasFault {
	return &methods.RetrieveAllPermissionsBody{Res: &types.RetrieveAllPermissionsResponse{
		Returnval: m.all(func(types.Permission) bool { return true }),
	}}
}

func (m *authManager) RetrieveRolePermissions(req *types.RetrieveRolePermissions) soap.HasFault {
	return &methods.RetrieveRolePermissionsBody{Res: &types.RetrieveRolePermissionsResponse{
		Returnval: m.all(func(p types.Permission) bool { return p.RoleId == req.RoleId }),
	}}
}

func (m *authManager) SetEntityPermissions(ctx *simulator.Context, req *types.SetEntityPermissions) soap.HasFault {
	body := new(methods.SetEntityPermissionsBody)
	if body.Fault_ = m.missing(ctx, req.Entity); body.Fault_ != nil {
		return body
	}
	m.auth.mu.Lock()
	defer m.auth.mu.Unlock()
	for _, p := range req.Permission {
		if m.auth.roleByID(p.RoleId) == nil {
			body.Fault_ = simulator.Fault("", &types.NotFound{})
			return body
		}
	}
	for _, p := range req.Permission {
		entity := req.Entity
		p.Entity = &entity
		m.auth.set(p)
	}
	body.Res = new(types.SetEntityPermissionsResponse)
	return body
}

func (m *authManager) RemoveEntityPermission(ctx *simulator.Context, req *types.RemoveEntityPermission) soap.HasFault {
	body := new(methods.RemoveEntityPermissionBody)
	m.auth.mu.Lock()
	defer m.auth.mu.Unlock()
	before := m.auth.perms[req.Entity]
	after := slices.DeleteFunc(slices.Clone(before), func(p types.Permission) bool {
		return p.Group == req.IsGroup && m.auth.same(p.Principal, req.User)
	})
	if len(after) == len(before) {
		body.Fault_ = simulator.Fault("", &types.NotFound{})
		return body
	}
	m.auth.perms[req.Entity] = after
	body.Res = new(types.RemoveEntityPermissionResponse)
	return body
}

func (m *authManager) AddAuthorizationRole(req *types.AddAuthorizationRole) soap.HasFault {
	body := new(methods.AddAuthorizationRoleBody)
	m.auth.mu.Lock()
	defer m.auth.mu.Unlock()
	id, fault := m.auth.addRole(req.Name, req.PrivIds)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	m.publish()
	body.Res = &types.AddAuthorizationRoleResponse{Returnval: id}
	return body
}

func (m *authManager) UpdateAuthorizationRole(req *types.UpdateAuthorizationRole) soap.HasFault {
	body := new(methods.UpdateAuthorizationRoleBody)
	m.auth.mu.Lock()
	defer m.auth.mu.Unlock()
	role := m.auth.roleByID(req.RoleId)
	if role == nil {
		body.Fault_ = simulator.Fault("", &types.NotFound{})
		return body
	}
	if other := m.auth.roleByName(req.NewName); other != nil && other.RoleId != req.RoleId {
		body.Fault_ = simulator.Fault("", &types.AlreadyExists{Name: req.NewName})
		return body
	}
	if body.Fault_ = m.unknownPrivilege(req.PrivIds); body.Fault_ != nil {
		return body
	}
	role.Name, role.Privilege = req.NewName, withSystem(req.PrivIds)
	m.publish()
	body.Res = new(types.UpdateAuthorizationRoleResponse)
	return body
}

func (m *authManager) RemoveAuthorizationRole(req *types.RemoveAuthorizationRole) soap.HasFault {
	body := new(methods.RemoveAuthorizationRoleBody)
	m.auth.mu.Lock()
	defer m.auth.mu.Unlock()
	role := m.auth.roleByID(req.RoleId)
	if role == nil || role.System {
		body.Fault_ = simulator.Fault("", &types.NotFound{})
		return body
	}
	for entity, list := range m.auth.perms {
		used := slices.IndexFunc(list, func(p types.Permission) bool { return p.RoleId == req.RoleId })
		if used >= 0 && req.FailIfUsed {
			body.Fault_ = simulator.Fault("", &types.RemoveFailed{})
			return body
		}
		m.auth.perms[entity] = slices.DeleteFunc(list, func(p types.Permission) bool { return p.RoleId == req.RoleId })
	}
	m.auth.roles = slices.DeleteFunc(m.auth.roles, func(r types.AuthorizationRole) bool { return r.RoleId == req.RoleId })
	m.publish()
	body.Res = new(types.RemoveAuthorizationRoleResponse)
	return body
}
