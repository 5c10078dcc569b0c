#!/usr/bin/env bash
# Builds the test peer tests/peers/NAME once and prints the path of its program; a second call returns at once.
#
# A peer is a Go module: its own commands and the tools that its go.mod names are built. data.txt beside it may list
# files to copy out of other modules, one "MODULE PATH" a line; they stand in the folder "data" beside the program.
# Programs are kept in ${XDG_CACHE_HOME:-~/.cache}/netenf/peers/<sha256 of the sources>/.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: ${0##*/} NAME   (a folder of $(dirname "$0"))" >&2
  exit 2
fi
name=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$name
if [ ! -f "$source/go.mod" ]; then
  echo "error: there is no test peer $source" >&2
  exit 2
fi

cd "$source"
key=$(find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -name data.txt \) -print0 |
  LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/netenf/peers
built=$cache/$key
if [ -x "$built/$name" ]; then
  echo "$built/$name"
  exit 0
fi

command -v go >/dev/null || {
  echo "error: the test peer $name is built with Go, and there is no go; install it and try again" >&2
  exit 3
}
mkdir -p "$cache"
exec 9>"$cache/$key.lock"
flock 9
if [ -x "$built/$name" ]; then # built while this call waited
  echo "$built/$name"
  exit 0
fi

export GOFLAGS=-mod=readonly CGO_ENABLED=0 GOWORK=off
part=$(mktemp -d "$cache/.$name.XXXXXX")
trap 'rm -rf "$part"' EXIT
packages=()
[ -z "$(find . -name '*.go' -print -quit)" ] || packages+=(./...)
! grep -q '^tool' go.mod || packages+=(tool)
echo "building the test peer $name: go build ${packages[*]} (minutes on a cold cache)" >&2
SECONDS=0
for package in "${packages[@]}"; do
  go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$part/" "$package" >&2
done
if [ -f data.txt ]; then
  mkdir "$part/data"
  while read -r module path; do
    go mod download "$module" >&2
    cp "$(go list -m -f '{{.Dir}}' "$module")/$path" "$part/data/"
  done <data.txt
  chmod -R u+w "$part/data"
fi
if [ ! -x "$part/$name" ]; then
  echo "error: building $source gave no program $name" >&2
  exit 3
fi
chmod 755 "$part"
rm -rf "$built"
mv -T "$part" "$built"
trap - EXIT
echo "built the test peer $name in $SECONDS s: $built" >&2
echo "$built/$name"
