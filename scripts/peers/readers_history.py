"""Keep a small study with Optuna or MLflow in FOLDER, for readers-real.sh.

    readers_history.py optuna|mlflow FOLDER

The numbers are made up and known to readers_check.py.
"""

import os
import sys

tool, folder = sys.argv[1:3]


def rate(seqs: int) -> float:
    return 1000.0 + seqs


if tool == "optuna":
    import optuna

    study = optuna.create_study(study_name="tuned by optuna", storage=f"sqlite:///{folder}/study.db", direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.set_metric_names(["output_throughput"])
    study.set_user_attr("engine", "vllm")

    def objective(trial):
        seqs = trial.suggest_int("max_num_seqs", 16, 256, step=16)
        trial.suggest_categorical("kv_cache_dtype", ["auto", "fp8"])
        trial.suggest_categorical("enable_prefix_caching", [True, False])
        trial.set_user_attr("p99_ttft_ms", seqs / 2)
        trial.report(1.0, 0)
        if trial.number == 1:
            trial.set_user_attr("failure_reason", "CUDA out of memory")
            raise RuntimeError("out of memory")
        if trial.number == 2:
            raise optuna.TrialPruned()
        return rate(seqs)

    study.optimize(objective, n_trials=5, catch=(RuntimeError,))
    study.ask()  # one that never ends
else:
    import mlflow

    def runs(uri):
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment("tuned by mlflow")
        for i, end in enumerate(["FINISHED", "FAILED", "KILLED", "FINISHED", "FINISHED"]):
            seqs = 32 * (i + 1)
            mlflow.start_run(run_name=f"run {i}")
            mlflow.log_params({"engine": "vllm", "max_num_seqs": seqs, "enable_prefix_caching": True, "kv_cache_dtype": "fp8"})
            mlflow.set_tag("gpu", "NVIDIA H200")
            if end == "FINISHED":
                for step in range(3):  # the last one counts
                    mlflow.log_metric("output_throughput", rate(seqs) - 2 + step, step=step)
                mlflow.log_metrics({"p99_ttft_ms": seqs / 2, "undefined": float("nan")})
            else:
                mlflow.set_tag("failure_reason", "CUDA out of memory")
            mlflow.end_run(end)

    runs(f"sqlite:///{folder}/mlflow.db")
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    runs(f"{folder}/mlruns")
