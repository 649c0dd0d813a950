"""Makes small.json and expected.json with the Python package tokenizers.

small.json is a tokenizer.json of a few hundred tokens, trained on the built-in
conversations and on texts.py: real files have 10 MB. expected.json holds, for
each family of models, what differs in its tokenizer.json (the rest is
small.json's) and the token ids that the reference encoder then gives.

usage: python make.py      (in this folder)
"""

import copy
import json

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

import texts

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def level(use_regex=False):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": [*parts, level()]}


def token(number, content, normalized=False):
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    return {"id": number, "content": content, **flags, "normalized": normalized, "special": not normalized}


def train():
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    with open("../../builtin.json", encoding="utf-8") as f:
        corpus = [turn["value"] for c in json.load(f) for turn in c["conversations"]]
    trainer = trainers.BpeTrainer(
        vocab_size=1000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, special_tokens=[]
    )
    t.train_from_iterator([*corpus, *texts.FIXED * 4, *texts.WORDS * 3], trainer)
    file = json.loads(t.to_str())
    n = len(file["model"]["vocab"])
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start|>user", "<|begin_of_text|>"]
    file["added_tokens"] = [token(n + i, name) for i, name in enumerate(names)]
    file["added_tokens"].append(token(n + len(names), "<think>", normalized=True))
    file["normalizer"] = {"type": "NFC"}
    file["pre_tokenizer"] = sequence(split(QWEN))
    file["post_processor"] = level()
    file["decoder"] = None
    return file


def every_split(model):
    """The merges as a conversion from ranks lists them: all pairs that join to a token."""
    vocab = model["vocab"]
    for text, number in sorted(vocab.items(), key=lambda item: item[1]):
        pairs = [(text[:i], text[i:]) for i in range(1, len(text)) if text[:i] in vocab and text[i:] in vocab]
        yield from sorted(pairs, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))


def families(base):
    begin = next(a for a in base["added_tokens"] if a["content"] == "<|begin_of_text|>")
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": begin["content"], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {begin["content"]: {"id": begin["content"], "ids": [begin["id"]], "tokens": [begin["content"]]}},
    }
    yield "qwen", {}
    yield (
        "llama3",
        {
            "normalizer": None,
            "pre_tokenizer": sequence(split(LLAMA)),
            "post_processor": {"type": "Sequence", "processors": [level(), template]},
            "model": {"ignore_merges": True, "merges": [list(pair) for pair in every_split(base["model"])]},
        },
    )
    yield "gpt2", {"normalizer": None, "pre_tokenizer": level(use_regex=True)}
    yield "gpt4o", {"normalizer": None, "pre_tokenizer": sequence(split(CASED, "Removed", True))}
    yield "gpt-oss", {"normalizer": None, "pre_tokenizer": sequence(split(CASED))}
    yield (
        "deepseek",
        {"normalizer": {"type": "Sequence", "normalizers": []}, "pre_tokenizer": sequence(*map(split, DEEPSEEK))},
    )


def main():
    base = train()
    with open("small.json", "w", encoding="ascii") as f:
        json.dump(base, f, separators=(",", ":"))
        f.write("\n")
    out = {"reference": "tokenizers " + tokenizers.__version__, "families": {}}
    for name, change in families(base):
        file = copy.deepcopy(base)
        file["model"].update(change.get("model", {}))
        file.update({k: v for k, v in change.items() if k != "model"})
        reference = tokenizers.Tokenizer.from_str(json.dumps(file))
        cases = [{"text": t, "ids": reference.encode(t).ids} for t in [*texts.FIXED, *texts.random_texts(20)]]
        out["families"][name] = {"change": change, "cases": cases}
    with open("expected.json", "w", encoding="ascii") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
