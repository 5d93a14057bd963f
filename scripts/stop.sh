#!/usr/bin/env bash
# Stops a stack of deploy/, running work first: scripts/stop.sh [stack [--volumes]]. With --volumes its data goes too.
set -euo pipefail
stack="${1:-cassandra}"
file="$(dirname "${BASH_SOURCE[0]}")/../deploy/$stack/docker-compose.yml"
[[ -f $file ]] || { echo "there is no stack '$stack' in deploy/" >&2; exit 2; }
exec docker compose --file "$file" --profile scale down --remove-orphans "${@:2}"
