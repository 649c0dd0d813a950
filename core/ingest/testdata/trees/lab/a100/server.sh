vllm serve demo/other --seed 1
