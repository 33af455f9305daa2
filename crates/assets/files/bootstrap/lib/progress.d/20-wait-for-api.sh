#!/usr/bin/env bash
# Waits until two control-plane machines serve the API, so that it outlives this machine and one more loss.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

wanted=2
if ((CONTROL_PLANE_REPLICAS < 2)); then
    wanted=1
fi
while true; do
    slice=$(oc --kubeconfig=auth/kubeconfig get --namespace=default --output=json endpointslices/kubernetes) || slice={}
    found=$(jq '[.endpoints[]?.addresses[]] | unique | length' <<< "$slice")
    echo "$found of $wanted API servers"
    if ((found >= wanted)); then
        exit 0
    fi
    sleep 5
done
