#!/usr/bin/env python3
"""Do what people do to machines behind our back, with the official client.

usage: administrator.py URL USER PASSWORD CA_FILE rename PATH NAME
                                                  move PATH FOLDER
                                                  copy PATH NAME
                                                  destroy PATH
                                                  machine PATH
                                                  template PATH
                                                  attach PATH FILE CONTROLLER UNIT
                                                  volume DATASTORE NAME CLUSTER...
"""
import ssl
import sys
from urllib.parse import urlparse

from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import SoapStubAdapter, VmomiSupport, vim


def attach(content, machine, file, controller, unit):
    """Adds a new disk. Without a file it is stored with the machine."""
    if file:
        datacenter = machine
        while not isinstance(datacenter, vim.Datacenter):
            datacenter = datacenter.parent
        try:
            content.fileManager.MakeDirectory(file.rsplit("/", 1)[0], datacenter, True)
        except vim.fault.FileAlreadyExists:
            pass
    disk = vim.vm.device.VirtualDisk(key=-1, controllerKey=int(controller), unitNumber=int(unit), capacityInKB=1 << 20)
    disk.backing = vim.vm.device.VirtualDisk.FlatVer2BackingInfo(fileName=file, diskMode="persistent", thinProvisioned=True)
    change = vim.vm.device.VirtualDeviceSpec(operation="add", fileOperation="create", device=disk)
    WaitForTask(machine.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=[change])))


def volume(instance, context, datastore, name, *clusters):
    """Makes a volume as a storage driver does, used by one cluster or by several."""
    session = instance._stub
    host, port = session.host.rsplit(":", 1)
    version = VmomiSupport.newestVersions.GetName("vsan")
    stub = SoapStubAdapter(host, int(port), path="/vsanHealth", version=version, sslContext=context)
    stub.cookie = session.cookie
    users = [vim.cns.ContainerCluster(clusterType="KUBERNETES", clusterId=id, vSphereUser="driver") for id in clusters]
    spec = vim.cns.VolumeCreateSpec(
        name=name, volumeType="BLOCK", datastores=[datastore],
        metadata=vim.cns.VolumeMetadata(containerCluster=users[0], containerClusterArray=users),
        backingObjectDetails=vim.cns.BlockBackingDetails(capacityInMb=10),
    )
    manager = vim.cns.VolumeManager("cns-volume-manager", stub)
    # Its task is none this client can read from a simulator: the caller waits until the volume is there.
    manager.CnsCreateVolume([spec])


def main():
    url, user, password, ca_file, verb, path = sys.argv[1:7]
    server = urlparse(url)
    context = ssl.create_default_context(cafile=ca_file)
    instance = SmartConnect(host=server.hostname, port=server.port, user=user, pwd=password, sslContext=context)
    try:
        index = instance.RetrieveContent().searchIndex
        found = index.FindByInventoryPath(path)
        if found is None:
            sys.exit("there is no %s" % path)
        if verb == "rename":
            WaitForTask(found.Rename_Task(sys.argv[7]))
        elif verb == "move":
            WaitForTask(index.FindByInventoryPath(sys.argv[7]).MoveIntoFolder_Task([found]))
        elif verb == "copy":
            spec = vim.vm.CloneSpec(location=vim.vm.RelocateSpec(), powerOn=False, template=False)
            WaitForTask(found.CloneVM_Task(folder=found.parent, name=sys.argv[7], spec=spec))
        elif verb == "destroy":
            if found.runtime.powerState == "poweredOn":
                WaitForTask(found.PowerOffVM_Task())
            WaitForTask(found.Destroy_Task())
        elif verb == "machine":
            hosts = found.runtime.host.parent
            found.MarkAsVirtualMachine(pool=hosts.resourcePool, host=found.runtime.host)
        elif verb == "template":
            found.MarkAsTemplate()
        elif verb == "attach":
            attach(instance.RetrieveContent(), found, *sys.argv[7:10])
        elif verb == "volume":
            volume(instance, context, found, *sys.argv[7:])
        else:
            sys.exit(__doc__)
    finally:
        Disconnect(instance)


if __name__ == "__main__":
    main()
