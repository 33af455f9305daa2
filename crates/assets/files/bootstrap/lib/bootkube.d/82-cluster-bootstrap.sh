#!/usr/bin/env bash
# Starts the control plane of this machine, applies all manifests, and waits until the control-plane machines
# run the pods that take over.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-bootstrap)
pods=(
    openshift-kube-apiserver/kube-apiserver
    openshift-kube-scheduler/openshift-kube-scheduler
    openshift-kube-controller-manager/kube-controller-manager
    openshift-cluster-version/cluster-version-operator
)
required=$(IFS=,; echo "${pods[*]}")
run_image cluster-bootstrap --volume=/etc/kubernetes:/etc/kubernetes:z "$image" \
    start --tear-down-early=false --asset-dir=/assets --required-pods="$required"
