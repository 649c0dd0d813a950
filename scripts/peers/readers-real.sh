#!/usr/bin/env bash
# readers-real.sh FOLDER SWEEPBOOK [TOOL]...
#
# Installs the tools whose files sweepbook reads from PyPI into FOLDER/readers, each
# in an environment of its own, runs each against `sweepbook sim-server`, imports the
# files that it wrote as they are, and holds them against the tool's own figures and
# against what `sweepbook bench` recorded of the same server. Says of each ok, "could
# not be installed", "did not run" or "differs", and ends with 1 for the last two.
# Optuna and MLflow keep a small study each, which is imported; pandas and DuckDB
# read what export writes. Logs and files stay in FOLDER/readers-run. READERS_N is
# the number of requests, READERS_PORT the port.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
sweepbook=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- guidellm aiperf genai-bench inference-perf evalscope optuna mlflow tables
work=$folder/readers-run
envs=$folder/readers
n=${READERS_N:-200} port=${READERS_PORT:-27395}
url=http://127.0.0.1:$port model=Qwen/Qwen3-8B
limit="timeout ${READERS_LIMIT:-1800}" # seconds for one tool
rm -rf "$work"
mkdir -p "$work" "$envs"
export SWEEPBOOK_DB=$work/history.db UV_CACHE_DIR=$envs/cache
export HF_HOME=$folder/hf HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 MLFLOW_DISABLE_TELEMETRY=true
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY

# Python 3.12 or later, which inference-perf asks for.
python=
for candidate in "${PYTHON:-}" python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23]*/bin/python3 python3; do
  [ -n "$candidate" ] || continue
  if "$candidate" -c 'import sys, venv; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2> /dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || { echo "readers-real.sh: no Python 3.12 or 3.13 with venv; name one with PYTHON=" >&2; exit 1; }
[ -x "$envs/uv/bin/uv" ] || { "$python" -m venv "$envs/uv" && "$envs/uv/bin/python" -m pip --disable-pip-version-check -q install uv; } || exit 1

# Clients import the tokenizer's library and not the one that computes, 5 GB of it;
# guidellm alone asks for it.
printf "torch ; sys_platform == 'never'\n" > "$envs/without-torch.txt"
install() { # TOOL PACKAGE...
  local tool=$1 without=(--override "$envs/without-torch.txt")
  shift
  [ -e "$envs/$tool/ready" ] && return
  [ "$tool" != guidellm ] || without=()
  "$envs/uv/bin/uv" venv -q --clear --python "$python" "$envs/$tool" &&
    "$envs/uv/bin/uv" pip install -q --python "$envs/$tool/bin/python" "${without[@]}" "$@" && touch "$envs/$tool/ready"
}
packages() {
  case $1 in
    guidellm) echo guidellm==0.8.1 ;;
    aiperf) echo aiperf==0.13.0 jinja2 ;;
    genai-bench) echo genai-bench==0.0.5 jinja2 ;;
    inference-perf) echo inference-perf==0.7.0 jinja2 ;;
    evalscope) echo 'evalscope[perf]==1.14.1' jinja2 ;;
    optuna) echo optuna==5.0.0 ;;
    mlflow) echo mlflow==3.17.2 ;;
    tables) echo pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1 ;;
    *) echo "readers-real.sh: no tool called $1" >&2; return 1 ;;
  esac
}

run_guidellm() {
  local at=$envs/guidellm
  [ -e "$at/ready" ] || at=$folder/guidellm
  $limit "$at/bin/guidellm" run --backend "kind=openai_http,target=$url,model=$model" --profile kind=concurrent,streams=4 \
    --constraint "kind=max_requests,count=$n" --tokenizer "kind=huggingface_auto,model=$tokenizer" \
    --data kind=synthetic_text,prompt_tokens=50,output_tokens=20 --output kind=json,path=guidellm/benchmarks.json --disable-console
}
run_aiperf() {
  $limit "$envs/aiperf/bin/aiperf" profile -m "$model" -u "$url" --endpoint-type chat --streaming --tokenizer sweepbook/tiny-qwen3 --concurrency 4 \
    --request-count "$n" --isl 50 --osl 20 --extra-inputs ignore_eos:true --use-server-token-count --artifact-dir aiperf --ui none
}
run_genai_bench() {
  $limit "$envs/genai-bench/bin/genai-bench" benchmark --api-backend openai --api-base "$url" --api-key none --task text-to-text --api-model-name "$model" \
    --model-tokenizer "$tokenizer" --num-concurrency 4 --traffic-scenario "D(50,20)" --max-requests-per-run "$n" --max-time-per-run 2 \
    --additional-request-params '{"ignore_eos": true}' --experiment-base-dir . --experiment-folder-name genai-bench
}
run_inference_perf() { # two stages, of which the second is compared
  cat > inference-perf.yaml <<YAML
api: {type: completion, streaming: true}
data: {type: random, input_distribution: {min: 50, max: 50, mean: 50, std_dev: 0, total_count: $n}, output_distribution: {min: 20, max: 20, mean: 20, std_dev: 0, total_count: $n}}
load: {type: concurrent, interval: 1, num_workers: 1, stages: [{num_requests: 20, concurrency_level: 2}, {num_requests: $n, concurrency_level: 4}]}
server: {type: vllm, model_name: $model, base_url: "$url", ignore_eos: true}
tokenizer: {pretrained_model_name_or_path: "$tokenizer"}
report: {request_lifecycle: {summary: true, per_stage: true, per_request: true}}
storage: {local_storage: {path: inference-perf}}
YAML
  $limit "$envs/inference-perf/bin/inference-perf" -c inference-perf.yaml
}
run_evalscope() {
  $limit "$envs/evalscope/bin/evalscope" perf --model "$model" --url "$url/v1/chat/completions" --api openai --tokenizer-path "$tokenizer" --dataset random \
    --min-prompt-length 50 --max-prompt-length 50 --max-tokens 20 --min-tokens 20 --parallel 4 --number "$n" --extra-args '{"ignore_eos": true}' \
    --outputs-dir evalscope --no-timestamp --name run --stream
}
run_optuna() { mkdir -p optuna && "$envs/optuna/bin/python" "$here/readers_history.py" optuna optuna; }
run_mlflow() { mkdir -p mlflow && "$envs/mlflow/bin/python" "$here/readers_history.py" mlflow mlflow; }
run_tables() {
  mkdir -p tables && "$sweepbook" export --format csv --out tables/trials.csv && "$sweepbook" export --format parquet --out tables/trials.parquet &&
    "$envs/tables/bin/python" "$here/readers_check.py" tables tables
}

status=0
said() { # TOOL WORDS
  printf '%-16s %s\n' "$1" "$2" | tee -a "$work/said.txt"
  case $2 in differs* | did*) status=1 ;; esac
}

cd "$work" || exit 1
usable=()
for tool in "$@"; do
  wanted=$(packages "$tool") || exit 2
  # shellcheck disable=SC2086 # a list of words
  if { [ "$tool" = guidellm ] && [ -e "$folder/guidellm/ready" ]; } || install "$tool" $wanted > "$tool-install.log" 2>&1; then
    usable+=("$tool")
  else
    said "$tool" "could not be installed: $(tail -1 "$tool-install.log")"
  fi
done
[ ${#usable[@]} -gt 0 ] || exit 1

# Clients count with a tokenizer; a tiny one does.
repo=$folder/hf/hub/models--sweepbook--tiny-qwen3 revision=0000000000000000000000000000000000000000
tokenizer=$repo/snapshots/$revision
if [ ! -e "$repo/refs/main" ]; then
  [ -e "$envs/tokenizers/ready" ] || install tokenizers tokenizers > tokenizers-install.log 2>&1 || exit 1
  "$envs/tokenizers/bin/python" "$here/tiny_model.py" "$tokenizer" "$root"/README.md "$root"/docs/*.md --tokenizer-only || exit 1
  mkdir -p "$repo/refs"
  printf %s "$revision" > "$repo/refs/main"
fi

"$sweepbook" sim-server --model "$model" --port "$port" > sim.log 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; wait $server 2> /dev/null' EXIT
for _ in $(seq 100); do
  "$envs/uv/bin/python" -c "import urllib.request as u; u.urlopen('$url/v1/models')" 2> /dev/null && break
  kill -0 $server 2> /dev/null || { tail -3 sim.log >&2; exit 1; }
  sleep 0.2
done
ruler() {
  "$sweepbook" bench "$url" --model "$model" --study ruler --dataset random --input 50 --output-len 20 --requests "$n" --concurrency 4 > "ruler-$1.txt" 2>&1 ||
    { tail -3 "ruler-$1.txt" >&2; exit 1; }
}
ruler before
for tool in "${usable[@]}"; do
  name=${tool//-/_}
  if ! "run_$name" > "$tool.log" 2>&1; then
    said "$tool" "did not run: $(grep -v '^\s*$' "$tool.log" | tail -1 | cut -c1-200)"
    continue
  fi
  [ "$tool" != tables ] || { said tables ok; continue; }
  if ! "$sweepbook" import --study "$tool" "$tool" > "$tool-import.log" 2>&1; then
    said "$tool" "differs: import: $(tail -1 "$tool-import.log")"
    continue
  fi
  "$sweepbook" export --format ndjson --where "study == \"ruler\" or study == \"$tool\"" --out "$tool.ndjson"
  if "$envs/uv/bin/python" "$here/readers_check.py" "$tool" "$tool" "$tool.ndjson" "$n" > "$tool-check.txt"; then
    said "$tool" ok
  else
    said "$tool" "differs: $(grep DIFFERS "$tool-check.txt" | head -3 | tr '\n' ' ')"
  fi
done
ruler after
echo
"$sweepbook" -o md query 'show study, option, completed, output_tokens, median_ttft_ms, median_tpot_ms, median_e2el_ms where completed > 50 and not missing(median_e2el_ms)'
exit $status
