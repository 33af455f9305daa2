#!/usr/bin/env bash
# Tells the installer that the bootstrap machine can go.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

until oc --kubeconfig=auth/kubeconfig apply --filename=/usr/local/lib/slipway/bootstrap-complete.yaml; do
    sleep 5
done
