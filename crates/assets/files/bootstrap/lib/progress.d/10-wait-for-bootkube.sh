#!/usr/bin/env bash
# Waits until all stages of bootkube are through.
set -euo pipefail

until [[ -e /opt/openshift/.bootkube.done ]]; do
    sleep 5
done
