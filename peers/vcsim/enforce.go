package main

import (
	"net/http"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// need is a privilege on an entity.
type need struct {
	entity    ref
	privilege string
}

// Best effort: the calls an installer or a machine controller makes, with the
// privileges the vSphere documentation names for them. Reads are not filtered:
// a caller without System.View still sees objects here.
var enforcedMethods = map[string]bool{
	"CreateVM_Task": true, "CloneVM_Task": true, "ImportVApp": true, "ReconfigVM_Task": true,
	"PowerOnVM_Task": true, "PowerOffVM_Task": true, "ResetVM_Task": true, "ShutdownGuest": true,
	"Destroy_Task": true, "UnregisterAndDestroy_Task": true, "MarkAsTemplate": true, "MarkAsVirtualMachine": true, "Rename_Task": true,
	"CreateFolder": true, "MoveIntoFolder_Task": true, "CreateResourcePool": true,
	"ReconfigureComputeResource_Task": true, "RelocateVM_Task": true,
	"AddAuthorizationRole": true, "SetEntityPermissions": true, "TerminateSession": true,
}

func enforced(method string) bool { return enforcedMethods[method] }

func (e *estate) needs(body any) (out []need) {
	add := func(at ref, ids ...string) {
		for _, id := range ids {
			out = append(out, need{at, id})
		}
	}
	switch r := body.(type) {
	case *types.CreateVM_Task:
		add(r.This, "VirtualMachine.Inventory.Create")
		add(r.Pool, "Resource.AssignVMToPool")
		out = append(out, e.deviceNeeds(r.This, r.Config.DeviceChange)...)
	case *types.ImportVApp:
		add(r.This, "VApp.Import", "Resource.AssignVMToPool")
		if r.Folder != nil {
			add(*r.Folder, "VApp.Import")
		}
		if s, ok := r.Spec.(*types.VirtualMachineImportSpec); ok {
			if f := s.ConfigSpec.Files; f != nil && r.Folder != nil {
				var p object.DatastorePath
				if p.FromString(f.VmPathName) {
					if ds := e.place.datastoreNamed(*r.Folder, p.Datastore); ds != nil {
						add(ds.Self, "Datastore.AllocateSpace")
					}
				}
			}
		}
	case *types.CloneVM_Task:
		add(r.Folder, "VirtualMachine.Inventory.CreateFromExisting")
		if vm, ok := e.reg.Get(r.This).(*simulator.VirtualMachine); ok && vm.Config.Template && !r.Spec.Template {
			add(r.This, "VirtualMachine.Provisioning.DeployTemplate")
		} else {
			add(r.This, "VirtualMachine.Provisioning.Clone")
		}
		if p := r.Spec.Location.Pool; p != nil {
			add(*p, "Resource.AssignVMToPool")
		}
		if d := r.Spec.Location.Datastore; d != nil {
			add(*d, "Datastore.AllocateSpace")
		}
		if c := r.Spec.Config; c != nil {
			if len(c.ExtraConfig) > 0 {
				add(r.Folder, "VirtualMachine.Config.AdvancedConfig")
			}
			out = append(out, e.deviceNeeds(r.Folder, c.DeviceChange)...)
		}
		out = append(out, e.deviceNeeds(r.Folder, r.Spec.Location.DeviceChange)...)
	case *types.ReconfigVM_Task:
		s := r.Spec
		if len(s.ExtraConfig) > 0 {
			add(r.This, "VirtualMachine.Config.AdvancedConfig")
		}
		if s.NumCPUs > 0 {
			add(r.This, "VirtualMachine.Config.CPUCount")
		}
		if s.MemoryMB > 0 {
			add(r.This, "VirtualMachine.Config.Memory")
		}
		if s.Annotation != "" {
			add(r.This, "VirtualMachine.Config.Annotation")
		}
		if s.Name != "" {
			add(r.This, "VirtualMachine.Config.Rename")
		}
		out = append(out, e.deviceNeeds(r.This, s.DeviceChange)...)
		if len(out) == 0 {
			add(r.This, "VirtualMachine.Config.Settings")
		}
	case *types.PowerOnVM_Task:
		add(r.This, "VirtualMachine.Interact.PowerOn")
	case *types.PowerOffVM_Task:
		add(r.This, "VirtualMachine.Interact.PowerOff")
	case *types.ShutdownGuest:
		add(r.This, "VirtualMachine.Interact.PowerOff")
	case *types.ResetVM_Task:
		add(r.This, "VirtualMachine.Interact.Reset")
	case *types.Destroy_Task:
		switch r.This.Type {
		case "VirtualMachine":
			add(r.This, "VirtualMachine.Inventory.Delete")
		case "Folder":
			add(r.This, "Folder.Delete")
		case "ResourcePool":
			add(r.This, "Resource.DeletePool")
		case "Datastore":
			add(r.This, "Datastore.Delete")
		}
	case *types.UnregisterAndDestroy_Task:
		add(r.This, "Folder.Delete")
		for _, at := range e.childrenOf(r.This) {
			if at.Type == "VirtualMachine" {
				add(at, "VirtualMachine.Inventory.Unregister")
			}
		}
	case *types.MarkAsTemplate:
		add(r.This, "VirtualMachine.Provisioning.MarkAsTemplate")
	case *types.MarkAsVirtualMachine:
		add(r.This, "VirtualMachine.Provisioning.MarkAsVM")
		add(r.Pool, "Resource.AssignVMToPool")
	case *types.Rename_Task:
		if r.This.Type == "VirtualMachine" {
			add(r.This, "VirtualMachine.Config.Rename")
		} else if r.This.Type == "Folder" {
			add(r.This, "Folder.Rename")
		}
	case *types.CreateFolder:
		add(r.This, "Folder.Create")
	case *types.MoveIntoFolder_Task:
		for _, at := range r.List {
			if at.Type == "VirtualMachine" {
				add(at, "Resource.AssignVMToPool")
			} else {
				add(at, "Folder.Move")
			}
		}
	case *types.CreateResourcePool:
		add(r.This, "Resource.CreatePool")
	case *types.ReconfigureComputeResource_Task:
		add(r.This, "Host.Inventory.EditCluster")
	case *types.RelocateVM_Task:
		add(r.This, "Resource.ColdMigrate")
		if p := r.Spec.Pool; p != nil {
			add(*p, "Resource.AssignVMToPool")
		}
	case *types.AddAuthorizationRole:
		add(e.root, "Authorization.ModifyRoles")
	case *types.SetEntityPermissions:
		add(r.Entity, "Authorization.ModifyPermissions")
	case *types.TerminateSession:
		add(e.root, "Sessions.TerminateSession")
	}
	return out
}

// deviceNeeds: disks and NICs need more than the right to edit the machine.
func (e *estate) deviceNeeds(at ref, changes []types.BaseVirtualDeviceConfigSpec) (out []need) {
	for _, c := range changes {
		spec := c.GetVirtualDeviceConfigSpec()
		switch d := spec.Device.(type) {
		case *types.VirtualDisk:
			switch {
			case spec.Operation == types.VirtualDeviceConfigSpecOperationRemove:
				out = append(out, need{at, "VirtualMachine.Config.RemoveDisk"})
			case spec.Operation == types.VirtualDeviceConfigSpecOperationEdit:
				out = append(out, need{at, "VirtualMachine.Config.DiskExtend"})
			case spec.FileOperation != "":
				out = append(out, need{at, "VirtualMachine.Config.AddNewDisk"})
			default:
				out = append(out, need{at, "VirtualMachine.Config.AddExistingDisk"})
			}
		case types.BaseVirtualEthernetCard:
			if spec.Operation == types.VirtualDeviceConfigSpecOperationAdd {
				out = append(out, need{at, "VirtualMachine.Config.AddRemoveDevice"})
			} else {
				out = append(out, need{at, "VirtualMachine.Config.EditDevice"})
			}
			if b, ok := d.GetVirtualEthernetCard().Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo); ok {
				pg := ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
				if e.reg.Get(pg) != nil {
					out = append(out, need{pg, "Network.Assign"})
				}
			} else if b, ok := d.GetVirtualEthernetCard().Backing.(*types.VirtualEthernetCardNetworkBackingInfo); ok && b.Network != nil {
				out = append(out, need{*b.Network, "Network.Assign"})
			}
		}
	}
	return out
}

// lacking is the NoPermission fault for the first privilege that is missing.
func (e *estate) lacking(user string, body any) types.BaseMethodFault {
	for _, n := range e.needs(body) {
		if e.auth.isKnown(n.privilege) && !e.auth.has(user, n.entity, n.privilege) {
			at := n.entity
			return &types.NoPermission{Object: &at, PrivilegeId: n.privilege}
		}
	}
	return nil
}

// restLacking covers tagging: privileges are held on the root folder, and
// ObjectAttachable on the object.
func (p *proxy) restLacking(c *call, r *http.Request, t *tagCall) string {
	rest, ok := strings.CutPrefix(c.path, restTagging)
	if !ok {
		return ""
	}
	const prefix = "InventoryService.Tagging."
	kind, id, _ := strings.Cut(rest, "/")
	privilege := ""
	switch {
	case t != nil && (t.attaches() || t.detaches()):
		privilege = "AttachTag"
		for _, at := range t.objects {
			if !p.auth.has(c.user, at, prefix+"ObjectAttachable") {
				return prefix + "ObjectAttachable"
			}
		}
	case kind == "tag" && r.Method == http.MethodPost && id == "":
		privilege = "CreateTag"
	case kind == "category" && r.Method == http.MethodPost && id == "":
		privilege = "CreateCategory"
	case kind == "tag" && r.Method == http.MethodDelete:
		privilege = "DeleteTag"
	case kind == "category" && r.Method == http.MethodDelete:
		privilege = "DeleteCategory"
	case kind == "tag" && r.Method == http.MethodPatch:
		privilege = "EditTag"
	case kind == "category" && r.Method == http.MethodPatch:
		privilege = "EditCategory"
	}
	if privilege != "" && !p.auth.has(c.user, p.root, prefix+privilege) {
		return prefix + privilege
	}
	return ""
}
