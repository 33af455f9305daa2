#!/usr/bin/env bash
# The types of the authentication operator, which the API server's admission needs from the start. Before 4.19
# they were among the others.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-authentication-operator)
version=$(release_version)
if ! accepts rendered-manifest-dir "$image" render; then
    echo "this release has nothing to render here"
    exit 0
fi
fresh auth-api-bootstrap
run_image auth-api-render "$image" render \
    --asset-output-dir=/assets/auth-api-bootstrap/manifests \
    --rendered-manifest-dir=/assets/manifests \
    --cluster-profile="$CLUSTER_PROFILE" \
    --payload-version="$version"
add auth-api-bootstrap/manifests manifests
