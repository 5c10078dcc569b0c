#!/usr/bin/env bash
# The whole loop on a recording, in a folder of its own that is removed at the end. Called by `make demo`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$1:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/flows.jsonl "$here"/later.jsonl "$here"/state.yaml "$work"
cd "$work"
export NETENF_DIR=policies

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-}" != dumb ]; then
  step() { printf '\n\033[1m# %s\033[0m\n' "$1"; }
else
  step() { printf '\n# %s\n' "$1"; }
fi
run() {
  printf '$ kubectl netenf %s\n' "$*"
  local status=0
  kubectl-netenf "$@" || status=$?
  # 1 is an answer: there is a difference, or a preflight refuses.
  [ "$status" -le 1 ] || exit "$status"
}

printf '$ cd docs/demo   # this runs in a copy of it; every command below can be copied\n$ export NETENF_DIR=policies\n'
step "1. Learn: 26 hours of flows of a small shop become proposals"
run learn --input-file flows.jsonl --cluster-state state.yaml
step "2. What was proposed"
run get
step "3. What promoting web's egress would allow, and what no rule covers yet (?)"
run diff deployment/web -n shop --direction egress
step "4. Protecting now? The preflight refuses: connections to an outside peer would be denied"
run promote deployment/web -n shop --direction egress --protect
step "5. A person allows it by the addresses that were seen. The unanswered attempt stays uncovered"
id=$(kubectl-netenf get deployment-web-egress -n shop -o json | tr ',' '\n' | sed -n 's/.*"id": *"\(u[0-9a-z]*\)".*/\1/p' | head -1)
run allow "$id" -n shop
step "6. Watch first: promote to monitor. Nothing is blocked"
run promote deployment/web -n shop --direction egress
step "7. Later flows: web now talks to a cache that the policy does not know. What would protecting have denied?"
run violations --input-file later.jsonl --cluster-state state.yaml
run learn --input-file later.jsonl --cluster-state state.yaml
run diff --against-traffic deployment/web -n shop --direction egress
run get -n shop -o wide
step "8. Of the ingress of the database only an unanswered attempt has no rule: accept that, protect, and export what a cluster enforces"
run promote statefulset/db -n shop --direction ingress --protect --accept-uncovered all
run export -n shop
step "9. What became of every observation"
run status
