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
echo "the Python plugin is made, conforms and measures"
