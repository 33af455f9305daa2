#!/usr/bin/env bash
# The machine config operator: the server that the other machines get their Ignition from, and on platforms
# with virtual addresses the pods that hold them and answer DNS.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for machine-config-operator)
release=$(release_digest)
flags=()
if [[ -f config-bootstrap/cloud-provider-config-generated.yaml ]]; then
    flags+=(--cloud-config-file=/assets/config-bootstrap/cloud-provider-config-generated.yaml)
fi
if accepts payload-version "$image" bootstrap; then
    version=$(release_version)
    flags+=(--payload-version="$version")
fi
fresh mco-bootstrap
run_image mco-render "$image" bootstrap \
    --root-ca=/assets/tls/root-ca.crt \
    --kube-ca=/assets/tls/kube-apiserver-complete-client-ca-bundle.crt \
    --config-file=/assets/manifests/cluster-config.yaml \
    --dest-dir=/assets/mco-bootstrap \
    --pull-secret=/assets/manifests/openshift-config-secret-pull-secret.yaml \
    --release-image="$release" \
    --image-references=/assets/release/image-references \
    "${flags[@]}"

# The controller in the bootstrap pod reads everything here: its own configuration, the pools, and whatever
# machine configurations and mirrors the user has.
mkdir --parents /etc/mcs/bootstrap /etc/ssl/mcs
add mco-bootstrap/bootstrap/manifests /etc/mcc/bootstrap
add openshift /etc/mcc/bootstrap
add manifests /etc/mcc/bootstrap
cp release/image-references /etc/mcc/bootstrap/
cp auth/kubeconfig-kubelet /etc/mcs/kubeconfig
cp tls/machine-config-server.crt /etc/ssl/mcs/tls.crt
cp tls/machine-config-server.key /etc/ssl/mcs/tls.key
add "mco-bootstrap/$PLATFORM/static-pod-resources" /etc/kubernetes/static-pod-resources
add "mco-bootstrap/$PLATFORM/manifests" /etc/kubernetes/manifests
cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/
add mco-bootstrap/manifests manifests
