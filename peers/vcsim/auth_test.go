package main

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

func TestLogins(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	for _, test := range []struct{ user, password, fault, session string }{
		{"administrator@vsphere.local", "VMware1!", "", `VSPHERE.LOCAL\administrator`},
		{`VSPHERE.LOCAL\Administrator`, "VMware1!", "", `VSPHERE.LOCAL\administrator`},
		{"administrator", "VMware1!", "", `VSPHERE.LOCAL\administrator`},
		{`CORP\ops`, "ops", "", `CORP\ops`},
		{"OPS@corp.example.com", "ops", "", `CORP\ops`},
		{"ops", "ops", "InvalidLogin", ""}, // short names are of the default domain
		{"administrator@vsphere.local", "wrong", "InvalidLogin", ""},
		{"ghost@vsphere.local", "x", "InvalidLogin", ""},
		{"locked@vsphere.local", "locked", "InvalidLogin", ""},
		{"expired@vsphere.local", "expired", "PasswordExpired", ""},
		{"nobody@vsphere.local", "nobody", "NoPermission", ""},
	} {
		c, err := s.connect(test.user, test.password)
		if got := faultName(err); got != test.fault {
			t.Errorf("%s: %s, want %q", test.user, got, test.fault)
		}
		if test.fault == "" {
			us, err := c.SessionManager.UserSession(s.ctx)
			if err != nil || us.UserName != test.session {
				t.Errorf("%s: session %+v, %v", test.user, us, err)
			}
		}
		rc := rest.NewClient(c.Client)
		err = rc.Login(s.ctx, url.UserPassword(test.user, test.password))
		if (err == nil) != (test.fault == "") {
			t.Errorf("REST login of %s: %v", test.user, err)
		}
		if test.fault != "" && test.fault != "NoPermission" && !rest.IsStatusError(err, http.StatusUnauthorized) {
			t.Errorf("REST login of %s: %v, want 401", test.user, err)
		}
	}
}

func TestNoSessionReadsNothing(t *testing.T) {
	s := startSim(t, "")
	c, _ := s.connect("x", "y")
	var folder mo.Folder
	err := property.DefaultCollector(c.Client).RetrieveOne(s.ctx, c.ServiceContent.RootFolder, []string{"name"}, &folder)
	if faultName(err) != "NotAuthenticated" {
		t.Errorf("anonymous read: %v", err)
	}
}

func TestTokenLogin(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c, _ := s.connect("x", "y")
	client, err := sts.NewClient(s.ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Issue(s.ctx, sts.TokenRequest{Userinfo: url.UserPassword("ops@corp.example.com", "wrong")}); err == nil {
		t.Error("a token for a wrong password")
	}
	token, err := client.Issue(s.ctx, sts.TokenRequest{Userinfo: url.UserPassword("ops@corp.example.com", "ops")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SessionManager.LoginByToken(c.Client.WithHeader(s.ctx, soap.Header{Security: token})); err != nil {
		t.Fatal(err)
	}
	us, err := c.SessionManager.UserSession(s.ctx)
	if err != nil || !strings.EqualFold(us.UserName, "ops@corp.example.com") {
		t.Errorf("session %+v, %v", us, err)
	}
}

func (s *sim) privileges(c *govmomi.Client, user, path string) []string {
	s.t.Helper()
	res, err := object.NewAuthorizationManager(c.Client).FetchUserPrivilegeOnEntities(s.ctx,
		[]types.ManagedObjectReference{s.at(path)}, user)
	if err != nil {
		s.t.Fatal(err)
	}
	return res[0].Privileges
}

func TestPrivilegesAreEvaluated(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	const on, read = "VirtualMachine.Interact.PowerOn", "System.Read"
	for _, test := range []struct {
		user, path, privilege string
		want                  bool
		why                   string
	}{
		{adminUser, "/", "Global.Settings", true, "Administrators have all"},
		{adminUser, "/eu/dc1/vm/slipway/node-0", on, true, "and it propagates"},
		{"administrator", "/", "Global.Settings", false, "short names get nothing"},
		{"installer@vsphere.local", "/", "Cns.Searchable", true, "on the root itself"},
		{"installer@vsphere.local", "/eu/dc1", "Cns.Searchable", false, "not propagated"},
		{"installer@vsphere.local", "/eu/dc1/vm/slipway", "VApp.Import", true, "on the folder"},
		{"installer@vsphere.local", "/eu/dc1/vm/slipway/workers/node-0", "VApp.Import", true, "propagated twice"},
		{"installer@vsphere.local", "/eu/dc1/vm", "VApp.Import", false, "not above"},
		{"installer@vsphere.local", "/eu/dc1/datastore/vsan-a", "Datastore.Browse", true, ""},
		{"installer@vsphere.local", "/eu/dc1/datastore/vsan-a", "VApp.Import", false, "only that role there"},
		{"installer@vsphere.local", "/eu/dc1/datastore/nfs-shared", "Datastore.Browse", false, ""},
		{"installer@vsphere.local", "/eu/dc1/vm/secret/hidden", "VApp.Import", true, "a VM inherits from its pool too"},
		{`CORP\ops`, "/eu/dc1/vm/slipway/node-0", on, true, "by group"},
		{"ops@corp.example.com", "/eu/dc1/host/zone-a", on, true, "either form of the name"},
		{`CORP\ops`, "/us/east/dc2", read, false, "other datacenter"},
		{`CORP\ops`, "/eu/dc1/vm/secret", read, false, "NoAccess through a nested group overrides"},
		{`CORP\auditor`, "/eu/dc1", on, true, "groups add up"},
		{`CORP\auditor`, "/eu/dc1/vm/slipway/node-0", on, false, "the user's entry beats the group's on the same object"},
		{`CORP\auditor`, "/eu/dc1/vm/slipway/node-0", read, true, ""},
		{`CORP\auditor`, "/eu/dc1/vm/slipway/node-1", on, true, ""},
		{"ghost@vsphere.local", "/", read, false, "nobody"},
	} {
		got := slices.Contains(s.privileges(c, test.user, test.path), test.privilege)
		if got != test.want {
			t.Errorf("%s on %s: %s is %v, want %v (%s)", test.user, test.path, test.privilege, got, test.want, test.why)
		}
	}

	m := object.NewAuthorizationManager(c.Client)
	var am mo.AuthorizationManager
	if err := m.Properties(s.ctx, m.Reference(), []string{"privilegeList", "roleList"}, &am); err != nil {
		t.Fatal(err)
	}
	known := func(id string) bool {
		return slices.ContainsFunc(am.PrivilegeList, func(p types.AuthorizationPrivilege) bool { return p.PrivId == id })
	}
	if !known("VirtualMachine.Config.DiskExtend") || known("VirtualMachine.Config.DiskLease") || len(am.PrivilegeList) < 300 {
		t.Errorf("privilegeList has %d entries", len(am.PrivilegeList))
	}
	if slices.Contains(s.privileges(c, adminUser, "/"), "VirtualMachine.Config.DiskLease") {
		t.Error("an unknown privilege is granted")
	}
	has, err := m.HasUserPrivilegeOnEntities(s.ctx, []types.ManagedObjectReference{s.at("/eu/dc1")}, `CORP\ops`, []string{on, "Folder.Create"})
	if err != nil || !has[0].PrivAvailability[0].IsGranted || has[0].PrivAvailability[1].IsGranted {
		t.Errorf("HasUserPrivilegeOnEntities: %+v %v", has, err)
	}
	_, err = m.HasUserPrivilegeOnEntities(s.ctx, []types.ManagedObjectReference{s.at("/")}, adminUser, []string{"VirtualMachine.Config.DiskLease"})
	if faultName(err) != "InvalidArgument" {
		t.Errorf("an unknown privilege was asked for: %v", err)
	}
}

// TestRolesOverSOAP: a client can make roles and permissions, and they count.
func TestRolesOverSOAP(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	m := object.NewAuthorizationManager(c.Client)
	id, err := m.AddRole(s.ctx, "made", []string{"Network.Assign"})
	if err != nil || id <= 0 {
		t.Fatalf("role %d: %v", id, err)
	}
	at := s.at("/eu/dc1/network")
	err = m.SetEntityPermissions(s.ctx, at, []types.Permission{{Principal: `CORP\ops`, RoleId: id, Propagate: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.privileges(c, `CORP\ops`, "/eu/dc1/network/machine-net"); !slices.Contains(got, "Network.Assign") {
		t.Errorf("privileges: %v", got)
	}
	if err := m.RemoveEntityPermission(s.ctx, at, `CORP\ops`, false); err != nil {
		t.Fatal(err)
	}
	if got := s.privileges(c, `CORP\ops`, "/eu/dc1/network/machine-net"); slices.Contains(got, "Network.Assign") {
		t.Error("the permission is still there")
	}
}

func TestEnforcement(t *testing.T) {
	s := startSim(t, `{
		"enforce": true,
		"users": [{"name": "low@vsphere.local", "password": "low"}],
		"roles": [{"name": "folders", "privileges": ["Folder.Create", "InventoryService.Tagging.AttachTag"]}],
		"permissions": [{"principal": "low@vsphere.local", "role": "folders", "entity": "/"}],
		"categories": [{"name": "c", "tags": [{"name": "t"}]}]
	}`)
	c := s.login("low@vsphere.local", "low")
	folder := object.NewFolder(c.Client, s.at("/DC0/vm"))
	if _, err := folder.CreateFolder(s.ctx, "allowed"); err != nil {
		t.Error(err)
	}
	vm := s.at("/DC0/vm/template-0")
	_, err := methods.PowerOnVM_Task(s.ctx, c.Client, &types.PowerOnVM_Task{This: vm})
	if faultName(err) != "NoPermission" || !strings.Contains(privilegeOf(err), "VirtualMachine.Interact.PowerOn") {
		t.Errorf("power on: %v (%s)", err, privilegeOf(err))
	}
	_, err = methods.CloneVM_Task(s.ctx, c.Client, &types.CloneVM_Task{This: vm, Folder: folder.Reference(), Name: "x"})
	if faultName(err) != "NoPermission" {
		t.Errorf("clone: %v", err)
	}
	m := tags.NewManager(s.rest(c, "low@vsphere.local", "low"))
	if err := m.AttachTag(s.ctx, "t", s.at("/DC0")); !rest.IsStatusError(err, http.StatusForbidden) {
		t.Errorf("attach without ObjectAttachable: %v", err)
	}
	if _, err := s.admin().SessionManager.UserSession(s.ctx); err != nil {
		t.Error(err)
	}
}

func privilegeOf(err error) string {
	if err == nil || !soap.IsSoapFault(err) {
		return ""
	}
	if f, ok := soap.ToSoapFault(err).VimFault().(types.NoPermission); ok {
		return f.PrivilegeId
	}
	return ""
}
