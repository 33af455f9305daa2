#!/usr/bin/env bash
# etcd: its first member runs on this machine. The operator makes the keys.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-etcd-operator)
etcd=$(image_for etcd)
fresh etcd-bootstrap
run_image etcd-render "$image" /usr/bin/cluster-etcd-operator render \
    --asset-output-dir=/assets/etcd-bootstrap \
    --cluster-configmap-file=/assets/manifests/cluster-config.yaml \
    --etcd-image="$etcd" \
    --infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --network-config-file=/assets/manifests/cluster-network-02-config.yml
add etcd-bootstrap/etc-kubernetes /etc/kubernetes
add etcd-bootstrap/manifests manifests
add etcd-bootstrap/tls tls
