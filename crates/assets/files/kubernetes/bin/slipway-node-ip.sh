#!/usr/bin/env bash
# The addresses by which this node is known, one for each family of the cluster: those that the machine sends from. Left to an
# external cloud provider, a node would have none until the provider runs, which needs nodes with addresses.
set -euo pipefail

target=/run/slipway/node-ip.env
mkdir --parents /run/slipway
read -r -a families < /etc/slipway/families
addresses=()
for family in "${families[@]}"; do
    # No host has this address (RFC 5737, RFC 3849), and nothing is sent.
    far=192.0.2.1
    if [[ $family == 6 ]]; then
        far=2001:db8::1
    fi
    address=$(ip "-$family" route get "$far" | sed --quiet 's/.* src \([^ ]*\).*/\1/p')
    if [[ -z $address ]]; then
        echo "this machine has no address of IPv$family to send from" >&2
        exit 1
    fi
    addresses+=("$address")
done
echo "KUBELET_NODE_IP_ARGS=--node-ip=$(IFS=,; echo "${addresses[*]}")" > "$target.new"
mv --force "$target.new" "$target"
