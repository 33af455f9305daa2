#!/usr/bin/env bash
# All manifests in one place.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

mkdir --parents bootstrap-manifests /etc/kubernetes/{manifests,bootstrap-configs,bootstrap-manifests}
add openshift manifests
