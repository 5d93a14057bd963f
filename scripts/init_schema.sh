#!/usr/bin/env bash
# Brings the schema of a stack's store up to date: scripts/init_schema.sh [stack], by default `cassandra`.
# Any number of times: what is there already is left alone. The store is waited for.
set -euo pipefail
stack="${1:-cassandra}"
case $stack in
    cassandra) service=worker1 ;;
    scylla-kafka-sqs | kafka-cassandra) service=schema-init ;;
    lab | dashboard) service=scheduler ;;
    *) echo "there is no stack '$stack' in deploy/" >&2; exit 2 ;;
esac
file="$(dirname "${BASH_SOURCE[0]}")/../deploy/$stack/docker-compose.yml"
exec docker compose --file "$file" run --rm --build "$service" migrate
