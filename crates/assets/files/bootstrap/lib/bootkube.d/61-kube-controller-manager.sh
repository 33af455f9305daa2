#!/usr/bin/env bash
# The controller manager of this machine, and the manifests of its operator.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-kube-controller-manager-operator)
hyperkube=$(image_for hyperkube)
policy=$(image_for cluster-policy-controller)
version=$(release_version)
fresh kube-controller-manager-bootstrap
run_image kube-controller-manager-render "$image" /usr/bin/cluster-kube-controller-manager-operator render \
    --cluster-policy-controller-image="$policy" \
    --manifest-image="$hyperkube" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-controller-manager-bootstrap \
    --config-output-file=/assets/kube-controller-manager-bootstrap/config \
    --cpc-config-output-file=/assets/kube-controller-manager-bootstrap/cpc-config \
    --cluster-config-file=/assets/manifests/cluster-network-02-config.yml \
    --rendered-manifest-files=/assets/manifests \
    --payload-version="$version"
configs=/etc/kubernetes/bootstrap-configs
cp kube-controller-manager-bootstrap/config "$configs/kube-controller-manager-config.yaml"
cp kube-controller-manager-bootstrap/cpc-config "$configs/cluster-policy-controller-config.yaml"
add kube-controller-manager-bootstrap/bootstrap-manifests bootstrap-manifests
add kube-controller-manager-bootstrap/manifests manifests
# Releases whose operator makes the service accounts' signing key put it here.
add kube-controller-manager-bootstrap/tls tls
