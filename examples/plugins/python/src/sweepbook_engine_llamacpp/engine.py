"""llama.cpp's server: how it is found, started, watched and asked for its settings."""

import os
import re
import shutil
import subprocess

from . import engine_pb2 as pb
from .errors import EngineError, Invalid, NotFound
from .failures import classify
from .flags import KNOBS, RESERVED
from .knobs import flags
from .log import FAILURES
from .ready import await_ready, get

NAME = "llamacpp"
PROGRAM = "llama-server"
HOW_TO_GET = "build llama-server from llama.cpp, or name yours in the study: engines: {llamacpp: {cmd: /path/of/llama-server}}"
MINUTE = 60 * 10**9


class Engine:
    def info(self, _request):
        return pb.InfoResponse(name=NAME, version="0.1.0", knobs=[knob.info() for knob in KNOBS])

    def probe(self, request):
        command = shutil.which(_program(request.origin))
        if command is None:
            raise NotFound("%s is not here: %s" % (_program(request.origin), HOW_TO_GET))
        return pb.ProbeResponse(command=command, version=_version(command))

    def plan(self, request):
        config, model = request.config, request.config.checkpoint or request.config.model
        argv = [_program(request.origin), *_weights(request), "--alias", model, "--host", request.host, "--port", str(request.port)]
        argv += flags(NAME, KNOBS, config.knobs, RESERVED, raw=True)
        ready = pb.ReadyRule(base_url="http://%s:%d" % (request.host, request.port), model=model, timeout_ns=30 * MINUTE, idle_ns=10 * MINUTE)
        plan = pb.Plan(ready=ready)
        plan.processes.add(name="server", argv=argv, env=config.env, gpus=request.gpus)
        return pb.PlanResponse(plan=plan)

    def prepare(self, request):
        """Looks for the program and the file of the weights."""
        argv = request.plan.processes[0].argv
        found, needs = shutil.which(argv[0]) or "", []
        needs.append(pb.Need(kind="engine", name=PROGRAM, found=found, problem="" if found else HOW_TO_GET))
        if argv[1] == "--model":
            there = os.path.isfile(argv[2])
            needs.append(pb.Need(kind="model", name=argv[2], found=argv[2] if there else "", problem="" if there else "there is no such file"))
        return pb.PrepareResponse(needs=needs)

    def launch(self, request, context):
        return await_ready(request, context, self._classify, lambda base_url: _read_back(base_url, request.plan.processes[0].argv[0]))

    def stop(self, _request):
        return pb.StopResponse()  # llama-server ends in order at the SIGTERM that Sweepbook sends

    def diagnose(self, request):
        return self._classify(request.log_tail)

    def _classify(self, log_tail):
        return classify(log_tail, FAILURES)


def _program(origin):
    if origin.image or origin.url:
        raise Invalid("engine llamacpp: it is started as a program of this machine: use cmd: or venv:, not image: or url:")
    return origin.cmd or (os.path.join(origin.venv, "bin", PROGRAM) if origin.venv else PROGRAM)


def _version(command):
    try:
        # Its input is not ours, which is the lifeline.
        said = subprocess.run([command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise EngineError("%s --version: %s" % (command, err)) from err
    found = re.search(r"^version: (\S+)", said.stdout + said.stderr, re.MULTILINE)
    return found.group(1) if found else ""


def _weights(request):
    """A folder of this machine that holds the checkpoint as one GGUF file, a GGUF file,
    or a repository that llama-server fetches itself."""
    folder, checkpoint = request.model_path, request.config.checkpoint or request.config.model
    if folder:
        return ["--model", os.path.join(folder, _only_gguf(folder))]
    if checkpoint.endswith(".gguf"):
        return ["--model", checkpoint]
    return ["--hf-repo", checkpoint]


def _only_gguf(folder):
    try:
        names = sorted(n for n in os.listdir(folder) if n.endswith(".gguf") and not n.startswith("mmproj"))
    except OSError as err:
        raise Invalid("model folder %s: %s" % (folder, err.strerror)) from err
    first = [n for n in names if not re.search(r"-of-\d{5}\.gguf$", n) or "-00001-of-" in n]  # it finds the other parts itself
    if len(first) != 1:
        raise Invalid("model folder %s: want one GGUF file (or the parts of one), it has %s" % (folder, ", ".join(first) or "none"))
    return first[0]


def _read_back(base_url, command):
    """What the server says of itself: its build, its slots and the room of each."""
    try:
        props = get(base_url + "/props")
    except (OSError, ValueError):
        props = {}  # it measures as well without
    resolved = {}
    if isinstance(props.get("total_slots"), int):
        resolved["max_num_seqs"] = pb.Value(number=props["total_slots"])
    room = props.get("default_generation_settings", {}).get("n_ctx")
    if isinstance(room, int):
        resolved["context_len"] = pb.Value(number=room)
    build = re.fullmatch(r"b(\d+)-\w+", str(props.get("build_info")))
    known = build and build.group(1) != "0"  # 0: built outside a checkout
    return {"version": build.group(1) if known else _version(command), "resolved": resolved}
