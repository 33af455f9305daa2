#!/usr/bin/env bash
# The cloud provider's configuration, as the kubelets get it.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-config-operator)
version=$(release_version)
flags=()
if [[ -f manifests/cloud-provider-config.yaml ]]; then
    flags+=(--cloud-provider-config-input-file=/assets/manifests/cloud-provider-config.yaml)
fi
fresh config-bootstrap
run_image config-render "$image" /usr/bin/cluster-config-operator render \
    --skip-api-rendering \
    --cluster-infrastructure-input-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --cloud-provider-config-output-file=/assets/config-bootstrap/cloud-provider-config-generated.yaml \
    --config-output-file=/assets/config-bootstrap/config \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/config-bootstrap \
    --rendered-manifest-files=/assets/manifests \
    --payload-version="$version" \
    "${flags[@]}"
