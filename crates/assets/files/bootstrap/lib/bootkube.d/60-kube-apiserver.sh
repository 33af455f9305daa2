#!/usr/bin/env bash
# The Kubernetes API server of this machine, and the manifests of its operator.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-kube-apiserver-operator)
hyperkube=$(image_for hyperkube)
version=$(release_version)
command=(/usr/bin/cluster-kube-apiserver-operator render)
flags=()
if accepts operand-kubernetes-version "$image" "${command[@]}"; then
    kubernetes=$(kubernetes_version)
    flags+=(--operand-kubernetes-version="$kubernetes")
fi
fresh kube-apiserver-bootstrap
run_image kube-apiserver-render "$image" "${command[@]}" \
    --manifest-etcd-serving-ca=etcd-ca-bundle.crt \
    --manifest-etcd-server-urls=https://localhost:2379 \
    --manifest-image="$hyperkube" \
    --manifest-operator-image="$image" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-apiserver-bootstrap \
    --config-output-file=/assets/kube-apiserver-bootstrap/config \
    --cluster-config-file=/assets/manifests/cluster-network-02-config.yml \
    --cluster-auth-file=/assets/manifests/cluster-authentication-02-config.yaml \
    --infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --rendered-manifest-files=/assets/manifests \
    --payload-version="$version" \
    "${flags[@]}"
cp kube-apiserver-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml
add kube-apiserver-bootstrap/bootstrap-manifests bootstrap-manifests
add kube-apiserver-bootstrap/manifests manifests
