"""Golden data of files as people have them: checkpoints of PyTorch, GGUF files, SentencePiece models, LoRA adapters, old vocabularies.

    python make.py        writes the folders beside this file

Everything is random or trained on the few lines of TEXT. What heed should compute comes from the libraries that made the files.
"""
import json, os, random, shutil
import gguf, numpy as np, sentencepiece, torch
from gguf import GGMLQuantizationType as Q
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, BertTokenizer, GPT2Tokenizer, RobertaTokenizer, AlbertTokenizer, T5Tokenizer, XLMRobertaTokenizer, LlamaTokenizer
import io

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = ["the old ship sailed on the grey sea", "a ship on the sea, a bird in the sky", "Naïve café déjà vu: 3.14 and 2,718!",
        "the ships sailed, the birds sang", "old men and the sea  with   many spaces", "日本語 and émigré", "don't stop; won't start"] * 6
TESTS = ["the old ship", "  spaces   here ", "Naïve café 3.14!", "unknown ☃ snow", "日本", "a", "", "the sea, the ships' birds"]


def folder(name):
    path = os.path.join(HERE, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def draw(model, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            base = 1.0 if p.dim() == 1 and "norm" in name.lower() and name.endswith("weight") else 0.0
            p.copy_(base + 0.3 * noise)
    return model.eval()


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)


# -- checkpoints of PyTorch -------------------------------------------------
def torch_files():
    path = folder("torch")
    g = torch.Generator().manual_seed(1)
    base = torch.randn(4, 6, generator=g)
    state = {"plain": base.clone(), "transposed": base.t(), "part": base[1:3, 2:5], "half": base.half(), "brain": base.bfloat16(),
             "double": base.double(), "ids": torch.arange(5), "flag": torch.tensor([True, False]), "scalar": torch.tensor(2.5),
             "parameter": torch.nn.Parameter(base[0].clone()), "empty": torch.zeros(0, 3), "shared": base, "row": base[2]}
    torch.save(state, os.path.join(path, "zip.bin"))
    torch.save(state, os.path.join(path, "stream.bin"), _use_new_zipfile_serialization=False)
    torch.save({"epoch": 3, "state_dict": {"module.w": base}, "rate": 0.1, "names": ["a", None]}, os.path.join(path, "training.bin"))
    class Evil:
        def __reduce__(self):
            return (os.system, ("touch /tmp/heed-evil",))
    torch.save({"w": base, "evil": Evil()}, os.path.join(path, "evil.bin"))
    torch.save(torch.nn.Linear(2, 2), os.path.join(path, "module.bin"))
    save_file({k: v.detach().clone().contiguous() for k, v in state.items()}, os.path.join(path, "expected.safetensors"))


def bert_folder():
    """pytorch_model.bin in the old format with DistributedDataParallel's prefix, and vocab.txt in place of tokenizer.json."""
    path = folder("bert-bin")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "ship", "##s", "sea", ",", "na", "##ive", "cafe", "a", "3", ".", "14", "!", "日", "本"]
    with open(os.path.join(path, "vocab.txt"), "w") as file:
        file.write("\n".join(pieces) + "\n")
    config = AutoConfig.for_model("bert", vocab_size=len(pieces), hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=18, max_position_embeddings=24)
    model = draw(AutoModel.from_config(config))
    config.save_pretrained(path)
    torch.save({"module." + k: v for k, v in model.state_dict().items()}, os.path.join(path, "pytorch_model.bin"), _use_new_zipfile_serialization=False)
    write_json(os.path.join(path, "tokenizer_config.json"), {"do_lower_case": True, "tokenizer_class": "BertTokenizer"})
    tokenizer = BertTokenizer(os.path.join(path, "vocab.txt"))
    ids = tokenizer("the old ships", "a cafe", return_tensors="pt")
    with torch.no_grad():
        hidden = model(**ids).last_hidden_state
    save_file({"hidden": hidden[0].contiguous()}, os.path.join(path, "expected.safetensors"))
    write_json(os.path.join(path, "expected.json"), [[text, tokenizer(text)["input_ids"]] for text in TESTS])


# -- SentencePiece -------------------------------------------------
def spm(kind, **options):
    out = io.BytesIO()
    if "normalization_rule_name" not in options:
        # A small table of replacements: the usual one of NFKC has 240 kB.
        with open("/tmp/heed-rules.tsv", "w") as file:
            file.write("".join(f"{ord(a):X}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in (("é", "e"), ("ï", "i"), ("☃", "snow"), ("\t", " "))))
        options["normalization_rule_tsv"] = "/tmp/heed-rules.tsv"
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=out, minloglevel=2, model_type=kind, hard_vocab_limit=False, **options)
    return out.getvalue()


def sentencepiece_files():
    path = folder("sentencepiece")
    models = {
        "unigram": spm("unigram", vocab_size=90, num_threads=1),
        "unigram-bytes": spm("unigram", vocab_size=340, byte_fallback=True, character_coverage=0.98, num_threads=1),
        "bpe": spm("bpe", vocab_size=120, num_threads=1),
        "bpe-bytes": spm("bpe", vocab_size=360, byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
                         remove_extra_whitespaces=False, num_threads=1),
        "bpe-no-prefix": spm("bpe", vocab_size=360, byte_fallback=True, add_dummy_prefix=False, user_defined_symbols=["<user>"], normalization_rule_name="identity",
                             remove_extra_whitespaces=False, num_threads=1),
    }
    expected = {}
    for name, data in models.items():
        with open(os.path.join(path, name + ".model"), "wb") as file:
            file.write(data)
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        expected[name] = [[text, processor.encode(text)] for text in TESTS + ["one <user> two"] * (name == "bpe-no-prefix")]
    write_json(os.path.join(path, "expected.json"), expected)
    # Families with an order of ids or special tokens of their own.
    families = {}
    unigram = os.path.join(path, "unigram.model")
    for name, kind in (("xlm-roberta", XLMRobertaTokenizer), ("t5", T5Tokenizer)):
        tokenizer = kind.from_pretrained(local(path, unigram, name))
        families[name] = [[text, tokenizer(text)["input_ids"]] for text in TESTS]
    write_json(os.path.join(path, "families.json"), families)


def local(path, model, name):
    """A folder that transformers reads the tokenizer of a family from."""
    where = os.path.join("/tmp", "heed-spm-" + name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    shutil.copy(model, os.path.join(where, {"xlm-roberta": "sentencepiece.bpe.model", "t5": "spiece.model"}[name]))
    return where


# -- LoRA -------------------------------------------------
def lora_files():
    path = folder("lora")
    config = AutoConfig.for_model("llama", vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=22,
                                  max_position_embeddings=64, tie_word_embeddings=False)
    model = draw(AutoModelForCausalLM.from_config(config))
    base = os.path.join(path, "base")
    model.save_pretrained(base)
    ids = torch.arange(5, 16)[None]
    lora = LoraConfig(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj"], modules_to_save=["lm_head"], rank_pattern={"down_proj": 2}, use_rslora=True)
    adapted = draw(get_peft_model(model, lora), 5)
    adapted.save_pretrained(os.path.join(path, "adapter"))
    os.remove(os.path.join(path, "adapter", "README.md"))
    with torch.no_grad():
        logits = adapted(ids).logits
    # The base was drawn again with the adapter, so it is written again.
    state = {k.replace("base_model.model.", "").replace(".base_layer", ""): v for k, v in adapted.state_dict().items() if "lora_" not in k and "modules_to_save" not in k}
    state = {k.replace(".original_module", ""): v.contiguous() for k, v in state.items()}
    save_file(state, os.path.join(base, "model.safetensors"), metadata={"format": "pt"})
    save_file({"ids": ids, "logits": logits.contiguous()}, os.path.join(path, "expected.safetensors"))


# -- GGUF -------------------------------------------------
def blocks_file():
    """Each kind of block, from random bytes with scales that are no NaN."""
    path = folder("gguf")
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(os.path.join(path, "blocks.gguf"), "none")
    expected = {}
    for kind in (Q.F32, Q.F16, Q.BF16, Q.Q8_0, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q4_K, Q.Q5_K, Q.Q6_K):
        values = rng.standard_normal((3, 256)).astype(np.float32)
        if kind in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
            _, size = gguf.GGML_QUANT_SIZES[kind]
            raw = rng.integers(0, 256, (3, size), dtype=np.uint8)
            scales = rng.standard_normal((3, 2)).astype(np.float16).view(np.uint8).reshape(3, 4)
            if kind == Q.Q6_K:
                raw[:, -2:] = scales[:, :2]
            else:
                raw[:, :4] = scales
        elif kind == Q.F32:
            raw = values
        elif kind == Q.F16:
            raw = values.astype(np.float16)
        else:
            raw = gguf.quants.quantize(values, kind)
        writer.add_tensor(kind.name, raw, raw_dtype=kind)
        expected[kind.name] = torch.from_numpy(np.ascontiguousarray(values.astype(np.float16).astype(np.float32) if kind == Q.F16 else
                                               raw if kind == Q.F32 else gguf.quants.dequantize(raw, kind)))
    writer.add_array("numbers", [1, 2, 3])
    writer.add_bool("flag", True)
    writer.add_float64("double", 0.1)
    finish(writer)
    save_file(expected, os.path.join(path, "blocks.safetensors"))
    return path


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "self_attn.qkv_proj": "attn_qkv", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}
GEMMA = NAMES | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
GPT2 = {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm",
        "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
SIZES = dict(vocab_size=300, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=0)


def permute(w, heads):
    """As convert_hf_to_gguf.py does for Llamas."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def model_file(path, architecture, kind, names, sizes, quant=None, extra=None, tokens="gpt2"):
    config = AutoConfig.for_model(kind, **sizes)
    model = AutoModelForCausalLM.from_config(config).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, p in model.named_parameters():
            norm = p.dim() == 1 and ("norm" in name or ".ln_" in name) and name.endswith("weight")
            p.copy_((0.0 if architecture.startswith("gemma") else 1.0) * norm + 0.3 * torch.randn(p.shape, generator=generator))
    writer = gguf.GGUFWriter(os.path.join(path, architecture + ".gguf"), architecture)
    get = lambda *fields: next(getattr(config, f) for f in fields if hasattr(config, f))
    heads = get("num_attention_heads", "n_head")
    writer.add_context_length(get("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(get("num_hidden_layers", "n_layer"))
    writer.add_feed_forward_length(get("intermediate_size", "n_inner"))
    writer.add_head_count(heads)
    if architecture == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        if architecture != "gemma3":
            writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        if architecture != "llama":
            writer.add_key_length(config.head_dim if getattr(config, "head_dim", None) else config.hidden_size // heads)
    for call in extra or []:
        call(writer)
    tokenizer_values(writer, tokens, config.vocab_size)
    state = model.state_dict()
    if config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    for name, w in state.items():
        w = w.float().numpy()
        module, part = name.rsplit(".", 1)
        if part not in ("weight", "bias") or "rotary" in name:
            continue
        prefix = ""
        for start in ("model.layers.", "transformer.h."):
            if module.startswith(start):
                layer, module = module[len(start):].split(".", 1)
                prefix = f"blk.{layer}."
        role = names[module]
        if architecture == "llama" and role in ("attn_q", "attn_k"):
            w = permute(w, heads if role == "attn_q" else config.num_key_value_heads)
        if architecture == "gpt2" and prefix and w.ndim == 2:
            w = w.T
        if architecture.startswith("gemma") and role.endswith("norm"):
            w = w + 1
        w = np.ascontiguousarray(w)
        if quant and w.ndim == 2 and w.shape[1] % 32 == 0:
            raw = gguf.quants.quantize(w, quant)
            writer.add_tensor(f"{prefix}{role}.{part}", raw, raw_dtype=quant)
            with torch.no_grad():
                back = gguf.quants.dequantize(raw, quant)
                back = permute_back(back, heads if role == "attn_q" else config.num_key_value_heads) if architecture == "llama" and role in ("attn_q", "attn_k") else back
                state[name].copy_(torch.from_numpy(back.T if architecture == "gpt2" and prefix else back))
        else:
            writer.add_tensor(f"{prefix}{role}.{part}", w)
    finish(writer)
    ids = torch.arange(5, 16)[None]
    with torch.no_grad():
        logits = model.double()(ids).logits
    save_file({"ids": ids, "logits": logits.float().contiguous()}, os.path.join(path, architecture + ".safetensors"))


BERT = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd", "embeddings.token_type_embeddings": "token_types",
        "embeddings.LayerNorm": "token_embd_norm", "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm"}


def bert_file(path):
    """The encoder of bert-bin with WordPiece in the form of llama.cpp: marks before pieces that begin a word."""
    folder = os.path.join(HERE, "bert-bin")
    config = AutoConfig.from_pretrained(folder)
    state = {k.removeprefix("module."): v for k, v in torch.load(os.path.join(folder, "pytorch_model.bin")).items()}
    writer = gguf.GGUFWriter(os.path.join(path, "bert.gguf"), "bert")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_tokenizer_model("bert")
    with open(os.path.join(folder, "vocab.txt")) as file:
        tokens = file.read().split("\n")[:-1]
    writer.add_token_list([t[2:] if t.startswith("##") else t if t.startswith("[") else "▁" + t for t in tokens])
    writer.add_token_types([1] * len(tokens))
    for name, w in state.items():
        module, part = name.rsplit(".", 1)
        prefix = ""
        if module.startswith("encoder.layer."):
            layer, module = module[len("encoder.layer."):].split(".", 1)
            prefix = f"blk.{layer}."
        if module in BERT:
            writer.add_tensor(f"{prefix}{BERT[module]}.{part}", np.ascontiguousarray(w.numpy()))
    finish(writer)


def permute_back(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def tokenizer_values(writer, kind, size):
    writer.add_tokenizer_model(kind)
    if kind == "llama":
        with open(os.path.join(HERE, "sentencepiece", "bpe-bytes.model"), "rb") as file:
            processor = sentencepiece.SentencePieceProcessor(model_proto=file.read())
        n = processor.get_piece_size()
        assert n <= size, (n, size)
        writer.add_token_list([processor.id_to_piece(i) for i in range(n)])
        writer.add_token_scores([processor.get_score(i) for i in range(n)])
        kinds = [2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else 1 for i in range(n)]
        writer.add_token_types(kinds)
    else:
        from transformers.convert_slow_tokenizer import bytes_to_unicode
        alphabet = list(bytes_to_unicode().values())
        merges = ["t h", "th e", "Ġ s", "Ġs e", "Ġse a"]
        tokens = alphabet + [m.replace(" ", "") for m in merges] + ["<|end|>"]
        writer.add_token_list(tokens)
        writer.add_token_merges(merges)
        writer.add_token_types([1] * (len(tokens) - 1) + [3])
        writer.add_tokenizer_pre("qwen2")
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def gguf_files():
    path = blocks_file()
    rope = lambda **more: dict(rope_parameters=dict(rope_type="default", rope_theta=100.0) | more)
    model_file(path, "llama", "llama", NAMES, SIZES | rope() | dict(vocab_size=400, tie_word_embeddings=False), Q.Q8_0,
               [lambda w: w.add_rope_dimension_count(8)], tokens="llama")
    model_file(path, "qwen2", "qwen2", NAMES, SIZES | rope() | dict(tie_word_embeddings=True), Q.Q4_0)
    model_file(path, "qwen3", "qwen3", NAMES, SIZES | rope() | dict(head_dim=12, tie_word_embeddings=True), None)
    model_file(path, "gemma2", "gemma2", GEMMA, SIZES | rope() | dict(head_dim=8, sliding_window=4, query_pre_attn_scalar=8, hidden_activation="gelu_pytorch_tanh"), Q.Q5_0,
               [lambda w: w.add_sliding_window(4), lambda w: w.add_attn_logit_softcapping(50.0), lambda w: w.add_final_logit_softcapping(30.0)])
    model_file(path, "gemma", "gemma", NAMES, SIZES | rope() | dict(head_dim=8, hidden_act="gelu_pytorch_tanh"), Q.Q8_0)
    model_file(path, "gemma3", "gemma3_text", GEMMA, SIZES | dict(num_hidden_layers=3, head_dim=8, sliding_window=4, query_pre_attn_scalar=8, hidden_activation="gelu_pytorch_tanh",
               layer_types=["sliding_attention", "full_attention", "sliding_attention"],
               rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0), full_attention=dict(rope_type="default", rope_theta=1000.0))), Q.Q8_0,
               [lambda w: w.add_sliding_window(4), lambda w: w.add_rope_freq_base(1000.0), lambda w: w.add_sliding_window_pattern([True, False, True])])
    model_file(path, "phi3", "phi3", NAMES, SIZES | rope() | dict(tie_word_embeddings=False, num_key_value_heads=4), Q.Q8_0, [lambda w: w.add_rope_dimension_count(8)])
    bert_file(path)
    model_file(path, "gpt2", "gpt2", GPT2, dict(vocab_size=300, n_positions=64, n_embd=32, n_layer=2, n_head=4, n_inner=64, bos_token_id=1, eos_token_id=2), Q.Q4_1)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    torch_files()
    bert_folder()
    sentencepiece_files()
    lora_files()
    gguf_files()
