#!/usr/bin/env bash
# The definitions of OpenShift's own types.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-config-api)
version=$(release_version)
fresh api-bootstrap
run_image api-render "$image" /usr/bin/render \
    --asset-output-dir=/assets/api-bootstrap \
    --rendered-manifest-dir=/assets/manifests \
    --cluster-profile="$CLUSTER_PROFILE" \
    --payload-version="$version"
add api-bootstrap/manifests manifests
