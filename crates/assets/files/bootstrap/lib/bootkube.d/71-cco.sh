#!/usr/bin/env bash
# The cloud credential operator; nothing comes of it when that capability is off.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cloud-credential-operator)
fresh cco-bootstrap
run_image cco-render "$image" render \
    --dest-dir=/assets/cco-bootstrap \
    --manifests-dir=/assets/manifests \
    --cloud-credential-operator-image="$image"
add cco-bootstrap/manifests manifests
add cco-bootstrap/bootstrap-manifests bootstrap-manifests
