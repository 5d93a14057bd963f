#!/usr/bin/env bash
# Installs what the tests of the dashboard need and this machine lacks, from its own packages: a Chromium, Node and npm.
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1; }

missing=()
has chromium || has chromium-browser || has google-chrome || has google-chrome-stable || missing+=(chromium)
has npm || missing+=(nodejs npm)
if ((${#missing[@]} == 0)); then
    exit 0
fi

as_root=()
if [[ $(id -u) != 0 ]]; then
    as_root=(sudo)
fi

echo "Installing ${missing[*]}"
if has apt-get; then
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
elif has dnf; then
    "${as_root[@]}" dnf install -q -y "${missing[@]}"
elif has apk; then
    "${as_root[@]}" apk add --quiet "${missing[@]}"
else
    echo "install these by hand: ${missing[*]}" >&2
    exit 1
fi
