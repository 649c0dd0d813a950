#!/usr/bin/env bash
# engines-real.sh FOLDER SWEEPBOOK
#
# Carries out examples/studies/vllm-cpu.yaml on the vLLM that install.sh put into
# FOLDER: two settings that run, one that must fail and be given its class, and a
# question. The history is kept as FOLDER/real/history.db.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$(cd "$1" && pwd)
sweepbook=$(realpath "$2")
work=$folder/real
mkdir -p "$work"
export HF_HOME=$folder/hf HF_HUB_OFFLINE=1 SWEEPBOOK_DB=$work/history.db
rm -f "$SWEEPBOOK_DB" "$SWEEPBOOK_DB"-*
cp "$root/examples/studies/vllm-cpu.yaml" "$work/"
printf 'engines: {vllm: {venv: %s}}\nports: %s\n' "$folder/vllm" "${PORTS:-27300}" > "$work/local.yaml"

cd "$work"
"$sweepbook" run vllm-cpu.yaml
"$sweepbook" query 'show number, option, status, failure, output_tps, mean_ttft_ms, mean_tpot_ms, engine_version'
"$sweepbook" query 'max output_tps where success_rate == 1 by option'

# The setting that must fail has failed for its own reason, and the others have not.
failed=$("$sweepbook" query --output csv 'show option, failure where status == "failed"' | tail -n +2)
if [ "$failed" != "more memory than there is,host_resources" ]; then
  echo "engines-real.sh: failed trials: ${failed:-none}; want only 'more memory than there is', as host_resources" >&2
  exit 1
fi
ran=$("$sweepbook" query --output csv 'count where status == "ok"' | tail -n 1)
if [ "$ran" != 2 ]; then
  echo "engines-real.sh: $ran trials ran, want 2" >&2
  exit 1
fi
