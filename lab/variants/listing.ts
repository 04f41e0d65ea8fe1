/** The code beside the picture: the ways on the chosen data, or the tiles of Flash. */
import type { Listings } from "../frame/page.ts";
import { codeLines } from "../frame/words.ts";
import type { Variants, VariantsNumbers } from "./compute.ts";
import { showsTiles, TILES } from "./shown.ts";
import type { VariantsView } from "./state.ts";

/** The listings of the page. */
export const code: Listings<Variants, VariantsNumbers> = {
  typescript: (view) => (showsTiles(view.state) ? tilesTypeScript(view) : waysTypeScript(view)),
  python: (view) => (showsTiles(view.state) ? tilesPython(view) : waysPython(view)),
  printed: (view) =>
    showsTiles(view.state)
      ? view.numbers.merged.map(([lse, output]) => `${lse.toFixed(2)} ${output.toFixed(2)}`).join("\n")
      : `${view.numbers.ways[2].windowShare.toFixed(3)}\n${view.numbers.ways
          .slice(2)
          .map(({ error }) => error.toFixed(2))
          .join("\n")}`,
  highlight: (view) =>
    showsTiles(view.state)
      ? ["mergeStates([", "l, o = l * rescale"]
      : view.state.data === "local"
        ? ["longformer(near", "sees = (abs"]
        : view.state.data === "sink"
          ? ["random = performer", "random = a @"]
          : ["const wrong =", "def wrong("],
  names: {
    longformer: "longformer",
    near: "longformer",
    random: "performer",
    performerAttention: "performer",
  },
};

const listed = ({ tiles }: VariantsNumbers, of: "lse" | "output", indent: string) =>
  codeLines(
    tiles.map(({ ownText }) => ownText[of]),
    4,
    indent,
  );

function tilesTypeScript({ numbers: n }: VariantsView): string {
  return `import { mergeStates, tensor } from "heed";

// Query ${n.query}, each tile of ${n.n / TILES} keys alone: the log
// of its sum, and its output's first number.
const lse = [
${listed(n, "lse", "  ")}];
const output = [
${listed(n, "output", "  ")}];

const tile = (j) => ({
  output: tensor([[output[j]]], "float64"),
  lse: tensor([lse[j]], "float64") });

let all = tile(0);
for (let j = 0; j < 8; j++) {
  if (j > 0) all = mergeStates([all, tile(j)]);
  const [sum, o] = [all.lse, all.output]
    .map((t) => t.toFloat64()[0].toFixed(2));
  console.log(sum, o);
}`;
}

function tilesPython({ numbers: n }: VariantsView): string {
  return `import numpy as np

# Query ${n.query}, each tile of ${n.n / TILES} keys alone: the
# log of its sum, and its output's first number.
lse = np.array([
${listed(n, "lse", "    ")}])
output = np.array([
${listed(n, "output", "    ")}])

m, l, o = -np.inf, 0, 0
for s, v in zip(lse, output):
    top = max(m, s)
    rescale = np.exp(m - top)
    p = np.exp(s - top)
    l, o = l * rescale + p, o * rescale + p * v
    m = top
    print(f"{m + np.log(l):.2f} {o / l:.2f}")`;
}

function waysTypeScript({ numbers: n, state }: VariantsView): string {
  return `import { longformer, tensor,
  scaledDotProductAttention } from "heed";
import { performerAttention } from
  "heed/nn/history";

const [n, d, near, m] =
  [${n.n}, ${n.d}, ${n.window}, ${n.features}];
let x = ${state.seed};
function uniform() {
  x ^= x << 13; x ^= x >>> 17; x ^= x << 5;
  return (x >>> 0) / 2 ** 32;
}
const normals = (count) =>
  Float32Array.from({ length: count }, () =>
    Math.sqrt(-2 * Math.log(uniform())) *
    Math.cos(2 * Math.PI * uniform()));

let q = normals(n * d), k = normals(n * d);
const v = tensor(normals(n * d), [n, d]);${
    state.data === "local"
      ? `
const waves = normals(d / 2);
q = k = q.map((_, at) => {
  const [i, c] = [Math.floor(at / d), at % d];
  const turn = waves[c % (d / 2)] / 12 * i;
  return Math.SQRT2 * (c < d / 2
    ? Math.cos(turn) : Math.sin(turn));
});`
      : state.data === "sink"
        ? `
for (let i = 0; i < n; i++) q[i * d] += 4;
k.fill(0, 0, d);
k[0] = 18;`
        : ""
  }
const root = Math.sqrt(${state.spread});
const [query, key] = [q, k].map((t) =>
  tensor(t.map((x) => x * root), [n, d]));

const exact = scaledDotProductAttention(
  query, key, v, { returnWeights: true });
const attnMask = longformer(near, [0]);
const window = scaledDotProductAttention(
  query, key, v, { attnMask });
const features = tensor(normals(m * d), [m, d]);
const random = performerAttention(
  query, key, v, { features });

const [want, byWindow, byFeatures] =
  [exact, window, random].map(({ output }) =>
    output.toFloat64());
const size = (t) => Math.sqrt(
  t.reduce((sum, x) => sum + x * x, 0));
const wrong = (t) => size(t.map((x, i) =>
  x - want[i])) / size(want);

const inside = exact.weights.toFloat64().reduce(
  (sum, p, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    const sees = i === 0 || j === 0 ||
      Math.abs(i - j) <= near;
    return sum + (sees ? p / n : 0);
  }, 0);
console.log(inside.toFixed(3));
console.log(wrong(byWindow).toFixed(2));
console.log(wrong(byFeatures).toFixed(2));`;
}

function waysPython({ numbers: n, state }: VariantsView): string {
  return `import numpy as np

n, d, near, m = ${n.n}, ${n.d}, ${n.window}, ${n.features}
x = ${state.seed}
def uniform():
    global x
    x ^= x << 13 & 0xFFFFFFFF
    x ^= x >> 17
    x ^= x << 5 & 0xFFFFFFFF
    return x / 2**32

def normals(rows, columns):
    size = 2 * rows * columns
    u = [uniform() for _ in range(size)]
    a, b = np.array(u).reshape(-1, 2).T
    z = np.sqrt(-2 * np.log(a))
    z *= np.cos(2 * np.pi * b)
    return z.reshape(rows, columns)

q, k = normals(n, d), normals(n, d)
v = normals(n, d)${
    state.data === "local"
      ? `
waves = normals(1, d // 2) / 12
turn = np.arange(n)[:, None] * waves
turns = np.cos(turn), np.sin(turn)
q = k = np.sqrt(2) * np.concatenate(turns, 1)`
      : state.data === "sink"
        ? `
q[:, 0] += 4
k[0] = 0
k[0, 0] = 18`
        : ""
  }
root = np.sqrt(${state.spread})
q, k = q * root, k * root

def attention(visible):
    s = q @ k.T / np.sqrt(d)
    s = np.where(visible, s, -np.inf)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return p, p @ v

i, j = np.indices((n, n))
sees = (abs(i - j) <= near) | (i == 0) | (j == 0)
p, exact = attention(True)
_, window = attention(sees)

f = normals(m, d)
def phi(x):
    y = x @ f.T / d**0.25
    y -= (x * x).sum(1, keepdims=True) / 2 / d**0.5
    return np.exp(y - y.max())

a, b = phi(q), phi(k)
random = a @ (b.T @ v) / (a @ b.sum(0))[:, None]

def wrong(x):
    return np.linalg.norm(x - exact) / size

size = np.linalg.norm(exact)
print(f"{p[sees].sum() / n:.3f}")
print(f"{wrong(window):.2f}")
print(f"{wrong(random):.2f}")`;
}
