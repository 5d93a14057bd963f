#!/usr/bin/env bash
# Unpacks Prometheus and promtool from this machine's own packages into a private folder, where the tests look for them.
# Nothing is installed: the package would start a service on port 9090.
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1; }

folder="${XDG_CACHE_HOME:-$HOME/.cache}/mainspring/prometheus"
if { has prometheus && has promtool; } || [[ -x $folder/usr/bin/promtool ]]; then
    exit 0
fi
if ! has apt-get || ! has dpkg; then
    echo "install these by hand: prometheus promtool" >&2
    exit 1
fi

as_root=()
if [[ $(id -u) != 0 ]]; then
    as_root=(sudo)
fi

echo "Unpacking prometheus"
mkdir -p "$(dirname "$folder")"
draft=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$draft"' EXIT
cd "$draft"
# The programs need nothing beside themselves; what the package depends on is for pages in a browser.
apt-get -qq download prometheus >/dev/null 2>&1 || {
    "${as_root[@]}" apt-get update -qq
    apt-get -qq download prometheus
}
dpkg -x prometheus_*.deb unpacked
# Whoever comes at the same time has unpacked the same.
mv -T unpacked "$folder" 2>/dev/null || test -x "$folder/usr/bin/promtool"
