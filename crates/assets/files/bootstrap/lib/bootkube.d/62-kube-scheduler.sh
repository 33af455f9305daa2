#!/usr/bin/env bash
# The scheduler of this machine, and the manifests of its operator.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-kube-scheduler-operator)
hyperkube=$(image_for hyperkube)
fresh kube-scheduler-bootstrap
run_image kube-scheduler-render "$image" /usr/bin/cluster-kube-scheduler-operator render \
    --manifest-image="$hyperkube" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-scheduler-bootstrap \
    --config-output-file=/assets/kube-scheduler-bootstrap/config
cp kube-scheduler-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-scheduler-config.yaml
add kube-scheduler-bootstrap/bootstrap-manifests bootstrap-manifests
add kube-scheduler-bootstrap/manifests manifests
