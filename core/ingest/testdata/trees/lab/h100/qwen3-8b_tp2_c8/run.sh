#!/bin/bash
set -e
MODEL=Qwen/Qwen3-8B
LEN=128
vllm serve $MODEL \
  --tensor-parallel-size 2 --max-num-seqs 64 \
  --api-key sk-aaaaaaaaaaaaaaaaaaaa --port 8001 &
for c in 4 8; do
  vllm bench serve --model $MODEL --dataset-name random --random-input-len ${LEN} --random-output-len 64 --num-prompts 80 --seed 3 --max-concurrency $c
done
