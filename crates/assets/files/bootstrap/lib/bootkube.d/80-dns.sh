#!/usr/bin/env bash
# Whether the names of the API can be resolved. Without them the other machines never join, and this line in
# the record is the only one that says why.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

missing=()
for host in "$API_HOST" "$API_INT_HOST"; do
    for _ in {1..12}; do
        if getent ahosts "$host"; then
            continue 2
        fi
        sleep 5
    done
    missing+=("$host")
done
if ((${#missing[@]} > 0)); then
    echo "these names cannot be resolved: ${missing[*]}"
    exit 10
fi
