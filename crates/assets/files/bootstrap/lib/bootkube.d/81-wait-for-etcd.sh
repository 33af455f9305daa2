#!/usr/bin/env bash
# Waits until etcd on this machine answers.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for etcd)
until run_image etcdctl --env=ETCDCTL_API=3 --entrypoint=etcdctl "$image" \
    --dial-timeout=10m \
    --cacert=/assets/tls/etcd-ca-bundle.crt \
    --cert=/assets/tls/etcd-client.crt \
    --key=/assets/tls/etcd-client.key \
    --endpoints=https://localhost:2379 \
    endpoint health; do
    sleep 5
done
