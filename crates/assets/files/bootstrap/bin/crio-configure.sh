#!/usr/bin/env bash
# Makes CRI-O use the pause image of the release instead of one that may be out of reach.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/release.sh
. /usr/local/lib/slipway/release.sh

image=$(image_for pod)
mkdir --parents /etc/crio/crio.conf.d
cat > /etc/crio/crio.conf.d/50-bootstrap.conf <<CONF
[crio.image]
pause_image = "$image"
pause_command = "/usr/bin/pod"
CONF
