"""Write a tiny Qwen3 with random weights into a folder: config.json,
model.safetensors and a tokenizer trained on text of this repository.

    tiny_model.py FOLDER TEXT... [--tokenizer-only]

It knows nothing and needs no download, yet an engine loads and serves it like
any other checkpoint. The same arguments give the same files. With
--tokenizer-only the weights are left out, which is all that a benchmark client
needs.
"""

import argparse
import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

VOCABULARY = 4096
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# How Qwen cuts text into words before it merges bytes.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 4096,
    "attention_bias": False,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def write_tokenizer(folder: Path, texts: list[Path]) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train(
        [str(t) for t in texts],
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "Qwen2TokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": CONFIG["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def write_weights(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    head = CONFIG["head_dim"]
    queries, keys = CONFIG["num_attention_heads"] * head, CONFIG["num_key_value_heads"] * head

    def drawn(*shape):
        return (torch.randn(*shape) * 0.05).to(torch.bfloat16)

    def ones(size):
        return torch.ones(size, dtype=torch.bfloat16)

    tensors = {"model.embed_tokens.weight": drawn(VOCABULARY, hidden), "model.norm.weight": ones(hidden)}
    for i in range(CONFIG["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        tensors |= {
            layer + "input_layernorm.weight": ones(hidden),
            layer + "post_attention_layernorm.weight": ones(hidden),
            layer + "self_attn.q_proj.weight": drawn(queries, hidden),
            layer + "self_attn.k_proj.weight": drawn(keys, hidden),
            layer + "self_attn.v_proj.weight": drawn(keys, hidden),
            layer + "self_attn.o_proj.weight": drawn(hidden, queries),
            layer + "self_attn.q_norm.weight": ones(head),
            layer + "self_attn.k_norm.weight": ones(head),
            layer + "mlp.gate_proj.weight": drawn(inner, hidden),
            layer + "mlp.up_proj.weight": drawn(inner, hidden),
            layer + "mlp.down_proj.weight": drawn(hidden, inner),
        }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("texts", type=Path, nargs="+")
    arguments.add_argument("--tokenizer-only", action="store_true")
    a = arguments.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    (a.folder / "config.json").write_text(json.dumps(CONFIG, indent=1))
    write_tokenizer(a.folder, a.texts)
    if not a.tokenizer_only:
        write_weights(a.folder)


if __name__ == "__main__":
    main()
