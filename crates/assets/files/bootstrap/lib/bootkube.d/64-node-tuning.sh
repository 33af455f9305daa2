#!/usr/bin/env bash
# Machine configurations from performance profiles, if there are any among the manifests.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-node-tuning-operator)
fresh node-tuning-bootstrap
run_image node-tuning-render "$image" render \
    --asset-input-dir=/assets/manifests \
    --asset-output-dir=/assets/node-tuning-bootstrap
add node-tuning-bootstrap manifests
