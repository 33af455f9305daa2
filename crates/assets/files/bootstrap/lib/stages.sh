#!/usr/bin/env bash
# Runs the stages of a service in order, each once, and keeps a record of it. To be sourced.
#
# A stage is a script. When it succeeds it is marked as done and not run again, so a restart of the service or
# of the machine goes on where it was. A stage that ends with 10 has found something wrong that the rest can
# live with: this is recorded as a warning.

STAGE_DIR=${STAGE_DIR:-/usr/local/lib/slipway}
DONE_DIR=${DONE_DIR:-/opt/openshift/stages}
RECORD_DIR=${RECORD_DIR:-/var/log/openshift}

# record SERVICE STAGE EVENT [MESSAGE]: adds one line of JSON to the record of a service.
record() {
    mkdir --parents "$RECORD_DIR"
    jq --null-input --compact-output \
        --arg time "$(date --utc +%Y-%m-%dT%H:%M:%SZ)" \
        --arg stage "$2" --arg event "$3" --arg message "${4:-}" \
        '{$time, $stage, $event} + if $message == "" then {} else {$message} end' \
        >> "$RECORD_DIR/$1.json"
}

# run_stage SERVICE FILE
run_stage() {
    local service=$1 file=$2 stage log status=0
    stage=$(basename "$file" .sh)
    stage=${stage#*-}
    if [[ -e $DONE_DIR/$service/$stage ]]; then
        return 0
    fi
    echo "stage $stage: start"
    record "$service" "$stage" start
    log=$(mktemp)
    bash "$file" 2>&1 | tee "$log" || status=$?
    case $status in
        0) record "$service" "$stage" success ;;
        10) record "$service" "$stage" warning "$(tail --lines=3 "$log")" ;;
        *) record "$service" "$stage" failure "$(tail --lines=3 "$log")" ;;
    esac
    rm --force "$log"
    if ((status != 0 && status != 10)); then
        echo "stage $stage: failed with status $status"
        return "$status"
    fi
    mkdir --parents "$DONE_DIR/$service"
    touch "$DONE_DIR/$service/$stage"
}

# run_stages SERVICE: runs the scripts in SERVICE.d in the order of their names.
run_stages() {
    local file
    for file in "$STAGE_DIR/$1.d"/*.sh; do
        run_stage "$1" "$file" || return
    done
}
