#!/usr/bin/env bash
# Waits until etcd has its members on the control-plane machines and does without the one here. The machine
# config server of this machine stops first: the cluster's own serves by now.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

rm --force /etc/kubernetes/manifests/machineconfigoperator-bootstrap-pod.yaml
image=$(image_for cluster-etcd-operator)
run_image wait-for-ceo "$image" /usr/bin/cluster-etcd-operator wait-for-ceo \
    --kubeconfig=/assets/auth/kubeconfig
