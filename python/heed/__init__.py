"""See the attention of a model in a notebook.

    import heed
    heed.show("sentence-transformers/all-MiniLM-L6-v2", "time flies like an arrow")
    heed.show(model, text, tokenizer)           # a PyTorch model that is in memory, loaded with attn_implementation="sdpa"
    heed.view("run.safetensors", layer=4, head=7)

Each returns a widget (JupyterLab, Notebook 7, VS Code, Colab, marimo). Its traits layer, head, view, mode and stage move the picture, and
cursor follows it. Nothing is sent anywhere: the widget's module is in this package.
"""
import os
import pathlib
import tempfile

import anywidget
import traitlets

__all__ = ["AttentionView", "show", "view"]


class AttentionView(anywidget.AnyWidget):
    """The explorer as a widget. data: the bytes of a bundle, npz, npy or JSON file."""

    _esm = pathlib.Path(__file__).parent / "attention-view.js"
    data = traitlets.Bytes().tag(sync=True)
    name = traitlets.Unicode("attention").tag(sync=True)
    theme = traitlets.Unicode("auto").tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)
    view = traitlets.Unicode("head").tag(sync=True)
    mode = traitlets.Unicode("matrix").tag(sync=True)
    stage = traitlets.Unicode("weights").tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    #: The cell under the cursor: block, layer, head, query, key.
    cursor = traitlets.Dict().tag(sync=True)


def view(source, **traits):
    """A widget over a file that heed reads: its path, or its bytes."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return AttentionView(data=bytes(source), **traits)
    path = pathlib.Path(source)
    traits.setdefault("name", path.name)
    return AttentionView(data=path.read_bytes(), **traits)


def show(model, text, tokenizer=None, target=None, **traits):
    """Runs a model on a text and shows every attention call of it.

    model: a PyTorch model of transformers, or the name or folder of one, which is loaded with attn_implementation="sdpa".
    tokenizer: that of a model in memory; default the one of the model's name.
    target: of an encoder–decoder, the text that its decoder reads.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    from .recorder import record

    if isinstance(text, (list, tuple)):
        raise TypeError("heed.show: one text, got a list; call show for each text")
    name = model if isinstance(model, (str, os.PathLike)) else getattr(model, "name_or_path", "") or type(model).__name__
    if tokenizer is None:
        tokenizer = AutoTokenizer.from_pretrained(name)
    if isinstance(model, (str, os.PathLike)):
        model = AutoModel.from_pretrained(name, attn_implementation="sdpa")
    was_training = model.training
    model.eval()
    inputs = tokenizer(text, return_tensors="pt")
    inputs = {key: value.to(next(model.parameters()).device) for key, value in inputs.items()}
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    config = getattr(model, "config", None)
    if getattr(config, "is_encoder_decoder", False) != (target is not None):
        raise ValueError("heed.show: an encoder-decoder, and no other model, takes target=, the text that its decoder reads")
    if target is not None:
        ids = [config.decoder_start_token_id, *tokenizer(text_target=target)["input_ids"][:-1]]
        inputs["decoder_input_ids"] = inputs["input_ids"].new_tensor([ids])
        tokens = [tokens, tokenizer.convert_ids_to_tokens(ids)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.safetensors")
        try:
            with torch.no_grad():
                record(lambda: model(**inputs), tokens, path, model=os.path.basename(str(name).rstrip("/")))
        finally:
            model.train(was_training)
        data = pathlib.Path(path).read_bytes()
    traits.setdefault("name", text if len(text) <= 60 else text[:59] + "…")
    return AttentionView(data=data, **traits)
