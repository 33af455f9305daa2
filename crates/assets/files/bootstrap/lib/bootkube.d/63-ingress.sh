#!/usr/bin/env bash
# The types of the ingress operator.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for cluster-ingress-operator)
fresh ingress-operator-manifests
run_image ingress-render "$image" render \
    --prefix=cluster-ingress- \
    --output-dir=/assets/ingress-operator-manifests
add ingress-operator-manifests manifests
