#!/usr/bin/env bash
# peers-real.sh FOLDER SWEEPBOOK
#
# Starts the real vLLM that install.sh put into FOLDER on its tiny model, and lets
# agree.sh measure it by the ruler, vllm bench serve and guidellm. On a real server
# the runs differ by more than definitions, so that the tables are printed and
# nothing is judged.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)
sweepbook=$2
port=${PORT:-27390}
mkdir -p "$folder/real"
log=$folder/real/peers-server.log
export HF_HOME=$folder/hf HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1

"$folder/vllm/bin/vllm" serve sweepbook/tiny-qwen3 --max-model-len=1024 --gpu-memory-utilization=0.1 --enforce-eager \
  --host=127.0.0.1 --port="$port" > "$log" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; wait $server 2> /dev/null || true' EXIT
for _ in $(seq 360); do
  kill -0 $server 2> /dev/null || { echo "peers-real.sh: vLLM ended: $log" >&2; exit 1; }
  "$folder/vllm/bin/python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/v1/models')" 2> /dev/null && break
  sleep 1
done
"$here/agree.sh" "$folder" "$sweepbook" "http://127.0.0.1:$port" sweepbook/tiny-qwen3
