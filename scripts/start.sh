#!/usr/bin/env bash
# Starts a stack of deploy/; scripts/smoke_test.sh waits for it: scripts/start.sh [stack], by default `cassandra`.
set -euo pipefail
stack="${1:-cassandra}"
file="$(dirname "${BASH_SOURCE[0]}")/../deploy/$stack/docker-compose.yml"
[[ -f $file ]] || { echo "there is no stack '$stack' in deploy/" >&2; exit 2; }
exec docker compose --file "$file" up --build --detach
