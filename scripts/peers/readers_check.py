"""Hold what sweepbook imported against what the tool itself wrote.

    readers_check.py TOOL FOLDER EXPORT.ndjson N    of a load generator or a history
    readers_check.py tables FOLDER                  of the tables that export wrote

Reads the tool's own files in a few lines that share nothing with the reader under
test, works figures out of the imported requests, and looks at the ruler's record.
Prints a line a comparison, "DIFFERS" in the lines that do, and then ends with 1.
"""

import glob
import json
import statistics
import sys
from pathlib import Path

failures = []


def close(name, got, want, tolerance, why=""):
    numbers = isinstance(got, (int, float)) and isinstance(want, (int, float)) and want
    off = abs(got - want) / abs(want) if numbers else (0.0 if got == want else float("inf"))
    verdict = "agrees" if off <= tolerance else "DIFFERS"
    if verdict == "DIFFERS":
        failures.append(name)
    print(f"{name}: imported {got}, {why or 'want'} {want}: {verdict}")


def load(path):
    return json.loads(Path(path).read_text())


def own_figures(tool, folder):
    """What the tool's file says, in our units."""
    if tool == "guidellm":
        m = load(f"{folder}/benchmarks.json")["benchmarks"][0]["metrics"]
        mean = lambda key: m[key]["successful"]["mean"]
        return {"mean_ttft_ms": mean("time_to_first_token_ms"), "mean_e2el_ms": mean("request_latency") * 1000, "mean_itl_ms": mean("inter_token_latency_ms"), "rps": mean("requests_per_second")}
    if tool == "aiperf":
        d = load(f"{folder}/profile_export_aiperf.json")
        return {"mean_ttft_ms": d["time_to_first_token"]["avg"], "mean_tpot_ms": d["inter_token_latency"]["avg"], "mean_e2el_ms": d["request_latency"]["avg"],
                "output_tps": d["output_token_throughput"]["avg"], "rps": d["request_throughput"]["avg"]}
    if tool == "genai-bench":
        a = load(glob.glob(f"{folder}/D*.json")[0])["aggregated_metrics"]
        return {"mean_ttft_ms": a["stats"]["ttft"]["mean"] * 1000, "mean_tpot_ms": a["stats"]["tpot"]["mean"] * 1000, "mean_e2el_ms": a["stats"]["e2e_latency"]["mean"] * 1000,
                "output_tps": a["mean_output_throughput_tokens_per_s"], "rps": a["requests_per_second"]}
    if tool == "inference-perf":
        s = load(f"{folder}/stage_1_lifecycle_metrics.json")["successes"]
        return {"mean_ttft_ms": s["latency"]["time_to_first_token"]["mean"] * 1000, "mean_tpot_ms": s["latency"]["time_per_output_token"]["mean"] * 1000,
                "mean_e2el_ms": s["latency"]["request_latency"]["mean"] * 1000, "output_tps": s["throughput"]["output_tokens_per_sec"], "rps": s["throughput"]["requests_per_sec"]}
    s = load(glob.glob(f"{folder}/run/parallel_*/benchmark_summary.json")[0])
    return {"mean_ttft_ms": s["Avg TTFT (ms)"], "mean_tpot_ms": s["Avg TPOT (ms)"], "mean_e2el_ms": s["Avg Latency (s)"] * 1000, "output_tps": s["Output Throughput (tok/s)"], "rps": s["Req Throughput (req/s)"]}


def of_requests(samples, least, ended):
    """Mean latencies of completed requests, by the definitions of vllm bench."""
    ok = [s for s in samples if s["outcome"] == "ok"]
    ms = lambda s, a, b: (s[b] - s[a]) / 1e3  # an export has microseconds
    out = {"completed": len(ok), "mean_e2el_ms": statistics.mean(ms(s, "sent", ended) for s in ok)}
    streamed = [s for s in ok if "first" in s]
    out["mean_ttft_ms"] = statistics.mean(ms(s, "sent", "first") for s in streamed)
    out["mean_tpot_ms"] = statistics.mean(ms(s, "first", "last") / (s["out"] - 1) for s in streamed if s["out"] > 1 and s["last"] - s["first"] >= least)
    return out


def check_generator(tool, folder, records, n):
    ruler = [r["trial"] for r in records if r["trial"]["study"] == "ruler"][-1]
    mine = [r for r in records if r["trial"]["study"] == tool]
    if tool == "inference-perf":
        close("stages", len(mine), 2, 0)
        mine = [r for r in mine if r["trial"].get("option") == "stage 1"]
    if len(mine) != 1:
        failures.append("trials")
        print(f"trials: {len(mine)} instead of 1: DIFFERS")
        return
    trial, figures = mine[0]["trial"], mine[0]["trial"]["figures"]
    extra = {k: v for k, v in trial.get("extra", {}).items()}
    if tool != "genai-bench":  # which ends by time too
        close("completed", figures.get("completed"), n, 0)
    close("failed", figures.get("failed", 0), 0, 0)
    tokens = extra.get("server_output_tokens", figures.get("output_tokens"))
    # genai-bench counts the text that came, whatever the client's load took of it.
    close("output tokens, by the server", tokens, 20 * figures["completed"], 0.01 if tool == "genai-bench" else 0)
    for name, want in own_figures(tool, folder).items():
        close(name, figures.get(name), want, 1e-9, "the tool's file says")
    samples = mine[0].get("samples") or []
    close("single requests", len(samples), figures["completed"], 0)
    if samples:
        least = 1000 if tool == "genai-bench" else 0  # it gives faster answers no TPOT
        for name, want in of_requests(samples, least, "end" if tool == "guidellm" else "last").items():  # its latency is to the answer's end
            if name == "mean_tpot_ms" and "server_output_tokens" in extra:
                continue  # the tool divides by tokens of its own
            close(name, figures.get(name), want, 0.01, "of its requests")
    for name in ["median_ttft_ms", "median_tpot_ms", "median_e2el_ms"]:
        if name == "median_tpot_ms" and tool == "inference-perf":
            continue
        got, want = figures.get(name), ruler["figures"][name]
        # Another client with other prompts on a machine that may be busy: only a wrong
        # unit is ten times off.
        close(name, got, want, 9 if got and got > want else 0.9, "the ruler has")


def check_history(tool, records):
    trials = [r["trial"] for r in records if r["trial"]["study"] == tool]
    want = {"optuna": ["failed", "ok", "ok", "ok", "stopped"], "mlflow": sorted(2 * ["failed", "aborted", "ok", "ok", "ok"])}[tool]
    status = sorted(t["status"] for t in trials)
    close("states", status, want, 0)
    for t in trials:
        knobs, figures = t["setup"]["config"]["knobs"], t.get("figures", {})
        close("knobs", sorted(knobs), ["enable_prefix_caching", "kv_cache_dtype", "max_num_seqs"], 0)
        close("engine", t["setup"]["config"]["engine"], "vllm", 0)
        if t["status"] == "ok":
            close("output_tps", figures.get("output_tps"), 1000 + knobs["max_num_seqs"], 1e-12)
            close("p99_ttft_ms", figures.get("p99_ttft_ms"), knobs["max_num_seqs"] / 2, 1e-12)
        elif t["status"] == "failed":
            close("failure", t.get("failure"), "oom_runtime", 0)
        close("started", t.get("started_at", "")[:2], "20", 0)


def check_tables(folder):
    import duckdb
    import pandas
    import pyarrow.parquet

    csv, table = pandas.read_csv(f"{folder}/trials.csv"), pandas.read_parquet(f"{folder}/trials.parquet")
    close("columns", list(table.columns), list(csv.columns), 0)
    close("rows", len(table), len(csv), 0)
    close("rows in DuckDB", duckdb.sql(f"select count(*) from '{folder}/trials.parquet'").fetchall()[0][0], len(csv), 0)
    schema = pyarrow.parquet.read_schema(f"{folder}/trials.parquet")
    close("type of started_at", str(schema.field("started_at").type), "timestamp[ms, tz=UTC]", 0)
    compared = 0
    for name in table.columns:
        if table[name].dtype != "float64":
            continue
        a, b = table[name], pandas.to_numeric(csv[name].astype(str).replace("unlimited", "inf"), errors="coerce")
        same = (a == b) | (a.isna() & b.isna()) | ((a - b).abs() <= 1e-12 * a.abs())
        compared += 1
        if not same.all():
            close(name, a[~same].iloc[0], b[~same].iloc[0], 0)
    close("numeric columns", compared > 50, True, 0)


def main():
    tool, folder = sys.argv[1:3]
    if tool == "tables":
        check_tables(folder)
    else:
        records = [json.loads(line) for line in open(sys.argv[3])]
        records = [r for r in records if "trial" in r]
        if tool in ("optuna", "mlflow"):
            check_history(tool, records)
        else:
            check_generator(tool, folder, records, int(sys.argv[4]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
