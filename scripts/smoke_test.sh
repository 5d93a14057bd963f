#!/usr/bin/env bash
# Sees a job through a running Mainspring, in five steps. Needs nothing but curl.
#   MAINSPRING_URL    where it answers, http://localhost:8080 unless given
#   MAINSPRING_KEY    an API key, where one is needed
#   SMOKE_SECONDS     how long each step may take, 60 unless given
set -euo pipefail

url="${MAINSPRING_URL:-http://localhost:8080}"
seconds="${SMOKE_SECONDS:-60}"
options=(--silent --show-error --fail-with-body --max-time 10)
if [[ -n ${MAINSPRING_KEY:-} ]]; then
    options+=(--header "Authorization: Bearer $MAINSPRING_KEY")
fi
answer=

ask() { curl "${options[@]}" "$@"; }
passed() { echo "ok $*"; }
failed() {
    echo "FAILED $*" >&2
    [[ -z $answer ]] || echo "last answer: $answer" >&2
    exit 1
}
# within DESCRIPTION PATTERN PATH: repeats a request until its answer has the pattern.
within() {
    local deadline=$((SECONDS + seconds))
    until answer=$(ask "$url$3" 2>&1) && grep --quiet --extended-regexp "$2" <<<"$answer"; do
        ((SECONDS < deadline)) || failed "$1"
        sleep 0.5
    done
    passed "$1"
}
# member NAME: the text that the last answer has under a name.
member() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" <<<"$answer"; }

within "1. the stack has started" '^READY' /readyz
within "2. the schema is applied" '"status": *"healthy"' /api/v1/health

answer=$(ask --request POST "$url/jobs" --header 'Content-Type: application/json' \
    --data '{"schedule": "now", "payload": "{}", "max_duration_seconds": 60}' 2>&1) || failed "3. a job is created"
job=$(member job_id)
[[ -n $job ]] || failed "3. a job is created"
answer=$(ask --request POST "$url/jobs/$job/run" 2>&1) || failed "3. job $job is enqueued"
run=$(member run_id)
[[ -n $run ]] || failed "3. job $job is enqueued"
passed "3. job $job is created and enqueued"

within "4. run $run is in the history" '"status": *"COMPLETED"' "/api/v1/executions/$run"
within "5. the metrics are accessible, and have counted it" '^jobs_processed_total\{status="success"\} [1-9]' /metrics
