#!/usr/bin/env bash
# lint.sh BUF-MODULE@VERSION [REF]
#
# Lints engine.proto and refuses what would break a plugin: one of the first protocol of
# version 1 (plugins/testdata/v1), or with REF one of that commit. buf is built from
# source once, into bin/. Where it cannot be had, because the machine is offline, says
# so and ends with 69; what is wrong with the protocol is 1.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
buf=$root/bin/buf-${1##*@}
if [ ! -x "$buf" ]; then
  mkdir -p "$root/bin"
  built=$(mktemp -d "$root/bin/.buf-XXXXXX")
  trap 'rm -rf "$built"' EXIT
  if ! GOBIN=$built go install "$1" 2> "$built/said"; then
    echo "proto-lint: engine.proto was not linted: buf cannot be built here, it needs the Go module proxy once:" >&2
    tail -n 3 "$built/said" >&2
    exit 69
  fi
  mv "$built/buf" "$buf"
fi
cd "$root/plugins/proto"
"$buf" lint
"$buf" breaking --against ../testdata/v1
if [ -n "${2:-}" ]; then
  "$buf" breaking --against "../../.git#ref=$2,subdir=plugins/proto"
fi
echo "proto-lint: engine.proto keeps the rules, and plugins of its first version${2:+ and of $2} keep working"
