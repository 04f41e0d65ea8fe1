"""Golden data of ONNX graphs: small graphs in the manner of exporters, what onnxruntime computes of them, and of them exposed by heed.

    python make.py        from the root of the repository: writes NAME.onnx and NAME.safetensors beside this file, and checksums.json

NAME.safetensors has every output that `heed onnx expose` adds (heed.N.q …), as onnxruntime computes it, and want.weights.N [B, H, N, Nk] or
want.output.N [B, H, N, d]: the softmax of the graph itself, or what its fused operator returns.
"""
import hashlib, json, os, subprocess, sys
import numpy as np, onnx, onnxruntime as ort, torch
from onnx import TensorProto as T, helper as h, numpy_helper
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
B, H, N, D = 2, 2, 5, 4
C = H * D
rng = np.random.default_rng(0)
f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
MS = "com.microsoft"
node = lambda op, inputs, outputs, domain="", **attributes: h.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", domain=domain, **attributes)


class Graph:
    def __init__(self, opset=17):
        self.nodes, self.init, self.inputs, self.feeds, self.outputs, self.opset, self.want = [], [], [], {}, [], opset, {}
        self.type = np.float32

    def const(self, name, value):
        self.init.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def input(self, name, value):
        self.feeds[name] = value
        self.inputs.append(h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        return name

    def add(self, op, inputs, output, domain="", **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(node(op, inputs, outputs, domain, **attributes))
        return outputs[0]

    def project(self, x, name, width=C):
        """x [B, N, C] · W + b."""
        w, b = self.const(f"{name}.w", f(C, width).astype(self.type)), self.const(f"{name}.b", f(width).astype(self.type))
        return self.add("Add", [self.add("MatMul", [x, w], f"{name}.mm"), b], name)

    def heads(self, x, perm, name, count=H):
        shape = self.const(f"{name}.shape", np.array([0, 0, count, D], np.int64))
        return self.add("Transpose", [self.add("Reshape", [x, shape], f"{name}.r"), ], name, perm=perm)

    def attention(self, x, mask, n=0):
        q = self.heads(self.project(x, f"q{n}"), [0, 2, 1, 3], f"qh{n}")
        k = self.heads(self.project(x, f"k{n}"), [0, 2, 3, 1], f"kh{n}")
        v = self.heads(self.project(x, f"v{n}"), [0, 2, 1, 3], f"vh{n}")
        scores = mask(self, q, k, n)
        w = self.add("Softmax", [scores], f"weights{n}", axis=-1)
        self.want[f"weights.{n}"] = w
        o = self.add("MatMul", [w, v], f"o{n}")
        o = self.add("Transpose", [o], f"ot{n}", perm=[0, 2, 1, 3])
        return self.add("Reshape", [o, self.const(f"back{n}", np.array([0, 0, C], np.int64))], f"y{n}")

    def model(self, outputs):
        infos = [h.make_empty_tensor_value_info(name) for name in outputs]
        graph = h.make_graph(self.nodes, "g", self.inputs, infos, self.init)
        return h.make_model(graph, opset_imports=[h.make_opsetid("", self.opset), h.make_opsetid(MS, 1)], ir_version=10)


GRAPHS = {}


def graph(make):
    GRAPHS[make.__name__.replace("_", "-")] = make
    return make


def plain(change, opset=17, x_type=np.float32):
    g = Graph(opset)
    g.type = x_type
    x = g.input("x", f(B, N, C).astype(x_type))
    y = g.attention(x, change)
    return g, y


@graph
def div_and_add():
    """BERT as torch.onnx wrote it: scores / √d + mask."""
    def scores(g, q, k, n):
        s = g.add("Div", [g.add("MatMul", [q, k], "s"), g.const("root", np.float32(2.0))], "sd")
        m = np.zeros((B, 1, 1, N), np.float32)
        m[1, ..., 3:] = -10000
        return g.add("Add", [s, g.input("mask", m)], "sm")
    return plain(scores)


@graph
def scaled_before():
    """torch's scaled_dot_product_attention: √(scale) on both sides."""
    def scores(g, q, k, n):
        r = g.const("r", np.float32(D ** -0.25))
        return g.add("MatMul", [g.add("Mul", [q, r], "qs"), g.add("Mul", [k, r], "ks")], "s")
    return plain(scores)


@graph
def where_causal():
    """GPT-2: a stored triangle chooses between the scores and a large negative number."""
    def scores(g, q, k, n):
        s = g.add("Mul", [g.const("c", np.float32(0.5)), g.add("MatMul", [q, k], "s")], "sc")
        keep = g.const("keep", np.tril(np.ones((1, 1, N, N), bool)))
        return g.add("Where", [keep, s, g.const("low", np.float32(np.finfo(np.float32).min))], "sw")
    return plain(scores)


@graph
def where_drop():
    def scores(g, q, k, n):
        drop = np.zeros((B, 1, 1, N), bool)
        drop[0, ..., 4:] = True
        return g.add("Where", [g.input("drop", drop), g.const("low", np.float32(-np.inf)), g.add("MatMul", [q, k], "s")], "sw")
    return plain(scores)


@graph
def mask_then_factor():
    """The factor multiplies the mask too."""
    def scores(g, q, k, n):
        s = g.add("Add", [g.const("bias", f(1, H, N, N)), g.add("MatMul", [q, k], "s")], "sa")
        return g.add("Mul", [s, g.const("c", np.float32(0.3))], "sm")
    return plain(scores)


@graph
def factor_of_shape():
    """The factor is computed from the size of a head."""
    def scores(g, q, k, n):
        d = g.add("Gather", [g.add("Shape", [q], "shape"), g.const("last", np.array(3, np.int64))], "d")
        root = g.add("Sqrt", [g.add("Cast", [d], "df", to=T.FLOAT)], "root")
        return g.add("Div", [g.add("MatMul", [q, k], "s"), root], "sd")
    return plain(scores)


@graph
def half():
    def scores(g, q, k, n):
        return g.add("Cast", [g.add("MatMul", [q, k], "s")], "sc", to=T.FLOAT)
    g = Graph()
    g.type = np.float16
    x = g.input("x", f(B, N, C).astype(np.float16))
    q = g.heads(g.project(x, "q"), [0, 2, 1, 3], "qh")
    k = g.heads(g.project(x, "k"), [0, 2, 3, 1], "kh")
    v = g.heads(g.project(x, "v"), [0, 2, 1, 3], "vh")
    w = g.add("Softmax", [scores(g, q, k, 0)], "weights", axis=-1)
    g.want["weights.0"] = w
    y = g.add("MatMul", [g.add("Cast", [w], "wh", to=T.FLOAT16), v], "y")
    return g, y


@graph
def batch_of_heads():
    """BART: batch and heads are one axis."""
    g = Graph()
    q, k, v = g.input("q", f(B * H, N, D)), g.input("k", f(B * H, N, D)), g.input("v", f(B * H, N, D))
    s = g.add("MatMul", [g.add("Identity", [q], "qi"), g.add("Transpose", [k], "kt", perm=[0, 2, 1])], "s")
    w = g.add("Softmax", [s], "weights", axis=-1)
    g.want["weights.0"] = w
    return g, g.add("MatMul", [w, v], "y")


@graph
def two_layers():
    g = Graph()
    x = g.input("x", f(B, N, C))
    scores = lambda g, q, k, n: g.add("MatMul", [q, k], f"s{n}")
    y = g.attention(g.attention(x, scores, 0), scores, 1)
    # A softmax that is no attention.
    z = g.add("Softmax", [y], "probabilities", axis=-1)
    return g, z


def bnhd(x, heads):
    """[B, N, heads·d] as [B, heads, N, d]."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


@graph
def multi_head():
    g = Graph()
    q, k, v = (g.project(g.input(n, f(B, N, C)), n + "p") for n in "qkv")
    y = g.add("MultiHeadAttention", [q, k, v, g.const("bias", f(3 * C)), "", g.input("added", f(1, H, N, N))], "y", MS, num_heads=H)
    g.want["output.0"] = ("y", H)
    return g, y


@graph
def multi_head_padding():
    g = Graph()
    q, k, v = (g.input(n, f(B, N, C)) for n in "qkv")
    pad = np.ones((B, N), np.int32)
    pad[1, 3:] = 0
    y = g.add("MultiHeadAttention", [q, k, v, "", g.input("pad", pad)], "y", MS, num_heads=H, scale=0.7)
    g.want["output.0"] = ("y", H)
    return g, y


def group_query(past, window=-1):
    g = Graph()
    total, heads = past + N, 4
    q, k, v = g.input("q", f(1, N, heads * 16)), g.input("k", f(1, N, 2 * 16)), g.input("v", f(1, N, 2 * 16))
    angles = np.arange(32)[:, None] * 0.3 ** np.arange(8)[None]
    cos, sin = g.const("cos", np.cos(angles).astype(np.float32)), g.const("sin", np.sin(angles).astype(np.float32))
    pk, pv = g.input("pk", f(1, 2, past, 16)), g.input("pv", f(1, 2, past, 16))
    lengths, size = g.input("lengths", np.array([total - 1], np.int32)), g.const("size", np.array(total, np.int32))
    g.add("GroupQueryAttention", [q, k, v, pk, pv, lengths, size, cos, sin], ["y", "keys", "values"], MS, num_heads=heads, kv_num_heads=2, do_rotary=1,
          local_window_size=window)
    g.want["output.0"] = ("y", heads)
    return g, "y"


@graph
def group_query_first():
    return group_query(0)


@graph
def group_query_past():
    return group_query(3)


@graph
def group_query_window():
    return group_query(2, 3)


@graph
def joint():
    g = Graph()
    pad = np.ones((B, N), np.int32)
    pad[0, 4:] = 0
    y = g.add("Attention", [g.input("x", f(B, N, C)), g.const("w", f(C, 3 * C)), g.const("b", f(3 * C)), g.input("pad", pad)], "y", MS, num_heads=H)
    g.want["output.0"] = ("y", H)
    return g, y


@graph
def joint_causal():
    g = Graph()
    y = g.add("Attention", [g.input("x", f(B, N, C)), g.const("w", f(C, 3 * C)), g.const("b", f(3 * C))], "y", MS, num_heads=H, unidirectional=1)
    g.want["output.0"] = ("y", H)
    return g, y


@graph
def standard():
    g = Graph(23)
    q, k, v = g.input("q", f(B, 4, N, D)), g.input("k", f(B, 2, N, D)), g.input("v", f(B, 2, N, D))
    g.add("Attention", [q, k, v], ["y", "", "", "weights"], is_causal=1, scale=0.6, qk_matmul_output_mode=3)
    g.want["weights.0"] = "weights"
    return g, "y"


@graph
def standard_flat():
    g = Graph(23)
    q, k, v = g.input("q", f(B, N, 4 * D)), g.input("k", f(B, N, 2 * D)), g.input("v", f(B, N, 2 * D))
    mask = np.ones((N, N), bool)
    mask[:, 3] = False
    g.add("Attention", [q, k, v, g.input("mask", mask)], ["y", "", "", "weights"], q_num_heads=4, kv_num_heads=2, qk_matmul_output_mode=3)
    g.want["weights.0"] = "weights"
    return g, "y"


def run(model, feeds, outputs):
    session = ort.InferenceSession(model if isinstance(model, str) else model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, feeds)))


sums = {}
for name, make in GRAPHS.items():
    rng = np.random.default_rng(1)
    g, y = make()
    path = os.path.join(HERE, name + ".onnx")
    onnx.save(g.model([y]), path)
    wanted = [value if isinstance(value, str) else value[0] for value in g.want.values()]
    own = run(g.model(list(dict.fromkeys([y, *wanted]))), g.feeds, list(dict.fromkeys([y, *wanted])))
    exposed = f"/tmp/heed-{name}.onnx"
    subprocess.run(["node", "src/cli/main.ts", "onnx", "expose", path, "-o", exposed], check=True, stdout=subprocess.DEVNULL)
    session = ort.InferenceSession(exposed, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    values = dict(zip(names, session.run(None, g.feeds)))
    np.testing.assert_allclose(values[y], own[y], atol=1e-6)  # the model itself is unchanged
    tensors = {k: np.ascontiguousarray(v) for k, v in values.items() if k.startswith("heed.") and k != "heed.recipe"}
    for part, value in g.want.items():
        got = own[value] if isinstance(value, str) else bnhd(own[value[0]], value[1])
        tensors["want." + part] = np.ascontiguousarray(got)
    save_file(tensors, os.path.join(HERE, name + ".safetensors"))
    sums[name] = hashlib.sha256(open(exposed, "rb").read()).hexdigest()
    print(name, [n for n in names if n.startswith("heed")])
with open(os.path.join(HERE, "checksums.json"), "w") as file:
    json.dump(sums, file, indent=1)
