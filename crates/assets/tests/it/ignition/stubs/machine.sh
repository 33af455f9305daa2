#!/usr/bin/env bash
# Runs the services in a mount namespace whose /opt, /etc and /usr/local are those of a bootstrap machine.
set -euo pipefail

HERE=$1
export HERE
mkdir "$HERE/etc"
mount --bind "$HERE/etc" /etc
mount --bind "$HERE/machine/opt" /opt
mount --bind "$HERE/machine/usr/local" /usr/local
PATH=$HERE/stubs:/usr/bin:/bin:/usr/sbin:/sbin
export RECORD_DIR=$HERE/log
bash /usr/local/bin/bootkube.sh
bash /usr/local/bin/report-progress.sh
for folder in /etc/kubernetes /etc/mcc /etc/mcs /etc/ssl/mcs /opt/openshift/bootstrap-manifests /opt/openshift/manifests; do
    find "$folder" -type f
done | sort > "$HERE/files"
