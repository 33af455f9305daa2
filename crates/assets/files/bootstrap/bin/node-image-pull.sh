#!/usr/bin/env bash
# Boot images since 4.19 come without kubelet, CRI-O and oc: this fetches the operating system of the release,
# which has them.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/release.sh
. /usr/local/lib/slipway/release.sh

repo=/ostree/repo
checkout=$repo/tmp/node-image
image=$(image_for "$NODE_IMAGE" || image_for stream-coreos)
# Only seen by this unit, which has a mount namespace of its own.
mount --options remount,rw /sysroot
until ostree container image pull --authfile "$AUTH_FILE" "$repo" "ostree-unverified-image:docker://$image"; do
    sleep 10
done
# The pull does not say under which name it stored the image; it is the only one from a registry.
mapfile -t refs < <(ostree refs --repo "$repo" | grep '^ostree/container/image/docker')
if ((${#refs[@]} != 1)); then
    echo "one image was expected in $repo, there are ${#refs[@]}: ${refs[*]}"
    exit 1
fi
rm --recursive --force "$checkout"
ostree checkout --repo "$repo" --require-hardlinks "${refs[0]}" "$checkout"
