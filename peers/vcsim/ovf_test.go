package main

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const descriptor = `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
<References><File ovf:href="disk.vmdk" ovf:id="file1" ovf:size="4096"/></References>
<DiskSection><Info/><Disk ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1" ovf:fileRef="file1"/></DiskSection>
<NetworkSection><Info/><Network ovf:name="VM Network"/></NetworkSection>
<VirtualSystem ovf:id="vm"><Info/><OperatingSystemSection ovf:id="101"><Info/></OperatingSystemSection>
<ProductSection><Info/><Product>coreos</Product><Version>419.96</Version></ProductSection>
<VirtualHardwareSection><Info/>
<System><vssd:ElementName>x</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID><vssd:VirtualSystemType>vmx-15</vssd:VirtualSystemType></System>
<Item><rasd:ElementName>cpu</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
<Item><rasd:ElementName>mem</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>2048</rasd:VirtualQuantity></Item>
<Item><rasd:ElementName>scsi</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
<Item><rasd:ElementName>disk</rasd:ElementName><rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
</VirtualHardwareSection></VirtualSystem></Envelope>`

func TestOVFImport(t *testing.T) {
	s := startSim(t, "testdata/rich.json")
	c := s.admin()
	pool := object.NewResourcePool(c.Client, s.at("/eu/dc1/host/zone-a/Resources"))
	ds := object.NewDatastore(c.Client, s.at("/eu/dc1/datastore/vsan-a"))
	folder := object.NewFolder(c.Client, s.at("/eu/dc1/vm/slipway"))
	spec, err := ovf.NewManager(c.Client).CreateImportSpec(s.ctx, descriptor, pool, ds, &types.OvfCreateImportSpecParams{
		EntityName: "imported", DiskProvisioning: "thin",
	})
	if err != nil || len(spec.Error) > 0 {
		t.Fatal(err, spec.Error)
	}
	lease, err := pool.ImportVApp(s.ctx, spec.ImportSpec, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := lease.Wait(s.ctx, spec.FileItem)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Items) != 1 || info.Items[0].URL.Host != strings.TrimPrefix(strings.TrimSuffix(s.ready.URL, "/sdk"), "https://") {
		t.Fatalf("lease items: %+v", info.Items)
	}
	updater := lease.StartUpdater(s.ctx, info)
	data := strings.Repeat("x", 4096)
	item := info.Items[0]
	if err := lease.Upload(s.ctx, item, strings.NewReader(data), soap.Upload{ContentLength: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	updater.Done()
	if err := lease.Progress(s.ctx, 100); err != nil {
		t.Error(err)
	}
	manifest, err := lease.GetManifest(s.ctx)
	if err != nil || len(manifest) != 1 || manifest[0].Size != 4096 {
		t.Errorf("manifest: %+v %v", manifest, err)
	}
	if err := lease.Complete(s.ctx); err != nil {
		t.Fatal(err)
	}
	vm, props := s.vmAt(c, "/eu/dc1/vm/slipway/imported")
	if props.Config.Version != "vmx-15" || props.Config.Hardware.NumCPU != 2 {
		t.Errorf("imported: %+v", props.Config)
	}
	if err := vm.MarkAsTemplate(s.ctx); err != nil {
		t.Error(err)
	}
	if s.count("PUT") != 1 && s.count("POST") == 0 {
		t.Error("the upload is not in the log")
	}
}
