"""llama-server's flags that matter most, as in its build 11434; any other is passed on
under its own name (`defrag_thold: 0.1` gives --defrag-thold 0.1)."""

from .knobs import Knob

_CACHE = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")

KNOBS = [
    Knob("max_num_seqs", "--parallel", int, None, "requests that decode together (slots); by default as many as the server thinks fit", least=1),
    Knob("ctx_size", "--ctx-size", int, 0, "tokens in the KV cache of all slots together; 0 is what the model was trained for"),
    Knob("batch_size", "--batch-size", int, 2048, "tokens handed to the model at once, at most", least=1),
    Knob("ubatch_size", "--ubatch-size", int, 512, "tokens of these that are computed in one step", least=1),
    Knob("threads", "--threads", int, None, "threads that decode; by default one for each core", least=1),
    Knob("threads_batch", "--threads-batch", int, None, "threads that compute prompts; by default as many as decode", least=1),
    Knob("n_gpu_layers", "--n-gpu-layers", int, None, "layers that lie on the GPU; by default all that fit"),
    Knob("flash_attn", "--flash-attn", str, "auto", "flash attention", choices=("on", "off", "auto")),
    Knob("cache_type_k", "--cache-type-k", str, "f16", "number format of the keys in the KV cache", choices=_CACHE),
    Knob("cache_type_v", "--cache-type-v", str, "f16", "number format of the values in the KV cache", choices=_CACHE),
    Knob("kv_unified", "--kv-unified", bool, None, "slots share one KV cache instead of having equal parts", off="--no-kv-unified"),
    Knob("cont_batching", "--cont-batching", bool, True, "requests join a batch that is under way", off="--no-cont-batching"),
    Knob("cache_prompt", "--cache-prompt", bool, True, "a prompt's common start is not computed again", off="--no-cache-prompt"),
    Knob("split_mode", "--split-mode", str, "layer", "how a model is cut over several GPUs", choices=("none", "layer", "row", "tensor")),
    Knob("load_mode", "--load-mode", str, "auto", "how the file of the weights is read", choices=("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")),
]

_PLACE = "Sweepbook gives it: it says where the server listens and what it serves"
RESERVED = {
    **dict.fromkeys(("model", "alias", "host", "port", "hf_repo", "model_url", "docker_repo"), _PLACE),
    **dict.fromkeys(("parallel", "np"), "its name is max_num_seqs here"),
    **dict.fromkeys(("api_key", "api_key_file", "hf_token"), "a secret is no setting: list its variable (LLAMA_API_KEY, HF_TOKEN) in the study's env"),
    **dict.fromkeys(("log_file", "log_disable"), "Sweepbook reads what the server prints"),
}
