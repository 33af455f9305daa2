#!/usr/bin/env bash
# Downloads the release image and notes what it says about itself. Tries until it succeeds: a service that
# others wait for cannot be restarted without them.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../lib/stages.sh
. /usr/local/lib/slipway/stages.sh
# shellcheck source=SCRIPTDIR/../lib/release.sh
. /usr/local/lib/slipway/release.sh

record release-image download start
tries=0
until podman pull --quiet --authfile "$AUTH_FILE" "$RELEASE_IMAGE"; do
    ((++tries))
    # Every tenth failure only: the record is for people.
    if ((tries % 10 == 1)); then
        record release-image download warning "cannot pull $RELEASE_IMAGE, try $tries"
    fi
    sleep 10
done

mkdir --parents "$RELEASE_DIR"
# A release for several architectures has two digests; the one it was pulled by is right.
digest=$(podman image inspect "$RELEASE_IMAGE" \
    | jq --raw-output 'first(.[0] | .Digest as $digest | .RepoDigests[]? | select(endswith($digest))) // empty')
echo "${digest:-$RELEASE_IMAGE}" > "$RELEASE_DIR/digest"
for file in image-references release-metadata; do
    podman run --quiet --rm --net none --entrypoint cat "$(release_digest)" "/release-manifests/$file" \
        > "$RELEASE_DIR/$file.new"
    mv "$RELEASE_DIR/$file.new" "$RELEASE_DIR/$file"
done
record release-image download success "$(release_version)"
