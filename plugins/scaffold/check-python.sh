#!/usr/bin/env bash
# Makes a Python plugin from the scaffold, installs it, holds it to the conformance
# suite and measures its toy with it. Needs python3 with venv, and a network or a
# mirror for pip. Run by `make plugin-python` in the root of the repository.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sweepbook=$PWD/bin/sweepbook
export XDG_DATA_HOME=$work/data

"$sweepbook" engines new pytoy --lang python --dir "$work/pytoy"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$work/pytoy"
plugin=$work/venv/bin/sweepbook-engine-pytoy

go test ./plugins -count 1 -run '^TestPluginConforms$' -plugin "$plugin"

"$sweepbook" engines add "$plugin"
"$sweepbook" --db "$work/history.db" run "$work/pytoy/study.yaml"
"$sweepbook" --db "$work/history.db" -o csv query 'show engine, status, success_rate order by number' | tee "$work/answer"
diff "$work/answer" - <<'ROWS'
engine,status,success_rate
pytoy,ok,1
pytoy,ok,1
ROWS
# A host that is killed leaves neither plugin nor server behind.
sed 's/requests: 16/requests: 4000/' "$work/pytoy/study.yaml" >"$work/long.yaml"
"$sweepbook" --db "$work/long.db" run "$work/long.yaml" 2>"$work/long.log" &
host=$!
for _ in $(seq 200); do grep -q 'ready after' "$work/long.log" && break; sleep 0.1; done
running=$(pgrep -f -c "$work/venv/bin/python" || true)
kill -9 "$host"
wait "$host" || true
for _ in $(seq 100); do
  left=$(pgrep -f -c "$work/venv/bin/python" || true)
  [ "$left" = 0 ] && break
  sleep 0.1
done
echo "processes of the plugin before and after the host was killed: $running, $left"
[ "$running" -ge 2 ] && [ "$left" = 0 ]
echo "the Python plugin is made, conforms, measures, and goes with its host"
