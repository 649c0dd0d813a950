#!/bin/sh
# model.sh TOKENIZER_FOLDER HF_HOME
#
# Puts a checkpoint with the shape of Qwen3-8B and no weights where a download of
# Qwen/Qwen3-8B would stand in HF_HOME, for load_format: dummy on a machine without
# a network. TOKENIZER_FOLDER holds Qwen3's tokenizer.json and tokenizer_config.json.
set -eu
repo="$2/hub/models--Qwen--Qwen3-8B"
model="$repo/snapshots/0000000000000000000000000000000000000000"
mkdir -p "$model" "$repo/refs"
printf 0000000000000000000000000000000000000000 > "$repo/refs/main"
cp "$1/tokenizer.json" "$1/tokenizer_config.json" "$model/"
cat > "$model/config.json" <<'JSON'
{
  "architectures": ["Qwen3ForCausalLM"],
  "model_type": "qwen3",
  "torch_dtype": "bfloat16",
  "vocab_size": 151936,
  "hidden_size": 4096,
  "intermediate_size": 12288,
  "num_hidden_layers": 36,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "head_dim": 128,
  "hidden_act": "silu",
  "max_position_embeddings": 40960,
  "rms_norm_eps": 1e-06,
  "rope_theta": 1000000,
  "rope_scaling": null,
  "attention_bias": false,
  "attention_dropout": 0.0,
  "use_sliding_window": false,
  "sliding_window": null,
  "max_window_layers": 36,
  "tie_word_embeddings": false,
  "initializer_range": 0.02,
  "use_cache": true,
  "bos_token_id": 151643,
  "eos_token_id": 151645
}
JSON
cat > "$model/generation_config.json" <<'JSON'
{"bos_token_id": 151643, "eos_token_id": [151645, 151643], "pad_token_id": 151643}
JSON
