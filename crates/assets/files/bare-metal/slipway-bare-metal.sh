#!/usr/bin/env bash
# Makes the kubelet of this host start without a cloud provider: the configuration of all other machines of the cluster says
# that one will initialise them, and no cloud provider would ever initialise this one. Runs before the kubelet at every start, because
# an upgrade of the cluster writes the unit anew.
set -euo pipefail

root=${1:-}
unit=$root/etc/systemd/system/kubelet.service
join=$root/etc/slipway/kubeadm-join.yaml
dropin=$root/run/systemd/system/kubelet.service.d/99-slipway-bare-metal.conf

# OpenShift: the last command of the unit, in one line, without the flag.
if [[ -f $unit ]] && grep --quiet -- '--cloud-provider' "$unit"; then
    command=$(sed --quiet --expression ':a' --expression '/\\$/{N;ba' --expression '}' \
        --expression 's/[[:space:]]*\\\n[[:space:]]*/ /g' --expression 's/^ExecStart=//p' "$unit" | tail --lines=1)
    # The flag and its value may be one word or two.
    command=$(sed --regexp-extended 's/[[:space:]]--cloud-provider(=|[[:space:]]+)[^[:space:]]*//g' <<< "$command")
    mkdir --parents "${dropin%/*}"
    printf '[Service]\nExecStart=\nExecStart=%s\n' "$command" > "$dropin"
fi

# kubeadm: the argument and its value are two lines of a list.
if [[ -f $join ]]; then
    sed --in-place --regexp-extended '/^[[:space:]]*- name: "?cloud-provider"?$/,+1d' "$join"
fi

if [[ -z $root ]]; then
    systemctl daemon-reload
fi
