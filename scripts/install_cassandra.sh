#!/usr/bin/env bash
# Gathers the jars of Apache Cassandra in a private folder, where the tests look for them, with the Java that they need
# and the Maven that fetches them from this machine's own packages.
set -euo pipefail

version=5.0.9

has() { command -v "$1" >/dev/null 2>&1; }

folder="${XDG_CACHE_HOME:-$HOME/.cache}/mainspring/cassandra-$version"
missing=()
has java || missing+=(openjdk-17-jre-headless)
[[ -d $folder ]] || has mvn || missing+=(maven)
if ((${#missing[@]} > 0)); then
    if ! has apt-get; then
        echo "install these by hand: Java 17 and Maven" >&2
        exit 1
    fi
    as_root=()
    if [[ $(id -u) != 0 ]]; then
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
fi
if [[ -d $folder ]]; then
    exit 0
fi

echo "Fetching Cassandra $version"
mkdir -p "$(dirname "$folder")"
draft=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$draft"' EXIT
cat >"$draft/pom.xml" <<XML
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>mainspring</groupId>
  <artifactId>cassandra</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
XML
mvn --batch-mode --quiet --no-transfer-progress --file "$draft/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$draft/lib"
# Whoever comes at the same time has fetched the same.
mv -T "$draft/lib" "$folder" 2>/dev/null || test -d "$folder"
