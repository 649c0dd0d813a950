#!/usr/bin/env bash
# Makes a Python plugin from the scaffold, installs it, holds it to the conformance
# suite and measures its toy with it. Needs python3 with venv, and a network or a
# mirror for pip. Run by `make plugin-python` in the root of the repository.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sweepbook=$PWD/bin/sweepbook
export XDG_DATA_HOME=$work/data

# The commands of docs/plugins.md as they stand there, in an empty folder.
export PATH=${sweepbook%/*}:$PATH
sed -n '/^<!-- path: python -->$/,/^```$/p' docs/plugins.md | sed '1,2d;$d' >"$work/path.sh"
grep -q 'pip install' "$work/path.sh"
(cd "$work" && bash -eu path.sh) | tee "$work/said"
tail -n 2 "$work/said" | sed 's/  */ /g' >"$work/answer"
diff "$work/answer" - <<'ROWS'
acme-py baseline ok 1
acme-py max_num_seqs=8 ok 1
ROWS
project=$work/sweepbook-engine-acme-py
plugin=$project/venv/bin/sweepbook-engine-acme-py

go test ./plugins -count 1 -run '^TestPluginConforms$' -plugin "$plugin"

# A host that is killed leaves neither plugin nor server behind.
sed 's/requests: 16/requests: 4000/' "$project/study.yaml" >"$work/long.yaml"
"$sweepbook" --db "$work/long.db" run "$work/long.yaml" 2>"$work/long.log" &
host=$!
for _ in $(seq 200); do grep -q 'ready after' "$work/long.log" && break; sleep 0.1; done
running=$(pgrep -f -c "$project/venv/bin/python" || true)
kill -9 "$host"
wait "$host" || true
for _ in $(seq 100); do
  left=$(pgrep -f -c "$project/venv/bin/python" || true)
  [ "$left" = 0 ] && break
  sleep 0.1
done
echo "processes of the plugin before and after the host was killed: $running, $left"
[ "$running" -ge 2 ] && [ "$left" = 0 ]
echo "the Python plugin is made, conforms, measures, and goes with its host"
