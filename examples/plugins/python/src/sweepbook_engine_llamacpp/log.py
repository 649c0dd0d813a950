"""Lines of llama-server's log that prove a failure, as in its build 11434. Causes
stand before what they bring about: a context that cannot be made is also a model that
was not loaded."""

FAILURES = [
    ("oom_weights", "unable to allocate", "buffer"),
    ("oom_kv", "failed to allocate buffer for kv cache"),
    ("oom_runtime", "failed to allocate compute"),
    ("oom_runtime", "out of memory"),
    ("unsupported", "requires flash_attn to be enabled"),
    ("unsupported", "requires Flash Attention"),
    ("unsupported", "cache type", "does not divide"),
    ("unsupported", "unknown model architecture"),
    ("bad_argument", "error: invalid argument:"),
    ("bad_argument", "error while handling argument"),
    ("port_in_use", "couldn't bind HTTP server socket"),
    ("auth", "401", "Unauthorized"),
    ("model_not_found", "failed to open GGUF file"),
    ("driver", "failed to initialize CUDA"),
    ("crash", "error loading model"),
    ("crash", "GGML_ASSERT"),
]
