#!/usr/bin/env bash
# Joins this machine to the cluster, under its own name.
set -euo pipefail

name=$(hostname | tr '[:upper:]' '[:lower:]')
if [[ ! $name =~ ^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$ || $name == localhost* ]]; then
    echo "this machine has no name to join with: its host name is '$name'" >&2
    exit 1
fi
config=/run/slipway/kubeadm-join.yaml key=/var/lib/slipway/first-key
mkdir --parents /run/slipway /var/lib/slipway
(
    umask 077
    text=$(< /etc/slipway/kubeadm-join.yaml)
    token=$(< /etc/slipway/bootstrap-token)
    text=${text//slipway-machine-name/$name}
    # By the shell itself: every user can read the arguments of a process.
    printf '%s\n' "${text//000000.0000000000000000/$token}" > "$config"
)
# The power may have gone after all was done but the mark: etcd must not lose a member that works, and the token may have ended.
slipway-member.sh "$config" && member=0 || member=$?
[[ $member == [01] ]] || exit 1
# What a run that was cut off left behind would stop the next one.
if [[ $member == 1 && (-e /etc/kubernetes/kubelet.conf || -e /etc/kubernetes/bootstrap-kubelet.conf || -e /var/lib/etcd/member) ]]; then
    # A machine may come with one key only: the one it has asked with, or was let in with.
    for file in /var/lib/kubelet/pki/kubelet-client.key.tmp /var/lib/kubelet/pki/kubelet-client-current.pem; do
        if [[ ! -s $key && -s $file ]]; then
            (umask 077 && sed --quiet '/-BEGIN .*KEY-/,/-END .*KEY-/p' "$file" > "$key.new")
            mv "$key.new" "$key"
            sync "$key"
        fi
    done
    kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock
fi
[[ $member == 0 || ! -s $key ]] || install -D --mode 600 "$key" /var/lib/kubelet/pki/kubelet-client.key.tmp
[[ $member == 0 ]] || kubeadm join --config "$config"
touch /var/lib/slipway/joined
sync /var/lib/slipway/joined
# The secrets have done their work.
rm --force "$config" "$key" /etc/slipway/kubeadm-join.yaml /etc/slipway/bootstrap-token
