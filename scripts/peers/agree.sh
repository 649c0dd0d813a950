#!/usr/bin/env bash
# agree.sh FOLDER SWEEPBOOK [URL MODEL]
#
# Measures one server by sweepbook bench, by vllm bench serve and by guidellm, one
# after the other, imports what the other two wrote and compares. Without URL the
# server is the mock of core/load's tests, which streams on a known schedule: then
# figures that differ by more than one percent without a reason end it with 1.
# History, results and tables are kept in FOLDER/agree, or FOLDER/agree-real.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$(cd "$1" && pwd)
sweepbook=$(realpath "$2")
url=${3:-} model=${4:-org/model-8b}
work=$folder/agree${url:+-real}
requests=128 concurrency=16 tokens=20 report=
[ -z "$url" ] || requests=512 tokens=100 report=--report
rm -rf "$work"
mkdir -p "$work"
export SWEEPBOOK_DB=$work/history.db HF_HOME=$folder/hf HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1

if [ -z "$url" ]; then
  (cd "$root" && ${GO:-go} test -c -o "$work/load.test" ./core/load)
  mkfifo "$work/hold"
  SWEEPBOOK_LOAD_TEST_ROLE=server SWEEPBOOK_MOCK_PACE='{"First":1000000000,"Gap":100000000}' "$work/load.test" > "$work/address" < "$work/hold" &
  exec 9> "$work/hold" # the server ends when nobody holds its input
  until [ -s "$work/address" ]; do sleep 0.1; done
  url=http://$(cat "$work/address")
fi
"$folder/vllm/bin/python" - "$requests" "$tokens" > "$work/prompts.jsonl" <<'PY'
import json, sys
for i in range(int(sys.argv[1])):
    print(json.dumps({"prompt": f"request {i} of many", "output_tokens": int(sys.argv[2]), "output_tokens_count": int(sys.argv[2])}))
PY

"$sweepbook" bench "$url" --model "$model" --dataset custom --data "$work/prompts.jsonl" --requests $requests --concurrency $concurrency \
  --ignore-eos > "$work/ruler.txt"
"$folder/vllm/bin/vllm" bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url "$url" --model "$model" \
  --tokenizer "$folder/tokenizer" --dataset-name custom --dataset-path "$work/prompts.jsonl" --custom-output-len -1 --skip-chat-template \
  --disable-shuffle --num-prompts $requests --max-concurrency $concurrency --ignore-eos --disable-tqdm \
  --percentile-metrics ttft,tpot,itl,e2el --save-result --save-detailed --result-dir "$work" --result-filename vllm-bench.json > "$work/vllm-bench.txt" 2>&1
"$folder/guidellm/bin/guidellm" run --backend kind=openai_http,target="$url",model="$model" --profile kind=concurrent,streams=$concurrency \
  --constraint kind=max_requests,count=$requests --tokenizer kind=huggingface_auto,model="$folder/tokenizer" \
  --data kind=json_file,path="$work/prompts.jsonl" --output kind=json,path="$work/guidellm.json" --disable-console > "$work/guidellm.txt" 2>&1
"$sweepbook" import --set dataset=custom --set workload=custom "$work/vllm-bench.json" "$work/guidellm.json"

status=0
check() { # NUMBER NAME [METRIC=REASON]...
  local number=$1 name=$2
  shift 2
  echo
  "$sweepbook" compare 1 "$number" --output json | "$folder/vllm/bin/python" "$here/agree.py" ruler "$name" $report "$@" | tee -a "$work/agreement.md" || status=1
}
set -o pipefail
# What may differ, and why; docs/ruler.md has the definitions.
jitter="jitter of server and client in this run"
seconds="counted by whole seconds"
extremes=()
for s in std min max p90 p95 p99; do extremes+=("${s}_ttft_ms=$jitter" "${s}_itl_ms=$jitter" "${s}_tpot_ms=$jitter" "${s}_e2el_ms=$jitter"); done
check 2 "vllm bench serve" "peak_concurrency=$seconds" "peak_output_tps=$seconds" "${extremes[@]}"
check 3 guidellm "${extremes[@]}"
exec 9>&-
exit $status
