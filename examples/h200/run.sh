#!/usr/bin/env bash
# run.sh STEP: the real study, step by step, on a machine with one Hopper GPU.
#
#   install PARTS   joins and installs what PARTS holds: vllm-*.part (pieces of one
#                   tar.xz of vLLM's unpacked wheel), *.whl, sweepbook.xz, tokenizer/
#   smoke           starts the engine three times, one after another, until each is ready
#   study [SECS]    carries the study out, at most SECS seconds; again to resume
#   crash SECS      starts the study and kills its core with SIGKILL after SECS
#   ruler           one server, measured by sweepbook bench and by vllm bench serve
#   collect OUT     export, answers, charts, report, audit and logs, into OUT
#
# Everything is kept under $WORK. With vLLM 0.24.0 and sweepbook on the PATH and
# Qwen3-8B's files in HF_HOME, install can be left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
WORK=${WORK:-/tmp/sweepbook-h200}
export HF_HOME=${HF_HOME:-$WORK/hf} HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1 SWEEPBOOK_DB=$WORK/history.db
export PATH=$WORK/bin:$PATH
mkdir -p "$WORK/bin" "$WORK/logs"
study=$(sed -n 's/^study: //p' "$here/study.yaml")
serve=(vllm serve Qwen/Qwen3-8B --load-format=dummy --max-model-len=4096 --host=127.0.0.1)

say() { echo "$(date -u +%H:%M:%S) $*" | tee -a "$WORK/logs/steps.log"; }

gpu() { say "GPU memory: $(nvidia-smi --query-gpu=memory.used --format=csv,noheader) ($*)"; }

# left lists the processes of an engine. None should be left after a step.
left() {
  local n
  n=$(ps -eo pid,args | grep -E 'vllm serve|EngineCore|VLLM::|sweepbook (shim|run|engine-serve)' | grep -v grep | tee -a "$WORK/logs/left.log" | wc -l)
  say "processes left: $n ($*)"
}

# watch writes GPU memory and power each second, beside what sweepbook itself reads.
watch() {
  nvidia-smi --query-gpu=timestamp,memory.used,power.draw,clocks.sm,utilization.gpu --format=csv,noheader,nounits -l 1 >> "$WORK/logs/gpu.csv" &
  watcher=$!
}

# ready PORT SECS PID waits for a server, as long as its process lives.
ready() {
  for _ in $(seq "$2"); do
    kill -0 "$3" 2> /dev/null || return 1
    curl -sf "http://127.0.0.1:$1/v1/models" > /dev/null && return 0
    sleep 1
  done
  return 1
}

install() {
  local site
  site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cat "$1"/vllm-*.part | xz -dc -T0 2> /dev/null | tar -x -C "$site" || python3 - "$1" "$site" <<'PY'
import glob, io, lzma, sys, tarfile
data = b"".join(open(p, "rb").read() for p in sorted(glob.glob(sys.argv[1] + "/vllm-*.part")))
tarfile.open(fileobj=io.BytesIO(lzma.decompress(data))).extractall(sys.argv[2])
PY
  python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir "$1"/*.whl 2>&1 | tail -5
  python3 - "$1" "$WORK" <<'PY'
import lzma, os, sys
parts, work = sys.argv[1:]
for src, dst in ((parts + "/sweepbook.xz", work + "/bin/sweepbook"), (parts + "/tokenizer/tokenizer.json.xz", parts + "/tokenizer/tokenizer.json")):
    open(dst, "wb").write(lzma.open(src).read())
os.chmod(work + "/bin/sweepbook", 0o755)
py = sys.executable
open(work + "/bin/vllm", "w").write(f"#!{py}\nimport sys\nfrom vllm.entrypoints.cli.main import main\nif __name__ == \"__main__\":\n    sys.exit(main())\n")
os.chmod(work + "/bin/vllm", 0o755)
PY
  sh "$here/model.sh" "$1/tokenizer" "$HF_HOME"
  cp "$here/study.yaml" "$WORK/"
  python3 -c 'import vllm, torch, transformers, sys; print("python", sys.version.split()[0], "vllm", vllm.__version__, "torch", torch.__version__, "transformers", transformers.__version__)' 2>&1 | tail -3 | tee "$WORK/logs/versions.txt"
  nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm --format=csv | tee -a "$WORK/logs/versions.txt"
  { uname -srm; sweepbook version; } | tee -a "$WORK/logs/versions.txt"
}

smoke() {
  local flags server
  gpu before smoke
  # One after another: vLLM refuses to measure its memory while others change theirs.
  for flags in "" "--quantization=fp8" "--attention-backend=TRITON_ATTN"; do
    "${serve[@]}" --port=8201 $flags > "$WORK/logs/smoke.log" 2>&1 &
    server=$!
    if ready 8201 150 $server; then
      say "ready: ${flags:-baseline}"
    else
      say "NOT ready: ${flags:-baseline}"
      tail -25 "$WORK/logs/smoke.log"
    fi
    kill $server 2> /dev/null
    wait $server 2> /dev/null
    sleep 2
    gpu after "${flags:-baseline}"
  done
  left smoke
}

run_study() {
  say "study: at most $1 s"
  gpu before study
  watch
  (cd "$WORK" && timeout -s INT -k 30 "$1" sweepbook run study.yaml) >> "$WORK/logs/run.out" 2>> "$WORK/logs/run.err"
  say "study: exit $?"
  kill "$watcher"
  tail -60 "$WORK/logs/run.err"
  cat "$WORK/logs/run.out"
  gpu after study
  left study
}

crash() {
  gpu before crash
  watch
  (cd "$WORK" && exec sweepbook run study.yaml) >> "$WORK/logs/run.out" 2>> "$WORK/logs/run.err" &
  local core=$!
  sleep "$1"
  tail -4 "$WORK/logs/run.err"
  gpu while the trial runs
  kill -9 "$core"
  say "core $core killed with SIGKILL"
  local i
  for i in $(seq 20); do
    sleep 0.5
    if [ "$(nvidia-smi --query-compute-apps=pid --format=csv,noheader | wc -l)" = 0 ] && ! pgrep -f 'vllm serve' > /dev/null; then
      say "nothing on the GPU after $i half seconds"
      break
    fi
  done
  gpu after crash
  left crash
  kill "$watcher"
}

ruler() {
  local url=http://127.0.0.1:8300 n out i
  gpu before ruler
  "${serve[@]}" --port=8300 > "$WORK/logs/ruler-server.log" 2>&1 &
  local server=$!
  ready 8300 150 $server || { tail -20 "$WORK/logs/ruler-server.log"; kill $server; return 1; }
  for i in 1 2; do
    for n in 4 64; do
      sweepbook bench $url --engine vllm --study ruler --dataset random --endpoint completions \
        --input 512 --output-len 128 --requests $((n * 8)) --concurrency $n --warmup $n 2>&1 | tee -a "$WORK/logs/ruler.txt"
      out=vllm-bench-c$n-$i.json
      vllm bench serve --backend openai --base-url $url --endpoint /v1/completions --model Qwen/Qwen3-8B --dataset-name random \
        --random-input-len 512 --random-output-len 128 --num-prompts $((n * 8)) --max-concurrency $n --num-warmups $n --seed $((50 + i)) --ignore-eos \
        --temperature 0 --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,95,99 --save-result --result-dir "$WORK" --result-filename $out 2>&1 |
        grep -vE 'INFO|WARNING|it/s' | tee -a "$WORK/logs/ruler.txt" | grep -E 'throughput|Mean|Successful'
    done
  done
  kill $server
  wait $server 2> /dev/null
  sleep 2
  gpu after ruler
  left ruler
  sweepbook import "$WORK"/vllm-bench-*.json 2>&1 | tee -a "$WORK/logs/ruler.txt"
}

collect() {
  local c="$WORK/collected" q
  rm -rf "$c"
  mkdir -p "$c"
  sweepbook tag h200-dummy-weights where 'study == "'"$study"'"' > "$c/tag.txt" 2>&1 || sweepbook tag --help > "$c/tag-help.txt" 2>&1
  sweepbook export --out "$c/history.ndjson"
  {
    for q in 'max output_tps where success_rate == 1 by concurrency vs role == "baseline"' \
      'show number, option, concurrency, status, failure, output_tps, mean_tpot_ms, mean_ttft_ms, mbu, mean_power_w, sm_clock_mhz, success_rate, findings where study == "'"$study"'" limit 200' \
      'show mean(output_tps), mean(mean_tpot_ms), mean(mbu), mean(mean_power_w), count() where status == "ok" by option, concurrency'; do
      echo "\$ sweepbook query '$q'"
      sweepbook query "$q" 2>&1
      echo
    done
    echo '$ sweepbook audit'
    sweepbook audit 2>&1
    echo '$ sweepbook list --studies'
    sweepbook list --studies 2>&1
  } > "$c/answers.txt"
  sweepbook report --out "$c/report" "$study" > "$c/report.log" 2>&1
  sweepbook chart --out "$c/throughput.png" -x concurrency 'max output_tps where success_rate == 1 by option, concurrency' > "$c/chart.log" 2>&1
  cp "$WORK/history.db" "$c/" 2> /dev/null
  cp -r "$WORK/logs" "$c/"
  find "$WORK" "$HOME/.local/share/sweepbook" -maxdepth 6 -name '*.log' -size -300k -newer "$WORK/study.yaml" 2> /dev/null | grep -v collected | tar -czf "$c/run-logs.tgz" -T - 2> /dev/null
  tar -czf "$1/collected.tgz" -C "$WORK" collected $(cd "$WORK" && ls vllm-bench-*.json 2> /dev/null)
  cat "$c/answers.txt"
  ls -la "$1"
}

step=$1
shift
case $step in
install) install "$@" ;;
smoke) smoke ;;
study) run_study "${1:-550}" ;;
crash) crash "$1" ;;
ruler) ruler ;;
collect) collect "$1" ;;
*) echo "run.sh: no step $step" >&2; exit 2 ;;
esac
