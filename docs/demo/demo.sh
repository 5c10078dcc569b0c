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

step() { printf '\n\033[1m# %s\033[0m\n' "$1"; }
run() {
  printf '$ kubectl netenf %s\n' "$*"
  local status=0
  kubectl-netenf "$@" || status=$?
  # 1 is an answer: there is a difference, or a preflight refuses.
  [ "$status" -le 1 ] || exit "$status"
}

step "1. Learn: 26 hours of flows of a small shop become proposals"
run learn --input-file flows.jsonl --cluster-state state.yaml
step "2. What was proposed"
run get
step "3. What promoting web's egress would allow, and what no rule covers yet (?)"
run diff deployment/web -n shop --direction egress
step "4. Protecting now? The preflight refuses, because an outside peer would be cut off"
run promote deployment/web -n shop --direction egress --protect
step "5. A person allows it by the addresses that were seen, and accepts that the unanswered attempt stays denied"
id=$(kubectl-netenf get deployment-web-egress -n shop -o json | tr ',' '\n' | sed -n 's/.*"id": *"\(u[0-9a-z]*\)".*/\1/p' | head -1)
run allow "$id" -n shop
step "6. Watch first: promote to monitor. Nothing is blocked"
run promote deployment/web -n shop --direction egress
step "7. Later flows: web now talks to a cache that the policy does not know. What would protecting have denied?"
run learn --input-file later.jsonl --cluster-state state.yaml
run diff --against-traffic deployment/web -n shop --direction egress
run get -n shop -o wide
step "8. The ingress of the database is complete: protect it, and export what a cluster enforces"
run promote statefulset/db -n shop --direction ingress --protect --accept-uncovered all
run export -n shop
step "9. What became of every observation"
run status
