"""Write a tiny Llama with random weights as one GGUF file:

    tiny_gguf.py FILE

It knows nothing and needs no download, yet llama.cpp loads and serves it like any
other model. The same version of numpy gives the same file. Needs the package gguf.
"""

import sys
from pathlib import Path

import gguf
import numpy as np

HIDDEN, INNER, LAYERS, HEADS, KEYS, CONTEXT = 128, 256, 2, 4, 2, 4096


def vocabulary():
    """Tokens, scores and types: what a text needs at least, each byte and each
    printable character, with a blank written as ▁."""
    special = [("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL)]
    raw = [("<0x%02X>" % b, gguf.TokenType.BYTE) for b in range(256)]
    letters = [(chr(c), gguf.TokenType.NORMAL) for c in range(33, 127)] + [("▁", gguf.TokenType.NORMAL)]
    tokens = special + raw + letters
    return [t for t, _ in tokens], [0.0] * len(tokens), [kind for _, kind in tokens]


def main():
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    tokens, scores, kinds = vocabulary()
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("tiny")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(HIDDEN)
    out.add_feed_forward_length(INNER)
    out.add_block_count(LAYERS)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KEYS)
    out.add_rope_dimension_count(HIDDEN // HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(tokens))
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    out.add_tokenizer_model("llama")
    out.add_token_list(tokens)
    out.add_token_scores(scores)
    out.add_token_types(kinds)
    out.add_unk_token_id(0)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)

    random = np.random.default_rng(0)

    def drawn(name, rows, columns, silent=0):
        weights = random.standard_normal((rows, columns)) * 0.05
        weights[:silent] = 0
        out.add_tensor(name, weights.astype(np.float16))

    def ones(name):
        out.add_tensor(name, np.ones(HIDDEN, dtype=np.float32))

    head = HIDDEN // HEADS
    drawn("token_embd.weight", len(tokens), HIDDEN)
    ones("output_norm.weight")
    # A byte may be half a character, which a server keeps back until the other half
    # comes: without weights, bytes are never the likeliest token.
    drawn("output.weight", len(tokens), HIDDEN, silent=sum(kind != gguf.TokenType.NORMAL for kind in kinds))
    for i in range(LAYERS):
        layer = "blk.%d." % i
        ones(layer + "attn_norm.weight")
        ones(layer + "ffn_norm.weight")
        drawn(layer + "attn_q.weight", HEADS * head, HIDDEN)
        drawn(layer + "attn_k.weight", KEYS * head, HIDDEN)
        drawn(layer + "attn_v.weight", KEYS * head, HIDDEN)
        drawn(layer + "attn_output.weight", HIDDEN, HEADS * head)
        drawn(layer + "ffn_gate.weight", INNER, HIDDEN)
        drawn(layer + "ffn_up.weight", INNER, HIDDEN)
        drawn(layer + "ffn_down.weight", HIDDEN, INNER)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
