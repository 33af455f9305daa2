# A machine's whole life by the official client; prints what it saw.
import json
import sys

import ovirtsdk4 as sdk
from ovirtsdk4 import types

url, user, password, ca = sys.argv[1:]
connection = sdk.Connection(url=url, username=user, password=password, ca_file=ca)
seen = {}
system = connection.system_service()
seen["version"] = system.get().product_info.version.full_version
vms = system.vms_service()

vm = vms.add(types.Vm(
    name="node-0", cluster=types.Cluster(name="Default"), template=types.Template(name="rhcos"),
    memory=4 << 30, cpu=types.Cpu(topology=types.CpuTopology(cores=2, sockets=2, threads=1)), type=types.VmType.SERVER,
    initialization=types.Initialization(custom_script='{"ignition":{"version":"3.2.0"}}', host_name="node-0")))
service = vms.vm_service(vm.id)
made = service.get()
seen["made"] = [str(vm.status), str(made.status), made.memory, made.cpu.topology.sockets, made.initialization.host_name]

attachments = service.disk_attachments_service()
boot = attachments.list()[0]
attachments.attachment_service(boot.id).update(types.DiskAttachment(disk=types.Disk(provisioned_size=32 << 30)))
domain = system.storage_domains_service().list(search="name=data1")[0]
attachments.add(types.DiskAttachment(
    interface=types.DiskInterface.VIRTIO_SCSI, bootable=False, active=True,
    disk=types.Disk(name="etcd", format=types.DiskFormat.RAW, sparse=False, provisioned_size=8 << 30,
                    storage_domains=[types.StorageDomain(id=domain.id)])))
disks = [connection.follow_link(one.disk) for one in attachments.list()]
seen["disks"] = sorted([disk.name, disk.provisioned_size >> 30, str(disk.format), str(disk.status)] for disk in disks)

profile = system.vnic_profiles_service().list()[0]
nic = service.nics_service().add(types.Nic(name="nic1", vnic_profile=types.VnicProfile(id=profile.id)))
seen["nic"] = [nic.name, nic.mac.address, nic.plugged]

system.tags_service().add(types.Tag(name="cluster-abc", description="ours"))
service.tags_service().add(types.Tag(name="cluster-abc"))
seen["by tag"] = [one.name for one in vms.list(search="tag=cluster-abc")]
seen["by nothing"] = [one.name for one in vms.list(search="name=nothing")]

groups = system.clusters_service().cluster_service(made.cluster.id).affinity_groups_service()
group = groups.add(types.AffinityGroup(
    name="apart", vms_rule=types.AffinityRule(enabled=True, positive=False, enforcing=True)))
groups.group_service(group.id).vms_service().add(types.Vm(id=vm.id))
seen["group"] = [group.name, [one.id == vm.id for one in groups.group_service(group.id).vms_service().list()]]

service.start(use_ignition=True)
up = service.get()
seen["up"] = [str(up.status), connection.follow_link(up.host).name, up.start_time is not None]
try:
    service.remove()
except sdk.Error as error:
    seen["refused"] = [error.code, error.fault.reason, error.fault.detail]
service.shutdown()
seen["down"] = str(service.get().status)

jobs = system.jobs_service().list(search="status=finished")
seen["jobs"] = [job.description for job in jobs]
seen["events"] = [[event.code, event.description] for event in system.events_service().list(search="vm=node-0", max=4)]

groups.group_service(group.id).remove()
service.remove()
try:
    service.get()
except sdk.NotFoundError as error:
    seen["gone"] = error.code
tag = [one for one in system.tags_service().list() if one.name == "cluster-abc"][0]
system.tags_service().tag_service(tag.id).remove()
connection.close()
json.dump(seen, sys.stdout)
