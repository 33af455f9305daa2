#!/usr/bin/env bash
# From a release image and manifests to a cluster.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/stages.sh
. /usr/local/lib/slipway/stages.sh

run_stages bootkube
touch /opt/openshift/.bootkube.done
