"""A small ONNX model of BERT's form for transformers.js, which also gives its own softmax: weights.0 and weights.1.

    python make.py        writes onnx/model.onnx beside this file; made with onnx 1.23 and NumPy

Ids and the mask of keys are int64 [B, N], as exporters of PyTorch write them; the mask is added as (1 - mask) * -10000.
"""
import os
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

V, C, H, LAYERS = 40, 12, 3, 2
D = C // H
rng = np.random.default_rng(7)
constants, nodes = [], []


def const(name, value):
    constants.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def add(op, inputs, output, **attributes):
    nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
    return output


def matrix(name, *shape):
    return const(name, (1.3 * rng.standard_normal(shape)).astype(np.float32))


x = add("Gather", [matrix("embedding", V, C), "input_ids"], "words")
mask = add("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
mask = add("Sub", [const("one", np.float32(1)), mask], "mask.inverse")
mask = add("Mul", [mask, const("far", np.float32(-10000))], "mask.added")
mask = add("Unsqueeze", [mask, const("axes", np.array([1, 2]))], "mask.keys")
split, joined = const("split", np.array([0, 0, H, D])), const("joined", np.array([0, 0, C]))
root = const("root", np.float32(D**0.5))
for n in range(LAYERS):
    heads = lambda part: add("Reshape", [add("MatMul", [x, matrix(f"{part}.{n}", C, C)], f"{part}.{n}.all"), split], f"{part}.{n}.split")
    q = add("Transpose", [heads("q")], f"q.{n}.heads", perm=[0, 2, 1, 3])
    k = add("Transpose", [heads("k")], f"k.{n}.heads", perm=[0, 2, 3, 1])
    v = add("Transpose", [heads("v")], f"v.{n}.heads", perm=[0, 2, 1, 3])
    scores = add("Div", [add("MatMul", [q, k], f"product.{n}"), root], f"scaled.{n}")
    weights = add("Softmax", [add("Add", [scores, mask], f"masked.{n}")], f"weights.{n}", axis=-1)
    y = add("Transpose", [add("MatMul", [weights, v], f"output.{n}")], f"output.{n}.tokens", perm=[0, 2, 1, 3])
    x = add("Add", [x, add("MatMul", [add("Reshape", [y, joined], f"output.{n}.joined"), matrix(f"o.{n}", C, C)], f"branch.{n}")], f"state.{n}")
add("Identity", [x], "last_hidden_state")
ids = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "N"])
floats = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
graph = helper.make_graph(
    nodes, "bert", [ids("input_ids"), ids("attention_mask")],
    [floats("last_hidden_state", "B", "N", C), *(floats(f"weights.{n}", "B", H, "N", "N") for n in range(LAYERS))], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx", "model.onnx"))
