#!/usr/bin/env bash
# Makes the machine trust the certificates in its folders, in the way its operating system knows.
set -euo pipefail

if command -v update-ca-trust > /dev/null; then
    update-ca-trust extract
elif command -v update-ca-certificates > /dev/null; then
    update-ca-certificates
else
    echo 'neither update-ca-trust nor update-ca-certificates is here: additionalTrustBundle is without effect' >&2
    exit 1
fi
