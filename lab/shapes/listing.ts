/** The code beside the picture: the call or the layer that is shown. */
import type { Listings } from "../frame/page.ts";
import type { Shapes, ShapesNumbers } from "./compute.ts";
import { cells, tuple } from "./sizes.ts";

/** The listings of the page. */
export const code: Listings<Shapes, ShapesNumbers> = {
  typescript: ({ numbers: n, state }) =>
    state.view === "layer"
      ? `import { randn } from "heed";
import { MultiHeadAttention } from "heed/nn";

const x = randn([${state.n}, ${state.d}]);
${
  n.layer.error === ""
    ? `const layer = new MultiHeadAttention(
  ${state.d}, ${state.h}, { bias: false });
const { query, output } = layer.forward(x);

let parameters = 0;
for (const one of layer.parameters().values())
  parameters += one.size;
console.log(query.shape.join(" "));
console.log(output.shape.join(" "));
console.log(parameters);`
    : `try {
  const layer = new MultiHeadAttention(
    ${state.d}, ${state.h}, { bias: false });
  console.log(layer.forward(x).output.shape);
} catch {
  console.log("refused");
}`
}`
      : `import { randn, scaledDotProductAttention }
  from "heed";

const query = randn([${n.query.join(", ")}]);
const key = randn([${n.key.join(", ")}]);
const value = randn([${n.value.join(", ")}]);

${
  n.error === ""
    ? `const { weights, output } =
  scaledDotProductAttention(query, key, value,
    { returnWeights: true });
console.log(weights.shape.join(" "));
console.log(output.shape.join(" "));
console.log(weights.size);`
    : `try {
  scaledDotProductAttention(query, key, value);
} catch {
  console.log("refused");
}`
}`,
  python: ({ numbers: n, state }) =>
    state.view === "layer"
      ? `import numpy as np

draw = np.random.default_rng(0).standard_normal
x = draw((${state.n}, ${state.d}))
W = draw((4, ${state.d}, ${state.d}))

def cut(y):
    return y.reshape(${state.n}, ${state.h}, -1).swapaxes(0, 1)

${
  n.layer.error === ""
    ? `query, key, value = (cut(x @ w) for w in W[:3])
s = query @ key.swapaxes(1, 2)
e = np.exp(s / np.sqrt(query.shape[-1]))
weights = e / e.sum(-1, keepdims=True)
heads = (weights @ value).swapaxes(0, 1)
output = heads.reshape(${state.n}, ${state.d}) @ W[3]

print(*query.shape)
print(*output.shape)
print(W.size)`
    : `try:
    print(*cut(x @ W[0]).shape)
except ValueError:
    print("refused")`
}`
      : `import numpy as np

draw = np.random.default_rng(0).standard_normal
query = draw(${tuple(n.query)})
key = draw(${tuple(n.key)})
value = draw(${tuple(n.value)})

def attention(query, key, value):
    s = query @ key.swapaxes(-1, -2)
    e = np.exp(s / np.sqrt(query.shape[-1]))
    weights = e / e.sum(-1, keepdims=True)
    return weights, weights @ value

${
  n.error === ""
    ? `weights, output = attention(query, key, value)
print(*weights.shape)
print(*output.shape)
print(weights.size)`
    : `try:
    attention(query, key, value)
except ValueError:
    print("refused")`
}`,
  printed: ({ numbers: n, state }) => {
    if (state.view === "layer")
      return n.layer.error === ""
        ? [n.layer.query.join(" "), n.layer.output.join(" "), n.layer.parameters].join("\n")
        : "refused";
    return n.error === ""
      ? [n.weights.join(" "), n.output.join(" "), cells(n.weights)].join("\n")
      : "refused";
  },
  highlight: ({ state }) =>
    state.view === "layer"
      ? ["new MultiHeadAttention(", "return y.reshape"]
      : state.wrong === "value"
        ? ["const value =", "value = draw"]
        : ["scaledDotProductAttention(query", "s = query @"],
  names: { query: "q", key: "k", value: "v", weights: "s", output: "o", x: "x", heads: "o" },
};
