#!/usr/bin/env bash
# Whether the API answers by its names, through the load balancer.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

silent=()
for host in "$API_HOST" "$API_INT_HOST"; do
    if ! curl --fail --silent --show-error --max-time 20 --output /dev/null \
        --cacert tls/kube-apiserver-complete-server-ca-bundle.crt "https://$host:6443/version"; then
        silent+=("$host")
    fi
done
if ((${#silent[@]} > 0)); then
    echo "the API does not answer as ${silent[*]}"
    exit 10
fi
