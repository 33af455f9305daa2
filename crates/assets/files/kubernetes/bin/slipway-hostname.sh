#!/usr/bin/env bash
# The name that Slipway gave this virtual machine. Without one it keeps the name it has.
set -euo pipefail

name=$(vmtoolsd --cmd 'info-get guestinfo.hostname' 2> /dev/null || true)
if [[ -n $name && $name != "$(hostname)" ]]; then
    hostnamectl set-hostname --static --transient "$name"
fi
