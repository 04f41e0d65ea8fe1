"""PyTorch's side of bench/models.ts: a transformers model that answers one request a line on stdin with one line of JSON.

    python3 torch_model.py serve DIR THREADS     requests are JSON: {"ids", "passes"} or {"ids", "tokens"}
    python3 torch_model.py make NAME DIR         a checkpoint of random weights: bert-base, gpt2 or tiny
    python3 torch_model.py versions

It needs `pip install torch transformers`.
"""
import json
import os
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Threads of OpenMP that spin after a pass would slow the other side's turn.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")

import time

import torch
import transformers


def serve(folder, threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    config = transformers.AutoConfig.from_pretrained(folder)
    is_decoder = config.model_type == "gpt2"
    kind = transformers.AutoModelForCausalLM if is_decoder else transformers.AutoModel
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    print(json.dumps({"ready": True, "torch": torch.__version__, "transformers": transformers.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        ids = torch.tensor([request["ids"]])
        print(json.dumps(write(model, ids, request["tokens"]) if is_decoder else read(model, ids, request)), flush=True)


def read(model, ids, request):
    """Seconds of some forward passes, and the last layer's states."""
    seconds, busy = [], time.process_time()
    for _ in range(request["passes"]):
        start = time.perf_counter()
        states = model(input_ids=ids).last_hidden_state
        seconds.append(time.perf_counter() - start)
    processor = (time.process_time() - busy) / request["passes"]
    return {"seconds": seconds, "processor": processor, "states": states.flatten().tolist() if request.get("states") else None}


def write(model, ids, tokens):
    """Seconds of each greedy step after the first, with a cache, and the tokens."""
    past, seconds, written, busy = None, [], [], 0
    for n in range(tokens):
        start = time.perf_counter()
        out = model(input_ids=ids, past_key_values=past, use_cache=True, logits_to_keep=1)
        past, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
        written.append(ids.item())
        if n == 0:
            busy = time.process_time()
        else:
            seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "processor": (time.process_time() - busy) / (tokens - 1), "written": written}


def make(name, folder):
    torch.manual_seed(0)
    if name == "gpt2":
        # Larger than training begins with, so that greedy choices are far apart.
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(initializer_range=0.08))
        letters = byte_letters()
        vocab = {letter: n for n, letter in enumerate(letters)}
        tokenizer = {
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        }
    else:
        sizes = {"bert-base": {}, "tiny": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}}[name]
        model = transformers.BertModel(transformers.BertConfig(**sizes))
        vocab = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])}
        tokenizer = {
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
        }
    model.save_pretrained(folder)
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump({"version": "1.0", "added_tokens": [], **tokenizer}, file)


def byte_letters():
    """GPT-2's letters of the 256 bytes."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, more = {byte: chr(byte) for byte in own}, 0
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + more)
            more += 1
    return [letters[byte] for byte in range(256)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["make"]:
        make(sys.argv[2], sys.argv[3])
    else:
        print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__}))
