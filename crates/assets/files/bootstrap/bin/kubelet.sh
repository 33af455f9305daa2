#!/usr/bin/env bash
# The kubelet of this machine: no API server, only the pods in /etc/kubernetes/manifests.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/release.sh
. /usr/local/lib/slipway/release.sh

flags=()
if [[ $NETWORK_STACK == v6* ]]; then
    flags+=(--node-ip=::)
fi
plugins=/etc/kubernetes/kubelet-plugins/volume/exec
mkdir --parents /etc/kubernetes/manifests "$plugins"
exec /usr/bin/kubelet \
    --anonymous-auth=false \
    --container-runtime-endpoint=/var/run/crio/crio.sock \
    --runtime-request-timeout=10m \
    --pod-manifest-path=/etc/kubernetes/manifests \
    --minimum-container-ttl-duration=6m0s \
    --cluster-domain=cluster.local \
    --cgroup-driver=systemd \
    --serialize-image-pulls=false \
    --volume-plugin-dir="$plugins" \
    --v=2 \
    "${flags[@]}"
