#!/usr/bin/env python3
"""Read a vCenter with the official Python client and print it as JSON.

usage: readback.py URL USER PASSWORD [CA_FILE]

An independent reader: it shares no code with what it checks. Objects are
named by inventory path (names stay escaped as vCenter stores them).
"""
import json
import ssl
import sys
from urllib.parse import urlparse

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim, vmodl

PROPERTIES = {
    vim.Folder: ["name", "parent", "childType"],
    vim.Datacenter: ["name", "parent", "datastore", "network"],
    vim.ComputeResource: ["name", "parent", "host", "datastore", "network", "configurationEx", "summary"],
    vim.HostSystem: ["name", "parent", "summary", "runtime", "datastore", "network"],
    vim.ResourcePool: ["name", "parent", "owner", "vm"],
    vim.Datastore: ["name", "parent", "summary", "host", "info"],
    vim.Network: ["name", "parent", "summary", "host"],
    vim.dvs.DistributedVirtualPortgroup: ["name", "parent", "key", "config", "host"],
    vim.DistributedVirtualSwitch: ["name", "parent", "uuid", "summary"],
    vim.VirtualMachine: ["name", "parent", "config", "runtime", "guest", "summary", "resourcePool",
                         "datastore", "network"],
}


def collect(content, kind, paths):
    """All objects of a type with some properties, in pages."""
    view = content.viewManager.CreateContainerView(content.rootFolder, [kind], True)
    collector = content.propertyCollector
    traversal = vmodl.query.PropertyCollector.TraversalSpec(
        name="view", path="view", skip=False, type=vim.view.ContainerView)
    spec = vmodl.query.PropertyCollector.FilterSpec(
        objectSet=[vmodl.query.PropertyCollector.ObjectSpec(obj=view, skip=True, selectSet=[traversal])],
        propSet=[vmodl.query.PropertyCollector.PropertySpec(type=kind, pathSet=paths, all=False)])
    page = collector.RetrievePropertiesEx([spec], vmodl.query.PropertyCollector.RetrieveOptions())
    found = {}
    while page:
        for item in page.objects:
            found[item.obj] = {p.name: p.val for p in item.propSet}
        page = collector.ContinueRetrievePropertiesEx(page.token) if page.token else None
    view.DestroyView()
    return found


class Estate:
    def __init__(self, content):
        self.root = content.rootFolder
        self.by_kind = {kind: collect(content, kind, paths) for kind, paths in PROPERTIES.items()}
        self.all = {}
        for objects in self.by_kind.values():
            for obj, props in objects.items():
                self.all.setdefault(obj, {}).update(props)

    def path(self, obj):
        if obj is None:
            return None
        parts = []
        while obj is not None and obj != self.root and obj in self.all:
            parts.append(self.all[obj]["name"])
            obj = self.all[obj].get("parent")
        return "/" + "/".join(reversed(parts))

    def paths(self, objects):
        return sorted(self.path(o) for o in objects or [])

    def rows(self, kind, build):
        out = []
        for obj, p in self.by_kind[kind].items():
            row = {"path": self.path(obj), "moref": "%s:%s" % (type(obj).__name__.split(".")[-1], obj._moId),
                   "name": p["name"]}
            row.update(build(obj, p))
            out.append(row)
        return sorted(out, key=lambda r: (r["path"], r["moref"]))


def cluster(estate):
    def build(obj, p):
        row = {"host": estate.paths(p.get("host")), "datastore": estate.paths(p.get("datastore")),
               "network": estate.paths(p.get("network")), "cluster": isinstance(obj, vim.ClusterComputeResource)}
        cfg = p.get("configurationEx")
        if isinstance(cfg, vim.cluster.ConfigInfoEx):
            row["drs"] = {"enabled": cfg.drsConfig.enabled, "behaviour": cfg.drsConfig.defaultVmBehavior}
            row["ha"] = cfg.dasConfig.enabled
            row["groups"] = [{
                "name": g.name,
                "hosts": estate.paths(getattr(g, "host", None)), "vms": estate.paths(getattr(g, "vm", None)),
            } for g in cfg.group]
            row["rules"] = [{
                "name": r.name, "kind": type(r).__name__.split(".")[-1], "enabled": r.enabled,
                "mandatory": r.mandatory, "vms": estate.paths(getattr(r, "vm", None)),
                "vm_group": getattr(r, "vmGroupName", None), "host_group": getattr(r, "affineHostGroupName", None),
            } for r in cfg.rule]
        summary = p["summary"]
        row["hosts"] = summary.numHosts
        row["effective_hosts"] = summary.numEffectiveHosts
        row["total_memory"] = summary.totalMemory
        return row
    return build


def host(estate):
    def build(_, p):
        summary = p["summary"]
        return {"version": summary.config.product.version, "build": summary.config.product.build,
                "connection": p["runtime"].connectionState, "maintenance": p["runtime"].inMaintenanceMode,
                "cores": summary.hardware.numCpuCores, "memory": summary.hardware.memorySize,
                "datastore": estate.paths(p.get("datastore")), "network": estate.paths(p.get("network"))}
    return build


def datastore(estate):
    def build(_, p):
        s = p["summary"]
        return {"type": s.type, "capacity": s.capacity, "free": s.freeSpace, "url": s.url,
                "info_url": p["info"].url, "accessible": s.accessible, "maintenance": s.maintenanceMode,
                "host": estate.paths([m.key for m in p.get("host") or []])}
    return build


def network(estate):
    def build(obj, p):
        row = {"type": type(obj).__name__.split(".")[-1], "host": estate.paths(p.get("host"))}
        if isinstance(obj, vim.dvs.DistributedVirtualPortgroup):
            extra = estate.by_kind[vim.dvs.DistributedVirtualPortgroup][obj]
            row["switch"] = estate.path(extra["config"].distributedVirtualSwitch)
            row["uplink"] = bool(extra["config"].uplink)
            setting = extra["config"].defaultPortConfig
            vlan = getattr(getattr(setting, "vlan", None), "vlanId", None)
            row["vlan"] = vlan if isinstance(vlan, int) else None
        row["accessible"] = p["summary"].accessible
        return row
    return build


def machine(estate):
    def build(_, p):
        cfg, guest, runtime = p["config"], p.get("guest"), p["runtime"]
        vapp = cfg.vAppConfig
        devices = cfg.hardware.device
        return {
            "template": cfg.template, "power": runtime.powerState, "host": estate.path(runtime.host),
            "pool": estate.path(p.get("resourcePool")), "datastore": estate.paths(p.get("datastore")),
            "network": estate.paths(p.get("network")), "uuid": cfg.uuid, "instance_uuid": cfg.instanceUuid,
            "version": cfg.version, "guest_id": cfg.guestId, "firmware": cfg.firmware,
            "cpus": cfg.hardware.numCPU, "cores_per_socket": cfg.hardware.numCoresPerSocket,
            "memory_mb": cfg.hardware.memoryMB, "annotation": cfg.annotation,
            "change_tracking": cfg.changeTrackingEnabled,
            "disks_gb": [d.capacityInKB // 1048576 for d in devices if isinstance(d, vim.vm.device.VirtualDisk)],
            "nics": [d.macAddress for d in devices if isinstance(d, vim.vm.device.VirtualEthernetCard)],
            "extra_config": {o.key: o.value for o in cfg.extraConfig},
            "product": [{"name": x.name, "vendor": x.vendor, "version": x.version} for x in vapp.product] if vapp else [],
            "hostname": guest.hostName if guest else None, "ip": guest.ipAddress if guest else None,
            "ips": [ip for n in (guest.net if guest else []) for ip in (n.ipAddress or [])],
            "tools": guest.toolsRunningStatus if guest else None,
        }
    return build


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    url = urlparse(sys.argv[1])
    if len(sys.argv) == 5:
        context = ssl.create_default_context(cafile=sys.argv[4])
    else:
        context = ssl._create_unverified_context()
    instance = SmartConnect(host=url.hostname, port=url.port or 443, user=sys.argv[2], pwd=sys.argv[3],
                            sslContext=context)
    try:
        content = instance.RetrieveContent()
        estate = Estate(content)
        about = content.about
        result = {
            "about": {"version": about.version, "build": about.build, "api_version": about.apiVersion,
                      "instance_uuid": about.instanceUuid, "full_name": about.fullName},
            "user": content.sessionManager.currentSession.userName,
            "datacenters": estate.rows(vim.Datacenter, lambda _, p: {}),
            "clusters": estate.rows(vim.ComputeResource, cluster(estate)),
            "hosts": estate.rows(vim.HostSystem, host(estate)),
            "datastores": estate.rows(vim.Datastore, datastore(estate)),
            "networks": estate.rows(vim.Network, network(estate)),
            "switches": estate.rows(vim.DistributedVirtualSwitch, lambda _, p: {
                "uuid": p["uuid"], "host": estate.paths(p["summary"].hostMember)}),
            "pools": estate.rows(vim.ResourcePool, lambda _, p: {"owner": estate.path(p["owner"])}),
            "folders": estate.rows(vim.Folder, lambda _, p: {"child_type": list(p["childType"])}),
            "vms": estate.rows(vim.VirtualMachine, machine(estate)),
        }
    finally:
        Disconnect(instance)
    json.dump(result, sys.stdout, indent=2, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
