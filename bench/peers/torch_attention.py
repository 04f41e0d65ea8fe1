"""PyTorch's side of torch.mjs: scaled_dot_product_attention on files that both processes map into memory.

    python3 torch_attention.py versions
    python3 torch_attention.py serve FOLDER THREADS '{"B", "H", "Nq", "Nk", "D", "causal"}'

FOLDER has query, key, value and output, float32 [B, H, N, D]. Each line on stdin is one call, answered by one line when
output has the result. It needs `pip install torch`.
"""
import json
import os
import sys

# Threads of OpenMP that spin after a call would slow the other side's turn.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")

import torch
from torch.nn.functional import scaled_dot_product_attention


def serve(folder, threads, case):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def mapped(name, rows):
        shape = (case["B"], case["H"], rows, case["D"])
        size = case["B"] * case["H"] * rows * case["D"]
        return torch.from_file(os.path.join(folder, name), shared=True, size=size, dtype=torch.float32).view(shape)

    query, output = (mapped(name, case["Nq"]) for name in ("query", "output"))
    key, value = (mapped(name, case["Nk"]) for name in ("key", "value"))
    print("ready", flush=True)
    for _ in sys.stdin:
        output.copy_(scaled_dot_product_attention(query, key, value, is_causal=case["causal"]))
        print("done", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "versions":
        print(torch.__version__)
    else:
        serve(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
