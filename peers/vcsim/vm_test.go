package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func (s *sim) clone(c *govmomi.Client, from, folder, name string, spec types.VirtualMachineCloneSpec) (*object.Task, error) {
	vm := object.NewVirtualMachine(c.Client, s.at(from))
	return vm.Clone(s.ctx, object.NewFolder(c.Client, s.at(folder)), name, spec)
}

func TestCloneKeepsWhatVCenterKeeps(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	pool, ds := s.at("/eu/dc1/host/zone-a/Resources/openshift/workers"), s.at("/eu/dc1/datastore/nfs-shared")
	spec := types.VirtualMachineCloneSpec{
		PowerOn:  true,
		Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &ds},
		Config: &types.VirtualMachineConfigSpec{
			Annotation: "made by a test", InstanceUuid: "5013aa00-0000-4000-8000-00000000cafe",
			NumCPUs: 4, MemoryMB: 8192, NumCoresPerSocket: types.NewInt32(2),
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.hostname", Value: "w-0"}},
		},
	}
	task, err := s.clone(c, "/eu/dc1/vm/slipway/rhcos-template", "/eu/dc1/vm/slipway/workers", "w-0", spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(s.ctx); err != nil {
		t.Fatal(err)
	}
	_, vm := s.vmAt(c, "/eu/dc1/vm/slipway/workers/w-0")
	extra := object.OptionValueList(vm.Config.ExtraConfig)
	hostname, _ := extra.GetString("guestinfo.hostname")
	inherited, _ := extra.GetString("template.key")
	if vm.Config.Annotation != "made by a test" || vm.Config.InstanceUuid != spec.Config.InstanceUuid ||
		vm.Config.Hardware.NumCPU != 4 || *vm.Config.Hardware.NumCoresPerSocket != 2 || vm.Config.Hardware.MemoryMB != 8192 ||
		hostname != "w-0" || inherited != "kept" || vm.Config.Firmware != "efi" ||
		vm.Config.VAppConfig.GetVmConfigInfo().Product[0].Version != "419.96.202506" ||
		vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || *vm.ResourcePool != pool {
		t.Errorf("clone: %+v", vm.Config)
	}
	// The host in maintenance is not used, and no host is lost on the way.
	hosts := map[types.ManagedObjectReference]int{}
	spec.PowerOn, spec.Config = false, nil
	for i := range 4 {
		name := "spread-" + string(rune('a'+i))
		task, err := s.clone(c, "/eu/dc1/vm/slipway/rhcos-template", "/eu/dc1/vm/slipway/workers", name, spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(s.ctx); err != nil {
			t.Fatal(err)
		}
		_, vm := s.vmAt(c, "/eu/dc1/vm/slipway/workers/"+name)
		hosts[*vm.Runtime.Host]++
	}
	if len(hosts) != 2 || hosts[s.at("/eu/dc1/host/zone-a/esx-a1.example.com")] != 2 {
		t.Errorf("placement: %v", hosts)
	}
	// A name that has to be stored escaped, and updates after a reconfiguration.
	task, err = s.clone(c, "/eu/dc1/vm/slipway/rhcos-template", "/eu/dc1/vm/slipway", "odd/50%", spec)
	if err == nil {
		err = task.Wait(s.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	odd, _ := s.vmAt(c, "/eu/dc1/vm/slipway/odd%2f50%25")
	seen := make(chan string, 1)
	go func() {
		_ = property.Wait(s.ctx, property.DefaultCollector(c.Client), odd.Reference(), []string{"config.annotation"}, func(pc []types.PropertyChange) bool {
			text, _ := pc[0].Val.(string)
			if text == "changed" {
				seen <- text
			}
			return text == "changed"
		})
	}()
	for s.count("WaitForUpdatesEx") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if task, err = odd.Reconfigure(s.ctx, types.VirtualMachineConfigSpec{Annotation: "changed"}); err == nil {
		err = task.Wait(s.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-seen:
	case <-time.After(5 * time.Second):
		t.Error("no update after ReconfigVM_Task")
	}
	// Faults where the simulator alone would panic.
	tiny := s.at("/eu/dc1/datastore/fast/tiny")
	spec.Location.Datastore = &tiny
	_, err = s.clone(c, "/eu/dc1/vm/slipway/rhcos-template", "/eu/dc1/vm/slipway", "nowhere", spec)
	if faultName(err) != "InvalidDatastore" {
		t.Errorf("a datastore no host mounts: %v", err)
	}
	spec.Location.Datastore = &ds
	task, err = s.clone(c, "/eu/dc1/vm/slipway/rhcos-template", "/eu/dc1/vm/slipway", "node-1", spec)
	if err == nil {
		err = task.Wait(s.ctx)
	}
	if faultName(err) != "DuplicateName" {
		t.Errorf("a name that exists: %v", err)
	}
}

func TestCloneSlotsAndDurations(t *testing.T) {
	s := startSim(t, `{"task_ms": {"CloneVM_Task": 100}, "clone_slots_per_host": 2, "datacenters": [{"name": "d",
		"clusters": [{"name": "c", "hosts": [{"name": "h", "count": 2}]}], "datastores": [{"name": "s"}],
		"vms": [{"name": "t", "template": true}]}]}`)
	c := s.admin()
	pool := s.at("/d/host/c/Resources")
	var wg sync.WaitGroup
	start := time.Now()
	queued := 0
	var mu sync.Mutex
	for i := range 12 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			task, err := s.clone(c, "/d/vm/t", "/d/vm", "n-"+string(rune('a'+i)), types.VirtualMachineCloneSpec{
				Location: types.VirtualMachineRelocateSpec{Pool: &pool},
			})
			if err != nil {
				t.Error(err)
				return
			}
			var m mo.Task
			_ = task.Properties(s.ctx, task.Reference(), []string{"info"}, &m)
			mu.Lock()
			if m.Info.State == types.TaskInfoStateQueued {
				queued++
			}
			mu.Unlock()
			if err := task.Wait(s.ctx); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	took := time.Since(start)
	var stats taskStats
	s.control("GET", "/stats", nil, &stats, 200)
	// 12 clones, 2 hosts with 2 slots: three rounds of 100 ms.
	if took < 300*time.Millisecond || stats.PeakRunning != 4 || stats.PeakQueued == 0 || queued == 0 {
		t.Errorf("took %s, %+v, %d seen queued", took, stats, queued)
	}
}

func TestGuestAndLongPoll(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	vm, _ := s.vmAt(c, "/eu/dc1/vm/slipway/node-1")
	got := make(chan string, 1)
	go func() {
		ip, err := vm.WaitForIP(s.ctx, true)
		if err != nil {
			ip = err.Error()
		}
		got <- ip
	}()
	for s.count("WaitForUpdatesEx") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	s.control("POST", "/vms/eu/dc1/vm/slipway/node-1/guest", `{"hostname": "n1", "ips": ["198.51.100.7", "2001:db8::7"]}`, nil, 200)
	select {
	case ip := <-got:
		if ip != "198.51.100.7" {
			t.Errorf("ip %q", ip)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the long poll saw nothing")
	}
	_, props := s.vmAt(c, "/eu/dc1/vm/slipway/node-1")
	if props.Guest.HostName != "n1" || props.Summary.Guest.IpAddress != "198.51.100.7" || len(props.Guest.Net[0].IpAddress) != 2 ||
		props.Guest.ToolsRunningStatus != "guestToolsRunning" {
		t.Errorf("guest: %+v", props.Guest)
	}
	s.control("POST", "/vms/"+vm.Reference().String()+"/power", `{"state": "off"}`, nil, 200)
	if _, props = s.vmAt(c, "/eu/dc1/vm/slipway/node-1"); props.Runtime.PowerState != "poweredOff" || props.Guest.IpAddress != "" {
		t.Errorf("after power off: %v %q", props.Runtime.PowerState, props.Guest.IpAddress)
	}
	s.control("POST", "/vms/eu/dc1/vm/team%252fblue/a%252fb%20100%2525%20%22s%C3%BC%C3%9F%22/guest", `{"hostname": "odd"}`, nil, 200)
	s.control("POST", "/vms/eu/nowhere/guest", `{}`, nil, 404)
	s.control("POST", "/datastores/eu/dc1/datastore/nfs-shared/state", `{"free_gb": 3}`, nil, 200)
	s.control("POST", "/hosts/eu/dc1/host/zone-a/esx-a1.example.com/state", `{"connection": "disconnected"}`, nil, 200)
	var ds mo.Datastore
	var host mo.HostSystem
	pc := property.DefaultCollector(c.Client)
	_ = pc.RetrieveOne(s.ctx, s.at("/eu/dc1/datastore/nfs-shared"), []string{"summary"}, &ds)
	_ = pc.RetrieveOne(s.ctx, s.at("/eu/dc1/host/zone-a/esx-a1.example.com"), []string{"runtime", "summary.runtime"}, &host)
	if ds.Summary.FreeSpace != 3<<30 || host.Runtime.ConnectionState != "disconnected" || host.Summary.Runtime.ConnectionState != "disconnected" {
		t.Errorf("state: %d %s", ds.Summary.FreeSpace, host.Runtime.ConnectionState)
	}
}

func TestClusterGroupsCanBeReconfigured(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	cluster := object.NewClusterComputeResource(c.Client, s.at("/eu/dc1/host/zone-a"))
	task, err := cluster.Reconfigure(s.ctx, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
		Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "more"},
			Vm: []types.ManagedObjectReference{s.at("/eu/dc1/vm/slipway/node-1")}},
	}}}, true)
	if err == nil {
		err = task.Wait(s.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cluster.Configuration(s.ctx)
	if err != nil || len(cfg.Group) != 3 {
		t.Errorf("%d groups, %v", len(cfg.Group), err)
	}
}

// TestRemovalForgets: tags, DRS groups and folders, as in vCenter.
func TestRemovalForgets(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	m := tags.NewManager(s.rest(c, adminUser, adminPassword))
	node := s.at("/eu/dc1/vm/slipway/node-0")
	if err := m.AttachTag(s.ctx, "blue", node); err != nil {
		t.Fatal(err)
	}
	destroy := func(path string) error {
		task, err := object.NewCommon(c.Client, s.at(path)).Destroy(s.ctx)
		if err != nil {
			return err
		}
		return task.Wait(s.ctx)
	}
	if err := destroy("/eu/dc1/vm/slipway"); faultName(err) != "InvalidPowerState" {
		t.Errorf("a folder with running VMs: %v", err)
	}
	for _, name := range []string{"node-0", "node-1"} {
		s.control("POST", "/vms/eu/dc1/vm/slipway/"+name+"/power", `{"state": "off"}`, nil, 200)
	}
	if err := destroy("/eu/dc1/vm/slipway"); err != nil {
		t.Fatal(err)
	}
	if s.reg.Get(node) != nil {
		t.Error("the VM outlived its folder")
	}
	objs, err := m.GetAttachedObjectsOnTags(s.ctx, []string{"blue"})
	if err != nil || len(objs) != 1 || len(objs[0].ObjectIDs) != 2 {
		t.Errorf("attached: %+v %v", objs, err)
	}
	cfg, err := object.NewClusterComputeResource(c.Client, s.at("/eu/dc1/host/zone-a")).Configuration(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range cfg.Group {
		if g, ok := g.(*types.ClusterVmGroup); ok && len(g.Vm) != 0 {
			t.Errorf("group %s: %v", g.Name, g.Vm)
		}
	}
}

func TestVolumes(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	vc, err := cns.NewClient(s.ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	task, err := vc.CreateVolume(s.ctx, []cnstypes.CnsVolumeCreateSpec{{
		Name: "pvc-1", VolumeType: string(cnstypes.CnsVolumeTypeBlock),
		Datastores: []types.ManagedObjectReference{s.at("/eu/dc1/datastore/nfs-shared")},
		Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{
			ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "demo", VSphereUser: adminUser,
		}},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
			CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 1024},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := cns.GetTaskInfo(s.ctx, task)
	if err != nil {
		t.Fatal(err)
	}
	result, err := cns.GetTaskResult(s.ctx, info)
	if err != nil {
		t.Fatal(err)
	}
	id := result.GetCnsVolumeOperationResult().VolumeId
	found, err := vc.QueryVolume(s.ctx, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{id}})
	if err != nil || len(found.Volumes) != 1 || !strings.HasPrefix(found.Volumes[0].DatastoreUrl, "ds:///vmfs/volumes/") {
		t.Fatalf("query: %+v %v", found, err)
	}
	if task, err = vc.DeleteVolume(s.ctx, []cnstypes.CnsVolumeId{id}, true); err == nil {
		err = task.Wait(s.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if found, err = vc.QueryVolume(s.ctx, &cnstypes.CnsQueryFilter{}); err != nil || len(found.Volumes) != 0 {
		t.Errorf("after deletion: %+v %v", found, err)
	}
}
