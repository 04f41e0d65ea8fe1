"""Evidence in numbers, from PyTorch in float64 and without heed: links, score splits, logit attribution, heads turned off, patches.

    python make.py MINILM > evidence.json          MINILM: the directory of sentence-transformers/all-MiniLM-L6-v2

The two decoders are the random checkpoints in ../models. Norms are frozen by hand: each summand is centered and multiplied by the factor
of the whole state.
"""
import json
import math
import os
import sys

import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
torch.set_grad_enabled(False)
number = lambda x: float(f"{float(x):.12g}")


def frozen(state, norm, rms):
    """The norm as a function of one summand, and its bias."""
    eps = getattr(norm, "eps", None) or getattr(norm, "variance_epsilon", None)
    center = (lambda x: x) if rms else (lambda x: x - x.mean(-1, keepdim=True))
    factor = torch.rsqrt(center(state).pow(2).mean(-1, keepdim=True) + eps)
    return (lambda x: center(x) * factor * norm.weight), getattr(norm, "bias", None)


class Sum:
    """A state as named summands."""

    def __init__(self, parts):
        self.parts = parts

    def total(self):
        return sum(self.parts.values())

    def norm(self, norm, rms=False):
        apply, bias = frozen(self.total(), norm, rms)
        parts = {name: apply(x) for name, x in self.parts.items()}
        if bias is not None:
            parts["biases"] = parts["biases"] + bias
        return Sum(parts)


def project(parts, weight, bias, rotate=lambda x: x):
    out = {name: x @ weight.T for name, x in parts.items()}
    if bias is not None:
        out["biases"] = out["biases"] + bias
    return {name: rotate(x) for name, x in out.items()}


def split(q, k, i, j, visible):
    """The terms of a score, each against its mean over the other visible keys."""
    factor = 1 / math.sqrt(next(iter(q.values())).shape[-1])
    terms = {}
    for a, x in q.items():
        for b, y in k.items():
            row = factor * (y @ x[i])
            others = [row[n] for n in visible if n != j]
            terms[f"{a} × {b}"] = [number(row[j]), number(row[j] - sum(others) / len(others))]
    return terms


# MiniLM: norms after each branch.

def minilm(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    encoder, embeddings = model.encoder, model.embeddings
    H, d = 12, 32

    def run(text, off=None):
        hooks = []
        outputs = {"z": [], "mlp": []}
        for l, layer in enumerate(encoder.layer):
            def before(_, args, l=l):
                z = args[0].clone()
                if off and off[0] == l:
                    z[..., off[1] * d:(off[1] + 1) * d] = 0
                outputs["z"].append(z)
                return (z, *args[1:])
            hooks.append(layer.attention.output.dense.register_forward_pre_hook(before))
            hooks.append(layer.output.dense.register_forward_hook(lambda _, __, out: outputs["mlp"].append(out)))
        ids = tokenizer(text, return_tensors="pt")
        out = model(**ids, output_hidden_states=True, output_attentions=True)
        for hook in hooks:
            hook.remove()
        tokens = tokenizer.convert_ids_to_tokens(ids["input_ids"][0])
        return tokens, ids["input_ids"][0], out, outputs

    def place(tokens, word):
        return len(tokens) - 1 - tokens[::-1].index(word)

    def stream(ids, outputs, layer):
        N = len(ids)
        x = Sum({
            "word": embeddings.word_embeddings(ids),
            "type": embeddings.token_type_embeddings(torch.zeros(N, dtype=torch.long)),
            "position": embeddings.position_embeddings(torch.arange(N)),
            "biases": torch.zeros(N, 384, dtype=torch.float64),
        }).norm(embeddings.LayerNorm)
        for l in range(layer):
            block = encoder.layer[l]
            W, z = block.attention.output.dense.weight, outputs["z"][l][0]
            for h in range(H):
                x.parts[f"L{l} H{h}"] = z[:, h * d:(h + 1) * d] @ W[:, h * d:(h + 1) * d].T
            x.parts["biases"] = x.parts["biases"] + block.attention.output.dense.bias
            x = x.norm(block.attention.output.LayerNorm)
            x.parts[f"MLP {l}"] = outputs["mlp"][l][0]
            x = x.norm(block.output.LayerNorm)
        return x

    def why(text, query, key, layer, head):
        tokens, ids, out, outputs = run(text)
        i, j = place(tokens, query), tokens.index(key)
        x = stream(ids, outputs, layer)
        attention = encoder.layer[layer].attention.self
        rows = slice(head * d, (head + 1) * d)
        q = project(x.parts, attention.query.weight[rows], attention.query.bias[rows])
        k = project(x.parts, attention.key.weight[rows], attention.key.bias[rows])
        terms = split(q, k, i, j, range(len(tokens)))
        total = [number(sum(t[n] for t in terms.values())) for n in (0, 1)]
        rebuilt = torch.softmax(sum(q.values())[i] @ sum(k.values()).T / math.sqrt(d), -1)
        error = (rebuilt - out.attentions[layer][0, head, i]).abs().max()
        assert error < 1e-12, error
        largest = sorted(terms, key=lambda t: -abs(terms[t][1]))[:8]
        side = {}
        for name in ("MLP 2", "L2 H8", "word"):
            for n, which in enumerate(("query", "key")):
                side[f"{which} {name}"] = number(sum(v[1] for t, v in terms.items() if t.split(" × ")[n] == name))
        return {"text": text, "query": query, "key": key, "layer": layer, "head": head, "score": total,
                "terms": {t: terms[t] for t in {*largest, "word × word", "position × position"}}, "sides": side}

    cosine = lambda a, b: torch.nn.functional.cosine_similarity(a, b, dim=0)
    flies = ["time flies like an arrow", "fruit flies like a banana"]

    def states(text, word, off=None):
        tokens, _, out, _ = run(text, off)
        i = place(tokens, word)
        return [state[0, i] for state in out.hidden_states]

    plain = [states(text, "flies") for text in flies]
    before = cosine(plain[0][-1], plain[1][-1])
    off = [[number(cosine(*(states(text, "flies", (l, h))[-1] for text in flies)) - before) for h in range(H)] for l in range(6)]
    words = {"passes": "the hour passes", "runs": "time runs fast", "insect": "a small insect", "mosquito": "a mosquito bit me",
             "bugs": "there are bugs", "##ars": "the bird soars"}
    # "soars" is two tokens, `so` and `##ars`: the last one is compared.
    becomes = {word: [number(cosine(p[-1], states(text, word)[-1])) for p in plain] for word, text in words.items()}

    def context():
        """"flies" in layer 0, head 4 with other shares, in percent, of its sentence's tokens and of "fruit": its context vector, and norm(x + a)."""
        first = encoder.layer[0].attention

        def attend(text, word):
            tokens, ids, _, outputs = run(text)
            i, x = place(tokens, word), stream(ids, outputs, 0).total()
            value = first.self.value(x).view(len(tokens), H, d)[:, 4]
            after = lambda c: first.output.LayerNorm(x[i] + first.output.dense(torch.cat([outputs["z"][0][0, i, :4 * d], c, outputs["z"][0][0, i, 5 * d:]])))
            return value, outputs["z"][0][0, i, 4 * d:5 * d], after

        (value, time, after), (other, fruit, _) = (attend(text, "flies") for text in flies)
        meanings = [(lambda a: a[2](a[1]))(attend(words[word], word)) for word in ("runs", "insect")]
        values = torch.cat([value, other[1:2]])
        right = values[1] / values[1].norm()
        up = values[7] - (values[7] @ right) * right
        plane = torch.stack([right, up / up.norm()])

        def row(shares):
            c = time if shares is None else torch.tensor(shares, dtype=torch.float64) / sum(shares) @ values
            return {"shares": shares or [], "point": [number(x) for x in plane @ c], "length": number(c.norm()),
                    "cosines": [number(cosine(c, own)) for own in (time, fruit)],
                    "near": [number(cosine(after(c), meaning)) for meaning in meanings]}

        rows = [None, [1] * 8, [0, 0, 0, 0, 0, 0, 0, 100], [3, 42, 0, 1, 2, 1, 4, 47], [40, 5, 10, 5, 5, 25, 10, 0], [0, 99.9, 0, 0, 0.1, 0, 0, 0]]
        return [row(shares) for shares in rows]

    def weight(text, query, key, layer, head, off=None):
        tokens, _, out, _ = run(text, off)
        return number(out.attentions[layer][0, head, place(tokens, query), tokens.index(key)])

    cat = "The cat sat on the mat because it was "
    tired = {}
    for last in ("tired", "asleep", "soft", "dirty"):
        tired[last] = {
            "cat": weight(cat + last, "it", "cat", 3, 1),
            "mat": weight(cat + last, "it", "mat", 3, 1),
            "last": weight(cat + last, "it", last, 2, 8),
            "off": {f"L{l} H{h}": weight(cat + last, "it", "cat", 3, 1, (l, h)) for l in range(3) for h in range(12)},
        }
    links = [[t, q, k, 0, 4, weight(t, q, k, 0, 4)] for t, q, k in [
        (flies[0], "flies", "time"), (flies[1], "flies", "fruit"), ("he flies home all the time", "flies", "time"),
        ("they walked along the river bank", "bank", "river"), ("they walked along the bank of the river", "bank", "river"),
        ("they walked to the savings bank", "bank", "savings"), ("they walked along the green bank", "bank", "[SEP]"),
        ("they walked along the green bank", "bank", "[CLS]"), ("they sat by the bank of the table", "bank", "[CLS]"),
        ("they sat by the bank of the table", "bank", "table")]]
    return {
        "links": links,
        "why": [why(flies[0], "flies", "time", 0, 4), why("they walked along the bank of the river", "bank", "river", 0, 4),
                why("they sat by the bank of the table", "bank", "table", 0, 4), why(cat + "tired", "it", "cat", 3, 1),
                why(cat + "soft", "it", "cat", 3, 1)],
        "cosines": [number(cosine(a, b)) for a, b in zip(*plain)],
        "off": off,
        "becomes": becomes,
        "context": context(),
        "tired": tired,
    }


# Decoders: norms before each branch.

def decoder(family, layer, head, i, j, ids, other):
    model = AutoModelForCausalLM.from_pretrained(f"{HERE}/../models/{family}", attn_implementation="eager").double().eval()
    llama = family == "llama3"
    core = model.model if llama else model.transformer
    blocks = core.layers if llama else core.h
    config = model.config
    H = config.num_attention_heads
    Hkv = getattr(config, "num_key_value_heads", H)
    C = config.hidden_size
    d = getattr(config, "head_dim", None) or C // H
    out_of = lambda b: b.self_attn.o_proj if llama else b.attn.c_proj
    mlp_of = lambda b: b.mlp
    if llama:
        # transformers computes norms in float32; the same formula in float64.
        for module in model.modules():
            if type(module).__name__ == "LlamaRMSNorm":
                module.forward = (lambda m: lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + m.variance_epsilon) * m.weight)(module)
        rotary = core.rotary_emb
        def angles(x, position_ids):
            freqs = position_ids[0].double()[:, None] * rotary.inv_freq.double()[None, :]
            emb = torch.cat((freqs, freqs), -1)[None]
            return emb.cos() * rotary.attention_scaling, emb.sin() * rotary.attention_scaling
        rotary.forward = angles

    value_of = lambda b: b.self_attn.v_proj if llama else b.attn.c_attn

    def run(ids, layer=None, part=None, change=None):
        """part: a head, "attention" or "mlp", whose output `change` replaces."""
        hooks, outputs = [], {"z": [], "mlp": [], "v": []}
        for l, block in enumerate(blocks):
            def before(_, args, l=l):
                z = args[0].clone()
                if l == layer and part == "attention":
                    z = change(z)
                elif l == layer and part != "mlp":
                    z[..., part * d:(part + 1) * d] = change(z[..., part * d:(part + 1) * d])
                outputs["z"].append(z)
                return (z, *args[1:])
            def after(_, __, y, l=l):
                if l == layer and part == "mlp":
                    y = change(y)
                outputs["mlp"].append(y)
                return y
            hooks += [out_of(block).register_forward_pre_hook(before), mlp_of(block).register_forward_hook(after),
                      value_of(block).register_forward_hook(lambda _, __, y: outputs["v"].append(y[0, :, -Hkv * d:]))]
        out = model(torch.tensor([ids]), output_hidden_states=True, output_attentions=True)
        for hook in hooks:
            hook.remove()
        return out, outputs

    out, outputs = run(ids)
    N, t = len(ids), torch.tensor(ids)

    def stream(layer):
        parts = {"word": core.embed_tokens(t) if llama else core.wte(t)}
        if not llama:
            parts["position"] = core.wpe(torch.arange(N))
        parts["biases"] = torch.zeros(N, C, dtype=torch.float64)
        for l in range(layer):
            o = out_of(blocks[l])
            W = o.weight if llama else o.weight.T
            for h in range(H):
                parts[f"L{l} H{h}"] = outputs["z"][l][0][:, h * d:(h + 1) * d] @ W[:, h * d:(h + 1) * d].T
            if o.bias is not None:
                parts["biases"] = parts["biases"] + o.bias
            parts[f"MLP {l}"] = outputs["mlp"][l][0]
        return Sum(parts)

    block = blocks[layer]
    x = stream(layer).norm(block.input_layernorm if llama else block.ln_1, llama)
    if llama:
        attention = block.self_attn
        cos, sin = core.rotary_emb(None, torch.arange(N)[None])
        half = lambda x: torch.cat((-x[..., d // 2:], x[..., :d // 2]), -1)
        rotate = lambda x: x * cos[0] + half(x) * sin[0]
        part = lambda p, h: (p.weight[h * d:(h + 1) * d], None if p.bias is None else p.bias[h * d:(h + 1) * d])
        q = project(x.parts, *part(attention.q_proj, head), rotate)
        k = project(x.parts, *part(attention.k_proj, head // (H // Hkv)), rotate)
    else:
        W, b = block.attn.c_attn.weight.T, block.attn.c_attn.bias
        q = project(x.parts, W[head * d:(head + 1) * d], b[head * d:(head + 1) * d])
        k = project(x.parts, W[C + head * d:C + (head + 1) * d], b[C + head * d:C + (head + 1) * d])
    terms = split(q, k, i, j, range(i + 1))
    scores = sum(q.values())[i] @ sum(k.values()).T / math.sqrt(d)
    error = (torch.softmax(scores[:i + 1], -1) - out.attentions[layer][0, head, i, :i + 1]).abs().max()
    assert error < 1e-6, error
    last = stream(len(blocks)).norm(core.norm if llama else core.ln_f, llama)
    W = model.lm_head.weight
    a, b = 3, 7
    shares = {name: number((W[a] - W[b]) @ y[-1]) for name, y in last.parts.items()}
    difference = lambda out: out.logits[0, -1, a] - out.logits[0, -1, b]
    assert abs(sum(shares.values()) - difference(out)) < 1e-6
    base = difference(out)
    source = run(other)[1]
    name = lambda l, part: f"MLP {l}" if part == "mlp" else f"attention {l}" if part == "attention" else f"L{l} H{part}"
    effects = lambda parts, change: {
        name(l, part): number(difference(run(ids, l, part, change(l, part))[0]) - base) for l in range(len(blocks)) for part in parts}
    parts = [*range(H), "mlp"]

    def patch(l, part):
        return lambda y: source["mlp"][l] if part == "mlp" else source["z"][l][..., part * d:(part + 1) * d]

    def at_three(_, __):
        return lambda y: torch.where(torch.arange(N)[:, None] == 3, 0, y)

    def without_link(renormalize):
        """The last token without key 2."""
        def change(l, h):
            w = out.attentions[l][0, h, -1, 2].double()
            kv = h // (H // Hkv)
            def replaced(z):
                z = z.clone()
                z[0, -1] = (z[0, -1] - w * outputs["v"][l][2, kv * d:(kv + 1) * d]) / (1 - w if renormalize else 1)
                return z
            return replaced
        return change

    zero = lambda *_: torch.zeros_like
    mean = lambda *_: lambda y: y.mean(1, keepdim=True).expand_as(y)
    return {"family": family, "ids": ids, "other": other, "layer": layer, "head": head, "query": i, "key": j, "terms": terms,
            "token": a, "against": b, "difference": number(base), "otherDifference": number(difference(run(other)[0])),
            "shares": shares, "off": effects(parts, zero), "patched": effects(parts, patch), "mean": effects(parts, mean),
            "attention": effects(["attention"], zero), "atThree": effects(parts, at_three),
            "link": effects(range(H), without_link(False)), "renormalized": effects(range(H), without_link(True))}


IDS, OTHER = [5, 6, 7, 8, 9, 4, 11], [5, 12, 7, 8, 14, 4, 13]
print(json.dumps({"minilm": minilm(sys.argv[1]), "decoders": [decoder("gpt2", 1, 1, 5, 2, IDS, OTHER), decoder("llama3", 1, 2, 6, 3, IDS, OTHER)]},
                 ensure_ascii=False, separators=(",", ":")))
