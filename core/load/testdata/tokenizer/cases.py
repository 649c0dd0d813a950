"""Writes what the reference encoder (the Python package tokenizers) gives.

usage: cases.py TOKENIZER_JSON CASES_JSON [RANDOM_TEXTS]
"""

import hashlib
import json
import sys

import tokenizers

import texts

path, out = sys.argv[1:3]
extra = int(sys.argv[3]) if len(sys.argv) > 3 else 0
reference = tokenizers.Tokenizer.from_file(path)
cases = [{"text": t, "ids": reference.encode(t).ids} for t in [*texts.FIXED, *texts.random_texts(extra)]]
with open(path, "rb") as f:
    digest = hashlib.sha256(f.read()).hexdigest()
with open(out, "w", encoding="utf-8") as f:
    head = {"reference": "tokenizers " + tokenizers.__version__, "sha256": digest}
    json.dump({**head, "cases": cases}, f, ensure_ascii=True, separators=(",", ":"))
    f.write("\n")
