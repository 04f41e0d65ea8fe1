/**
 * The recorder for PyTorch that `heed capture --python` prints: one file of Python without heed in it. Every architecture of
 * transformers whose attention is `scaled_dot_product_attention` can be recorded (tests/golden/recorder/README.md).
 */
export const RECORDER = `"""Every attention call of a PyTorch model as a bundle that heed opens (heed view, figure, html). Fast kernels stay on.

    from recorder import record
    record(lambda: model(**inputs), tokens, "run.safetensors")                    # attn_implementation="sdpa"
    record(lambda: model(**inputs), [source, target], "run.safetensors")         # an encoder-decoder: two lists of tokens

Calls are kept whatever model they are of: it must call torch.nn.functional.scaled_dot_product_attention, on a batch of one. Calls whose
scores are made alike are one block: an encoder, a decoder and its cross-attention are three, layers with a window and layers without are two.
Where two lists fit, an encoder has the first of them and a decoder the last.
"""
import json
import math

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def record(run, tokens, path, model=""):
    """run() runs the model once. tokens: the texts of its tokens, or a list of such lists; each fits the calls of its length."""
    calls, plain = [], F.scaled_dot_product_attention

    def recording(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **rest):
        calls.append((query, key, value, attn_mask, is_causal, scale or 1 / math.sqrt(query.shape[-1])))
        return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **rest)

    F.scaled_dot_product_attention = recording
    try:
        with torch.no_grad():
            run()
    finally:
        F.scaled_dot_product_attention = plain
    lists = [tokens] if tokens and isinstance(tokens[0], str) else list(tokens)
    if not calls:
        raise ValueError("the model made no call of scaled_dot_product_attention; load it with attn_implementation='sdpa'")
    seen = []
    for query, key, value, mask, causal, scale in calls:
        q, k, v = (x.detach().reshape(-1, *x.shape[-3:])[0] for x in (query, key, value))
        keep, bias = split(mask, causal, q.shape[-2], k.shape[-2], q.device)
        seen.append((q, k, v, keep, bias, {"scale": scale, **pattern(keep, q.shape[-2], k.shape[-2])}))
    has_decoder = any(looks_back(recipe) for *_, recipe in seen)
    has_encoder = any(not looks_back(recipe) for *_, recipe in seen)
    tensors, blocks, texts = {}, {}, {}
    layers = {}  # of each stack: the number of its last layer
    decoding = None  # tokens of the last call that looks back: calls of as many queries after it look across
    stacks = []
    for q, k, *_, recipe in seen:
        rows, keys = q.shape[-2], k.shape[-2]
        if looks_back(recipe):
            stack, decoding = ("dec" if has_encoder else "self"), rows
        elif rows == decoding or (rows != keys and "queryOffset" not in recipe):
            stack = "cross"
        else:
            stack = "enc" if has_decoder else "self"
        stacks.append(stack)
    if "cross" not in stacks:  # towers that do not read each other, as in CLIP
        stacks = [{"dec": "causal", "enc": "full"}.get(stack, stack) for stack in stacks]
    for stack, (q, k, v, keep, bias, recipe) in zip(stacks, seen):
        (heads, rows, _), keys = q.shape, k.shape[-2]
        layer = layers[stack, rows, keys] = layers.get((stack, rows, keys), -1) + 1
        stored = {}
        if recipe["mask"] == "tensor":
            recipe["mask"] = {"tensor": "mask", "polarity": "keep"}
            stored["mask"] = keep.squeeze(0) if keep.shape[0] == 1 else keep
        if bias is not None:
            recipe["bias"] = {"dense": "bias"}
            stored["bias"] = bias.squeeze(0) if bias.shape[0] == 1 else bias
        # Blocks that differ in nothing but their tensors are one.
        same = json.dumps([stack, recipe, rows, keys, heads, k.shape[0], q.shape[-1], v.shape[-1]])
        block = blocks.setdefault(same, {"name": name(stack, recipe, blocks), "recipe": recipe, "stack": stack, "size": (rows, keys)})
        s = q.double() @ k.double().repeat_interleave(heads // k.shape[0], 0).mT * scale
        s = s if bias is None else s + bias
        s = s if keep is None else s.masked_fill(~keep, -torch.inf)
        parts = {"q": q, "k": k, "v": v, "lse": s.logsumexp(-1).float(), **stored}
        tensors |= {f"{block['name']}.{part}.{layer}": x for part, x in parts.items()}
    abouts = {}
    for block in blocks.values():
        rows, keys = block["size"]
        written = block["stack"] in ("dec", "cross")
        names = [tokens_of(lists, n, last) for n, last in ((rows, written), (keys, block["stack"] == "dec"))]
        texts |= {f"tokens.{one}": list(lists[int(one)]) if one.isdigit() else [str(i) for i in range(int(one[1:]))] for one in names}
        abouts[block["name"]] = {"kind": "cross" if block["stack"] == "cross" else "self", "queryTokens": names[0], "keyTokens": names[1]}
        recipe = {name: dict(value) if isinstance(value, dict) else value for name, value in block["recipe"].items()}
        for field, part in (("mask", "tensor"), ("bias", "dense")):
            if isinstance(recipe.get(field), dict) and part in recipe[field]:
                recipe[field][part] = f"{block['name']}.{recipe[field][part]}"
        texts[f"recipe.{block['name']}"] = recipe
    tensors = {name: x.cpu().contiguous().clone() for name, x in tensors.items()}
    metadata = {"heed": "1", "created_by": "recorder.py", **({"model": model} if model else {})}
    save_file(tensors, path, metadata | {name: json.dumps(text) for name, text in (texts | {"blocks": abouts}).items()})


def tokens_of(lists, size, last):
    """The name of a list of tokens: the place of the first or last list of that size, else the size."""
    places = [str(at) for at, one in enumerate(lists) if len(one) == size]
    return places[-1 if last else 0] if places else f"n{size}"


def split(mask, causal, rows, keys, device):
    """What a call hides, as a bool mask, and what it adds to the scores: [1 or heads, rows, keys] each, or None."""
    if causal:
        return torch.ones(1, rows, keys, dtype=torch.bool, device=device).tril(), None
    if mask is None:
        return None, None
    mask = mask.detach()
    while mask.dim() > 3:
        mask = mask[0]
    mask = mask.expand(mask.shape[0] if mask.dim() == 3 else 1, rows, keys)
    if mask.dtype == torch.bool:
        return mask, None
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    bias = mask.masked_fill(hidden, 0).float()
    return (~hidden if hidden.any() else None), (bias if bias.any() else None)


def pattern(keep, rows, keys):
    """The mask in words where it is one of the known ones."""
    if keep is None or keep.all():
        return {"mask": "none"}
    i, j = torch.arange(rows, device=keep.device)[:, None], torch.arange(keys, device=keep.device)[None]
    for offset in {0, keys - rows} if keys >= rows else {0}:
        where = {"queryOffset": offset} if offset else {}
        distance = i + offset - j
        if (keep == (distance >= 0)).all():
            return {"mask": "causal", **where}
        seen = distance.expand(keep.shape)[keep]
        reach, ahead = (int(seen.max()), int(seen.min())) if seen.numel() else (0, 0)
        for causal, shape in ((True, (distance >= 0) & (distance <= reach)), (False, distance.abs() <= max(reach, -ahead))):
            if (keep == shape).all():
                return {"mask": {"window": max(reach, -ahead), "causal": causal}, **where}
    return {"mask": "tensor"}


def looks_back(recipe):
    """Whether a query attends to no key after itself."""
    return recipe["mask"] == "causal" or isinstance(recipe["mask"], dict) and recipe["mask"].get("causal", False)


def name(stack, recipe, blocks):
    """A name for a new block: self, enc, dec, cross, with what distinguishes it from others of its stack."""
    window = recipe["mask"].get("window") if isinstance(recipe["mask"], dict) else None
    wanted = stack if window is None else f"{stack}-window{window}"
    taken = {block["name"] for block in blocks.values()}
    return next(one for n in range(1, 10**6) if (one := wanted if n == 1 else f"{wanted}-{n}") not in taken)
`;
