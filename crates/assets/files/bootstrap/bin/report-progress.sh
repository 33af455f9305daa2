#!/usr/bin/env bash
# Waits for the end of the bootstrap, and reports it.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/stages.sh
. /usr/local/lib/slipway/stages.sh

run_stages progress
