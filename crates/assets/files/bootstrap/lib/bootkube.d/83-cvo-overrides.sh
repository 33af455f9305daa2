#!/usr/bin/env bash
# What the installer brought is in the cluster; from here on the cluster version operator may manage it. The
# user's own overrides stay.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

[[ -f original_cvo_overrides.patch ]] || exit 0
until oc --kubeconfig=auth/kubeconfig patch clusterversion.config.openshift.io/version \
    --type=merge --patch-file=original_cvo_overrides.patch; do
    sleep 10
done
