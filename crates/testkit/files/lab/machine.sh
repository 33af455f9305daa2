#!/usr/bin/env bash
# Switches a machine on, in three steps that become each other: it joins its cgroups, is plugged into the switch, and
# gets a root, devices and processes of its own. What it is made of comes in the environment:
#   MACHINE  its folder: disk/ stays, given/ is what the hypervisor hands over, told/ what the machine answers
#   IMAGE    the root it starts from, which nobody changes
#   SWITCH   a process in the network of the switch
#   ADDRESS, GATEWAY, MAC   the network card
set -euo pipefail

cgroups() {
    local folder
    while read -r folder _; do
        echo $$ > "$folder/cgroup.procs"
    done < "$MACHINE/cgroups"
    exec unshare --net -- "$0" cable
}

cable() {
    in_switch() { nsenter --target "$SWITCH" --net -- "$@"; }
    # The kernel takes its time to remove old cables, so none has the name of another.
    in_switch ip link add "cable$$" type veth peer name eth0 netns $$
    in_switch ip link set "cable$$" master br0 up
    ip link set lo up
    ip link set eth0 address "$MAC"
    ip address add "$ADDRESS" dev eth0
    ip link set eth0 up
    ip route add default via "$GATEWAY"
    exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child -- "$0" root
}

# Where a kernel has no table of the firmware's there is no place to mount the machine's id on.
firmware() {
    local class=$1/sys/class
    if [[ ! -e $class/dmi/id/product_uuid ]]; then
        mkdir --parents "$MACHINE/firmware/dmi/id"
        cp "$MACHINE/given/product_uuid" "$MACHINE/firmware/dmi/id/"
        mount -t overlay lab -o "lowerdir=$MACHINE/firmware:$class" "$class"
    else
        mount --bind "$MACHINE/given/product_uuid" "$class/dmi/id/product_uuid"
    fi
}

devices() {
    local dev=$1/dev name
    mount -t tmpfs -o mode=755 lab "$dev"
    mkdir "$dev"/{pts,shm,mqueue}
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 lab "$dev/pts"
    mount -t tmpfs lab "$dev/shm"
    for name in null zero full random urandom tty; do
        touch "$dev/$name"
        mount --bind "/dev/$name" "$dev/$name"
    done
    # The kubelet reads the kernel's messages, which are not this machine's.
    touch "$dev/kmsg"
    mount --bind /dev/null "$dev/kmsg"
    ln --symbolic pts/ptmx "$dev/ptmx"
    ln --symbolic null "$dev/console"
    ln --symbolic /proc/self/fd "$dev/fd"
    for name in stdin:0 stdout:1 stderr:2; do
        ln --symbolic "fd/${name#*:}" "$dev/${name%:*}"
    done
}

# Mounted inside of the new namespace, so that the machine's own groups are the top.
groups() {
    local top=$1/sys/fs/cgroup where type options
    mount -t tmpfs -o mode=755 lab "$top"
    while read -r _ where type options; do
        if [[ $where != . ]]; then
            mkdir --parents "$top/$where"
        fi
        mount -t "$type" -o "$options" lab "$top/$where"
    done < "$MACHINE/cgroups"
}

root() {
    local root=$MACHINE/root folder
    mount --make-rprivate /
    mount -t overlay lab -o "lowerdir=$IMAGE,upperdir=$MACHINE/disk/root,workdir=$MACHINE/disk/work" "$root"
    # Containers are overlays themselves, which do not lie on overlays.
    mount --bind "$MACHINE/disk/var" "$root/var"
    mount -t proc lab "$root/proc"
    mount -t sysfs lab "$root/sys"
    firmware "$root"
    devices "$root"
    groups "$root"
    mount -t tmpfs -o mode=755 lab "$root/run"
    mount -t tmpfs lab "$root/tmp"
    for folder in given told; do
        mkdir --parents "$root/run/lab/$folder"
        mount --bind "$MACHINE/$folder" "$root/run/lab/$folder"
    done
    mount -o remount,bind,ro "$root/run/lab/given"
    hostname localhost
    cd "$root"
    pivot_root . .
    umount --lazy .
    cd /
    # The kubelet wants to share mounts with containers. The root cannot be moved to when it is shared already.
    mount --make-rshared /
    exec /usr/local/sbin/first-boot
}

"$1"
