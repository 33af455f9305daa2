#!/usr/bin/env bash
# Whether this machine has joined already. One of the control plane has if its API server answers out of its own etcd, which has a
# vote; a compute machine has if its kubelet was let in and kubeadm took away what it had asked with.
set -euo pipefail

if ! grep --quiet '^controlPlane:' "$1"; then
    [[ -e /etc/kubernetes/kubelet.conf && ! -e /etc/kubernetes/bootstrap-kubelet.conf ]] || exit 1
    exit 0
fi
for file in kubelet.conf admin.conf manifests/etcd.yaml; do
    [[ -e /etc/kubernetes/$file ]] || exit 1
done
access=/run/slipway/own.kubeconfig
trap 'rm --force "$access"' EXIT
(umask 077 && sed 's|server: https://.*|server: https://127.0.0.1:6443|' /etc/kubernetes/admin.conf > "$access")
# The kubelet needs a while to start them.
for _ in {1..24}; do
    if timeout 10 kubeadm token list --kubeconfig "$access" > /dev/null; then
        # The last thing that kubeadm does.
        kubeadm join phase control-plane-join mark-control-plane --config "$1" || exit 2
        exit
    fi
    sleep 5
done
exit 1
