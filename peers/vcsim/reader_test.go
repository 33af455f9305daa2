package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestIndependentReader lets the official Python client read the estate and
// compares what it saw with the description. VCSIM_PYTHON names a Python that
// has pyvmomi.
func TestIndependentReader(t *testing.T) {
	python := os.Getenv("VCSIM_PYTHON")
	if python == "" {
		t.Skip("VCSIM_PYTHON is not set")
	}
	s := startSim(t, "testdata/rich.json")
	cmd := exec.Command(python, "testdata/readback.py", s.ready.URL, adminUser, adminPassword, s.ready.CAFile)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Datacenters, Clusters, Hosts, Datastores, Networks, Switches, Pools, Folders, VMs []map[string]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	inv, err := loadInventory("testdata/rich.json")
	if err != nil {
		t.Fatal(err)
	}
	index := func(rows []map[string]any) map[string]map[string]any {
		m := make(map[string]map[string]any)
		for _, r := range rows {
			m[r["path"].(string)] = r
		}
		return m
	}
	find := func(rows map[string]map[string]any, path string) map[string]any {
		t.Helper()
		if rows[path] == nil {
			t.Errorf("%s was not read", path)
			return map[string]any{}
		}
		return rows[path]
	}
	expect := func(path, what string, got, want any) {
		t.Helper()
		if g, w := toJSON(got), toJSON(want); g != w {
			t.Errorf("%s: %s is %s, want %s", path, what, g, w)
		}
	}
	join := func(parts ...string) string {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		return strings.Join(parts, "/")
	}
	dcs, clusters, hosts := index(got.Datacenters), index(got.Clusters), index(got.Hosts)
	stores, nets, pools := index(got.Datastores), index(got.Networks), index(got.Pools)
	folders, vms := index(got.Folders), index(got.VMs)
	seenVMs := 0
	for _, f := range inv.Folders {
		find(folders, "/"+f)
	}
	for _, dc := range inv.Datacenters {
		base := "/" + join(dc.Folder, dc.Name)
		find(dcs, base)
		for kind, list := range map[string][]string{
			"vm": dc.Folders.VM, "host": dc.Folders.Host, "datastore": dc.Folders.Datastore, "network": dc.Folders.Network,
		} {
			for _, f := range list {
				find(folders, join(base, kind, f))
			}
		}
		for _, c := range dc.Clusters {
			path := join(base, "host", c.Folder, c.Name)
			row := find(clusters, path)
			expect(path, "hosts", row["hosts"], len(expandHosts(c.Hosts)))
			expect(path, "groups", len(row["groups"].([]any)), len(c.Groups))
			expect(path, "rules", len(row["rules"].([]any)), len(c.Rules))
			for _, h := range expandHosts(c.Hosts) {
				r := find(hosts, join(path, h.Name))
				expect(path+h.Name, "maintenance", r["maintenance"], h.Maintenance)
				if h.Version != "" {
					expect(path+h.Name, "version", r["version"], h.Version)
				}
				if h.Connection != "" {
					expect(path+h.Name, "connection", r["connection"], h.Connection)
				}
				if h.MemoryMB != 0 {
					expect(path+h.Name, "memory", r["memory"], int64(h.MemoryMB)<<20)
				}
			}
			var walk func(at string, list []Pool)
			walk = func(at string, list []Pool) {
				for _, p := range list {
					find(pools, join(at, p.Name))
					walk(join(at, p.Name), p.Pools)
				}
			}
			walk(join(path, "Resources"), c.Pools)
		}
		for _, d := range dc.Datastores {
			path := join(base, "datastore", d.Folder, d.Pod, d.Name)
			row := find(stores, path)
			if d.FreeGB != nil {
				expect(path, "free", row["free"], int64(*d.FreeGB*gib))
			}
			if d.URL != "" {
				expect(path, "url", row["url"], d.URL)
			}
			expect(path, "accessible", row["accessible"], orTrue(d.Accessible))
			if !strings.HasPrefix(row["info_url"].(string), "ds:///") {
				t.Errorf("%s: info.url is %v", path, row["info_url"])
			}
		}
		for _, n := range dc.Networks {
			folder := n.Folder
			for _, sw := range dc.Switches {
				if n.Type == "distributed" && sw.Name == n.Switch {
					folder = sw.Folder // port groups live next to their switch
				}
			}
			path := join(base, "network", folder, escapeName(n.Name))
			row := find(nets, path)
			expect(path, "accessible", row["accessible"], orTrue(n.Accessible))
			if n.VLAN != 0 {
				expect(path, "vlan", row["vlan"], n.VLAN)
			}
		}
		for _, v := range dc.VMs {
			if v.Count > 0 {
				seenVMs += v.Count
				continue
			}
			seenVMs++
			path := join(base, "vm", v.Folder, escapeName(v.Name))
			row := find(vms, path)
			expect(path, "template", row["template"], v.Template)
			power := map[string]string{"": "poweredOff", "off": "poweredOff", "on": "poweredOn", "suspended": "suspended"}
			expect(path, "power", row["power"], power[v.Power])
			for k, want := range v.ExtraConfig {
				expect(path, k, row["extra_config"].(map[string]any)[k], want)
			}
			if v.UUID != "" {
				expect(path, "uuid", row["uuid"], v.UUID)
				expect(path, "instance uuid", row["instance_uuid"], v.InstanceUUID)
				expect(path, "ips", row["ips"], v.IPs)
				expect(path, "hostname", row["hostname"], v.Hostname)
			}
			if v.DisksGB != nil {
				expect(path, "disks", row["disks_gb"], v.DisksGB)
			}
			if v.Product != nil {
				expect(path, "product", row["product"].([]any)[0].(map[string]any)["version"], v.Product.Version)
				expect(path, "annotation", row["annotation"], v.Annotation)
			}
		}
	}
	expect("all", "number of VMs", len(got.VMs), seenVMs)
	expect("all", "number of datastores", len(got.Datastores), 6)
	expect("all", "number of datacenters", len(got.Datacenters), 2)
}

func toJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
