#!/usr/bin/env bash
# Puts the operating system of the release over the booted one, without a reboot. The kernel stays, so its
# modules do too, and so does everything in /etc that is not as it was shipped.
set -euo pipefail

checkout=/ostree/repo/tmp/node-image
changed=$(mktemp)
ostree admin config-diff | awk '{ print "/" $2 }' > "$changed"
mount --options bind,ro /usr/lib/modules "$checkout/usr/lib/modules"
mount --options rbind,ro "$checkout/usr" /usr
rsync --archive --exclude-from="$changed" "$checkout/usr/etc/" /etc
rm --force "$changed"
semodule --reload
# The running daemon would start programs of another version of itself.
systemctl --no-block try-restart sshd.service
