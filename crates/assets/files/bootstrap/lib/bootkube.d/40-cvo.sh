#!/usr/bin/env bash
# The cluster version operator: its pod on this machine, and its manifests.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

release=$(release_digest)
flags=()
if [[ -f manifests/cvo-overrides.yaml ]] && accepts cluster-version-manifest-path "$release" render; then
    flags+=(--cluster-version-manifest-path=/assets/manifests/cvo-overrides.yaml)
fi
if [[ -f manifests/99_feature-gate.yaml ]] && accepts feature-gate-manifest-path "$release" render; then
    flags+=(--feature-gate-manifest-path=/assets/manifests/99_feature-gate.yaml)
fi
fresh cvo-bootstrap
run_image cvo-render "$release" render \
    --output-dir=/assets/cvo-bootstrap \
    --release-image="$release" \
    "${flags[@]}"
add cvo-bootstrap/bootstrap bootstrap-manifests
add cvo-bootstrap/manifests manifests
cp auth/kubeconfig-loopback /etc/kubernetes/kubeconfig
