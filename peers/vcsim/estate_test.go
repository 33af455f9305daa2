package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestEstateIsWhatTheInventorySays(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	finder := find.NewFinder(c.Client)
	pc := property.DefaultCollector(c.Client)

	about := c.ServiceContent.About
	if about.Version != "8.0.3" || about.ApiVersion != "8.0.3.0" || about.InstanceUuid != "6b1ff0a2-2f5c-4f0e-9d3b-0d9f0c6a7e11" {
		t.Errorf("about: %+v", about)
	}
	us, err := c.SessionManager.UserSession(s.ctx)
	if err != nil || us.UserName != `VSPHERE.LOCAL\administrator` {
		t.Errorf("session of %+v, %v", us, err)
	}

	var host mo.HostSystem
	h, err := finder.HostSystem(s.ctx, "/eu/dc1/host/zone-a/esx-a3.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := pc.RetrieveOne(s.ctx, h.Reference(), []string{"summary", "runtime"}, &host); err != nil {
		t.Fatal(err)
	}
	if host.Summary.Config.Product.Version != "7.0.1" || !host.Runtime.InMaintenanceMode {
		t.Errorf("host: %+v %v", host.Summary.Config.Product, host.Runtime.InMaintenanceMode)
	}

	var ds mo.Datastore
	if err := pc.RetrieveOne(s.ctx, s.at("/eu/dc1/datastore/vsan-a"), []string{"summary", "info", "host"}, &ds); err != nil {
		t.Fatal(err)
	}
	const url = "ds:///vmfs/volumes/vsan:52a1b2c3d4e5f607-18293a4b5c6d7e8f/"
	if ds.Summary.FreeSpace != int64(1536.5*gib) || ds.Summary.Url != url || ds.Info.GetDatastoreInfo().Url != url || len(ds.Host) != 3 {
		t.Errorf("datastore: %+v", ds.Summary)
	}

	for _, path := range []string{"/eu/dc1/network/team-a/shared-name", "/eu/dc1/network/team-b/shared-name", "/eu/dc1/network/team-a/seg%2fment"} {
		if _, err := finder.Network(s.ctx, path); err != nil {
			t.Errorf("network: %v", err)
		}
	}
	var cluster mo.ClusterComputeResource
	if err := pc.RetrieveOne(s.ctx, s.at("/eu/dc1/host/zone-a"), []string{"configurationEx", "network", "summary"}, &cluster); err != nil {
		t.Fatal(err)
	}
	cfg := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if len(cfg.Group) != 2 || len(cfg.Rule) != 2 || cfg.DrsConfig.DefaultVmBehavior != types.DrsBehaviorFullyAutomated {
		t.Errorf("cluster config: %d groups, %d rules, %v", len(cfg.Group), len(cfg.Rule), cfg.DrsConfig.DefaultVmBehavior)
	}
	if len(unique(cluster.Network)) != len(cluster.Network) {
		t.Errorf("a network is listed twice: %v", cluster.Network)
	}
	if sum := cluster.Summary.GetComputeResourceSummary(); sum.NumEffectiveHosts != 2 || sum.NumHosts != 3 {
		t.Errorf("summary: %+v", sum)
	}

	_, tmpl := s.vmAt(c, "/eu/dc1/vm/slipway/rhcos-template")
	if !tmpl.Config.Template || tmpl.ResourcePool != nil || tmpl.Config.Version != "vmx-15" ||
		tmpl.Config.VAppConfig.GetVmConfigInfo().Product[0].Version != "419.96.202506" {
		t.Errorf("template: %+v", tmpl.Config)
	}
	_, node := s.vmAt(c, "/eu/dc1/vm/slipway/node-0")
	if node.Guest.IpAddress != "192.0.2.10" || node.Guest.HostName != "node-0.example.com" ||
		len(node.Guest.Net) != 1 || len(node.Guest.Net[0].IpAddress) != 2 ||
		node.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("node-0: %+v", node.Guest)
	}
	if _, odd := s.vmAt(c, `/eu/dc1/vm/team%2fblue/a%2fb 100%25 "süß"`); odd.Name != `a%2fb 100%25 "süß"` {
		t.Errorf("odd name: %q", odd.Name)
	}
	if _, err := finder.Network(s.ctx, "/us/east/dc2/network/VM Network"); err == nil {
		t.Error("dc2 still has VM Network")
	}
}

func TestTagsAndPolicies(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	m := tags.NewManager(s.rest(c, adminUser, adminPassword))
	for path, want := range map[string]string{
		"/eu/dc1":                  "eu-west",
		"/us/east/dc2":             "us-east",
		"/eu/dc1/host/zone-a":      "zone-a",
		"/eu/dc1/datastore/vsan-a": "blue green",
	} {
		got, err := m.GetAttachedTags(s.ctx, s.at(path))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tag := range got {
			names = append(names, tag.Name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != want {
			t.Errorf("tags on %s: %v, want %s", path, names, want)
		}
	}
	cat, err := m.GetCategory(s.ctx, "openshift-region")
	if err != nil || cat.Cardinality != "SINGLE" || len(cat.AssociableTypes) != 2 {
		t.Errorf("category: %+v %v", cat, err)
	}
	// vCenter's rules, which the simulator alone does not have.
	if err := m.AttachTag(s.ctx, "us-east", s.at("/eu/dc1")); err == nil {
		t.Error("a second tag of a SINGLE category was attached")
	}
	if err := m.AttachTag(s.ctx, "us-east", s.at("/eu/dc1/datastore/vsan-a")); err == nil {
		t.Error("a tag was attached to a type its category does not allow")
	}

	if err := m.AttachMultipleTagsToObject(s.ctx, []string{tagURN("openshift-region", "us-east")}, s.at("/eu/dc1")); err == nil {
		t.Error("the batch form attached it")
	}
	at := s.at("/eu/dc1/datastore/vsan-a")
	if err := m.DetachMultipleTagsFromObject(s.ctx, []string{tagURN("owner", "blue")}, at); err != nil {
		t.Error(err)
	}
	if objs, err := m.ListAttachedObjects(s.ctx, "blue"); err != nil || len(objs) != 1 {
		t.Errorf("after detaching: %v %v", objs, err)
	}
	if list, err := m.ListAttachedTags(s.ctx, s.at("/eu/dc1/vm")); err != nil || len(list) != 0 {
		t.Errorf("no tags: %v %v", list, err)
	}
	if _, err := m.GetTag(s.ctx, tagURN("no", "such")); !rest.IsStatusError(err, http.StatusNotFound) {
		t.Errorf("want 404: %v", err)
	}

	pc, err := pbm.NewClient(s.ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	id, err := pc.ProfileIDByName(s.ctx, "gold")
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := pc.RetrieveContent(s.ctx, []pbmtypes.PbmProfileId{{UniqueId: id}})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(profiles)
	if !strings.Contains(string(data), "com.vmware.storage.tag.owner.property") {
		t.Errorf("policy without its tag rule: %s", data)
	}
}

// TestSameInventorySameObjects: runs of one inventory are interchangeable.
func TestSameInventorySameObjects(t *testing.T) {
	read := func() string {
		s := startSim(t, "testdata/rich.json")
		var out []string
		for _, o := range s.dump().Objects {
			line := o.Moref + " " + o.Path
			if id, ok := o.Props["instanceUuid"]; ok {
				line += " " + id.(string) + " " + o.Props["host"].(string)
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n")
	}
	if a, b := read(), read(); a != b {
		t.Errorf("two runs differ:\n%s\n---\n%s", a, b)
	}
}

func TestStrictInventory(t *testing.T) {
	for name, text := range map[string]string{
		"unknown field":   `{"datacenter": []}`,
		"nested unknown":  `{"datacenters": [{"name": "a", "clusters": [{"name": "c", "drss": {}}]}]}`,
		"unknown role":    `{"permissions": [{"principal": "x", "role": "nope", "entity": "/"}]}`,
		"unknown entity":  `{"permissions": [{"principal": "x", "role": "Admin", "entity": "/nope"}]}`,
		"unknown priv":    `{"roles": [{"name": "r", "privileges": ["Not.A.Privilege"]}]}`,
		"unknown network": `{"datacenters": [{"name": "a", "clusters": [{"name": "c", "hosts": [{"name": "h"}]}], "datastores": [{"name": "d"}], "vms": [{"name": "v", "networks": ["nope"]}]}]}`,
		"unknown fault":   `{"faults": [{"on": {}, "fault": {"type": "NoSuchFault"}}]}`,
		"fault field":     `{"faults": [{"on": {}, "fault": {"type": "NoPermission", "privilege": "x"}}]}`,
		"single tag":      `{"categories": [{"name": "c", "tags": [{"name": "a", "attach": ["/DC0"]}, {"name": "b", "attach": ["/DC0"]}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			inv := new(Inventory)
			err := decodeStrict(strings.NewReader(text), inv)
			if err == nil {
				var s *instance
				opts := options{listen: "127.0.0.1:0", inventory: writeTemp(t, text)}
				if s, err = start(opts); err == nil {
					s.close()
				}
			}
			if err == nil {
				t.Error("accepted")
			} else {
				t.Log(err)
			}
		})
	}
}

func TestApplyAddsToARunningEstate(t *testing.T) {
	s := startSim(t, "")
	c := s.admin()
	s.control("POST", "/inventory/apply", `{
		"users": [{"name": "late@vsphere.local", "password": "late"}],
		"roles": [{"name": "late", "privileges": ["Folder.Create"]}],
		"permissions": [{"principal": "late@vsphere.local", "role": "late", "entity": "/DC0/vm/late"}],
		"datacenters": [{"name": "DC0", "folders": {"vm": ["late"]},
			"clusters": [{"name": "DC0_C0", "hosts": [{"name": "late-host", "version": "8.0.3"}]}],
			"datastores": [{"name": "late-ds", "free_gb": 7}],
			"vms": [{"name": "late-vm", "folder": "late", "datastore": "late-ds", "power": "on"}]}],
		"categories": [{"name": "c", "tags": [{"name": "t", "attach": ["/DC0/vm/late/late-vm"]}]}]
	}`, nil, 200)
	_, vm := s.vmAt(c, "/DC0/vm/late/late-vm")
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("late-vm is %s", vm.Runtime.PowerState)
	}
	s.login("late@vsphere.local", "late")
	s.control("POST", "/inventory/apply", `{"nope": 1}`, nil, 400)
	s.control("POST", "/inventory/apply", `{"enforce": true}`, nil, 400)
	var d dump
	s.control("GET", "/inventory", nil, &d, 200)
	i := slices.IndexFunc(d.Objects, func(o dumpObject) bool { return o.Path == "/DC0/vm/late/late-vm" })
	if i < 0 || !slices.Equal(d.Objects[i].Tags, []string{"c/t"}) {
		t.Errorf("dump: %d", i)
	}
}
