#!/usr/bin/env bash
# Builds the test peer tests/peers/NAME once and prints the path of its program, or of the folder of its programs if
# none has its name; a second call returns at once, and a call beside the first waits for it.
#
# A peer is a Go module: its own commands and the tools that its go.mod names are built. data.txt beside it may list
# files to copy out of other modules, one "MODULE PATH" a line; they stand in the folder "data" beside the program.
# Programs are kept in ${XDG_CACHE_HOME:-~/.cache}/netenf/peers/<sha256 of the sources and the build's flags>/.
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

# Kubernetes' own build stamps its version into programs. Without it they call themselves v0.0.0-master, which clients
# cannot parse. Version 1.X.Y of Kubernetes is version 0.X.Y of its libraries.
stamp=
minor=$(sed -nE 's/^\s*k8s\.io\/component-base v0\.([0-9.]+).*/\1/p' go.mod)
if [ -n "$minor" ]; then
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    stamp+=" -X $package.gitVersion=v1.$minor -X $package.gitMajor=1 -X $package.gitMinor=${minor%.*}"
    stamp+=" -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
  done
fi
flags=(-trimpath -buildvcs=false -ldflags="-s -w$stamp")

key=$({
  find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -name data.txt \) -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum
  echo "${flags[@]}"
} | sha256sum | cut -d' ' -f1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/netenf/peers
built=$cache/$key

# Prints what was built, if it was: a build is moved here as a whole.
found() {
  [ -d "$built" ] || return
  if [ -x "$built/$name" ]; then echo "$built/$name"; else echo "$built"; fi
}
if found; then exit 0; fi

command -v go >/dev/null || {
  echo "error: the test peer $name is built with Go, and there is no go; install it and try again" >&2
  exit 3
}
mkdir -p "$cache"
exec 9>"$cache/$key.lock"
if ! flock --nonblock 9; then
  echo "the test peer $name is being built by another process: waiting for it" >&2
  flock 9
fi
if found; then exit 0; fi # built while this call waited

export GOFLAGS=-mod=readonly CGO_ENABLED=0 GOWORK=off
part=$(mktemp -d "$cache/.$name.XXXXXX")
trap 'rm -rf "$part"; [ -z "$(jobs -p)" ] || kill $(jobs -p)' EXIT
packages=()
[ -z "$(find . -name '*.go' -print -quit)" ] || packages+=(./...)
! grep -q '^tool' go.mod || packages+=(tool)
echo "building the test peer $name once (minutes on a cold cache); fetching its modules" >&2
SECONDS=0
mapfile -t programs < <(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' "${packages[@]}" | grep .)
for number in "${!programs[@]}"; do
  echo "  $SECONDS s: go build ${programs[number]} ($((number + 1)) of ${#programs[@]})" >&2
  go build "${flags[@]}" -o "$part/" "${programs[number]}" >&2 &
  until timeout 30 tail --pid=$! -f /dev/null; do echo "  $SECONDS s: still building $name" >&2; done
  wait $!
done
if [ -f data.txt ]; then
  mkdir "$part/data"
  while read -r module path; do
    go mod download "$module" >&2
    cp "$(go list -m -f '{{.Dir}}' "$module")/$path" "$part/data/"
  done <data.txt
  chmod -R u+w "$part/data"
fi
if [ -z "$(find "$part" -maxdepth 1 -type f -print -quit)" ]; then
  echo "error: building $source gave no program" >&2
  exit 3
fi
trap - EXIT
chmod 755 "$part"
mv -T "$part" "$built"
echo "built the test peer $name in $SECONDS s: $built" >&2
found
