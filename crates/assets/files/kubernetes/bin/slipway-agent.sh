#!/usr/bin/env bash
# Takes the agent out of its image: it works on the machine itself, with its kubeadm, files and units. An image that
# has been unpacked once is not asked for again.
set -euo pipefail

: "${SLIPWAY_IMAGE:?}"
target=/opt/slipway/bin
root=/run/slipway/image
noted=$target/image
if [[ -x $target/slipway-operator && -f $noted && $(< "$noted") == "$SLIPWAY_IMAGE" ]]; then
    exit 0
fi
containerd() { ctr --namespace k8s.io images "$@"; }
# The kubelet, which knows the logins of the pull secret, does not run yet.
login=/etc/slipway/image-login
fetch() {
    if [[ -s $login ]] && type -P crictl > /dev/null; then
        # By the environment: every user can read the arguments of a process.
        CRICTL_AUTH=$(< "$login") crictl --image-endpoint unix:///run/containerd/containerd.sock pull "$SLIPWAY_IMAGE"
    elif ! containerd pull "$SLIPWAY_IMAGE"; then
        if [[ -s $login ]]; then
            echo "the pull secret has a login for $SLIPWAY_IMAGE, which needs crictl: put it into the machines' image" >&2
        fi
        return 1
    fi
}
if [[ -z $(containerd list --quiet "name==$SLIPWAY_IMAGE") ]]; then
    fetch
fi
mkdir --parents "$target" "$root"
# A run that was cut off may have left it there.
containerd unmount --rm "$root" 2> /dev/null || true
containerd mount "$SLIPWAY_IMAGE" "$root"
trap 'containerd unmount --rm "$root"' EXIT
install --mode=0755 "$root/usr/bin/slipway-operator" "$target/slipway-operator.new"
mv --force "$target/slipway-operator.new" "$target/slipway-operator"
echo "$SLIPWAY_IMAGE" > "$noted"
