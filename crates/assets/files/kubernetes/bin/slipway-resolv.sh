#!/usr/bin/env bash
# The DNS servers that pods are told: those of the network, never this machine's own loopback, where pods would ask
# themselves.
set -euo pipefail

target=/run/slipway/resolv.conf
mkdir --parents /run/slipway
for source in /run/systemd/resolve/resolv.conf /run/NetworkManager/resolv.conf /etc/resolv.conf; do
    if [[ -r $source ]] && grep --extended-regexp --invert-match --quiet '^(nameserver (127\.|::1)|#|$)' "$source"; then
        grep --extended-regexp --invert-match '^(nameserver (127\.|::1)|#|$)' "$source" > "$target.new"
        mv --force "$target.new" "$target"
        exit 0
    fi
done
# Pods without DNS servers still start.
: > "$target"
