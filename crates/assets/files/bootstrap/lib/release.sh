#!/usr/bin/env bash
# The release image and what is in it. To be sourced by what works on /opt/openshift.

ASSETS=${ASSETS:-/opt/openshift}
RELEASE_DIR=$ASSETS/release
AUTH_FILE=/root/.docker/config.json

# shellcheck source=/dev/null
. "$ASSETS/bootstrap.env"
cd "$ASSETS" || exit

# release_digest: the release image by its digest.
release_digest() {
    cat "$RELEASE_DIR/digest"
}

# image_for NAME: where a component's image is.
image_for() {
    jq --exit-status --raw-output --arg name "$1" \
        'first(.spec.tags[] | select(.name == $name) | .from.name)' "$RELEASE_DIR/image-references"
}

# release_version: such as 4.20.3.
release_version() {
    jq --exit-status --raw-output .version "$RELEASE_DIR/release-metadata"
}

# kubernetes_version: such as 1.33.5, from what the images say of themselves.
kubernetes_version() {
    jq --exit-status --raw-output '
        first(.spec.tags[].annotations["io.openshift.build.versions"] // "" | split(",")[]
            | select(startswith("kubernetes=")) | ltrimstr("kubernetes="))' "$RELEASE_DIR/image-references"
}

# run_image NAME [OPTIONS] IMAGE ARGUMENTS...: runs an image on the assets, which it sees as /assets.
run_image() {
    local name=$1
    shift
    # On the host's network: one of podman's own could clash with the user's.
    podman run --quiet --rm --replace --name "$name" --user 0 --net host --log-driver k8s-file \
        --authfile "$AUTH_FILE" --volume "$ASSETS:/assets:z" "$@"
}

# accepts FLAG IMAGE COMMAND...: whether the command of an image knows a flag; releases differ.
accepts() {
    local flag=$1 help
    shift
    help=$(run_image "$(basename "$0" .sh)-help" "$@" --help 2>&1) || true
    [[ $help =~ --$flag([^a-z-]|$) ]]
}

# fresh DIRECTORY: what an earlier attempt left behind is removed.
fresh() {
    rm --recursive --force "$1"
}

# add FROM TO: copies the contents of a directory, if there is one.
add() {
    if [[ -d $1 ]]; then
        mkdir --parents "$2"
        cp --recursive "$1/." "$2/"
    fi
}
