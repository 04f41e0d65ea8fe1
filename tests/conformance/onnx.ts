/**
 * ONNX's Attention and FlexAttention as calls of heed (../shared/conformance/onnx-attention): the mapping of each input and
 * attribute, and unsupported cases. That folder's README describes the operators; the published specification decides.
 */
import type { AttentionOptions, MaskLike } from "heed";
import {
  attentionWeights,
  keyLengths,
  scaledDotProductAttention,
  scoreMod,
  slidingWindow,
  softcap,
  Tensor,
  zeros,
} from "heed";
import { expect } from "vitest";
import { difference, ONNX_TOLERANCE } from "../support/oracles/tolerance.ts";
import { readJson, readTensors, shared } from "../support/shared.ts";

interface Named {
  name: string;
  dtype: string;
  shape: number[];
}
interface Graph {
  nodes: { op: string }[];
  constants: Record<string, { values: number[] }>;
}
interface Attributes {
  q_num_heads?: number;
  kv_num_heads?: number;
  is_causal?: number;
  scale?: number;
  softcap?: number;
  left_window_size?: number;
  right_window_size?: number;
  qk_matmul_output_mode?: number;
  softmax_precision?: number;
  score_mod?: Graph;
  prob_mod?: Graph;
}
export interface OnnxCase {
  name: string;
  file: string;
  op: string;
  attributes: Attributes;
  inputs: Named[];
  outputs: Named[];
}

const root = "conformance/onnx-attention";

/** Every case of both manifests. */
export const onnxCases: readonly OnnxCase[] = ["", "opset25-windows"].flatMap((folder) => {
  const manifest = readJson<{ cases: OnnxCase[] }>(shared(root, folder, "manifest.json"), { cases: [] });
  return manifest.cases.map((c) => ({ ...c, file: shared(root, folder, c.file) }));
});

/** Why heed does not run a case, or undefined. */
export function skipped(c: OnnxCase): string | undefined {
  if (c.op === "LinearAttention") return "LinearAttention is a recurrence without softmax, another function";
  if (c.attributes.prob_mod) return "prob_mod changes weights after softmax; heed changes scores";
  return undefined;
}

/** [batch, sequence, heads × size] as [batch, heads, sequence, size]: a view. */
function byHead(t: Tensor, heads: number | undefined): Tensor {
  if (t.shape.length !== 3) return t;
  const [B, N, width] = t.shape;
  const H = heads as number;
  return t.reshape([B, N, H, width / H]).transpose(1, 2);
}

/** past and present keys in one: [B, H, past + present, d]. */
function after(past: Tensor | undefined, present: Tensor): Tensor {
  if (!past) return present;
  const [B, H, P, d] = past.shape;
  const N = present.shape[2];
  const [a, b] = [past.contiguous().data, present.contiguous().data] as Float32Array[];
  const data = a.slice(0, 0).constructor as new (n: number) => Float32Array;
  const out = new data(B * H * (P + N) * d);
  for (let head = 0; head < B * H; head++) {
    out.set(a.subarray(head * P * d, (head + 1) * P * d), head * (P + N) * d);
    out.set(b.subarray(head * N * d, (head + 1) * N * d), (head * (P + N) + P) * d);
  }
  return new Tensor(out, [B, H, P + N, d], present.dtype);
}

/** A mask whose last axis is shorter than the keys, masked beyond its end; heed itself refuses such a mask. */
function padded(mask: Tensor, Nk: number): MaskLike[] {
  const columns = mask.shape[mask.shape.length - 1];
  if (columns === Nk || columns === 1) return [mask];
  const rows = mask.size / columns;
  const wide = zeros([...mask.shape.slice(0, -1), Nk], mask.dtype);
  const from = mask.contiguous().data as Float32Array;
  for (let row = 0; row < rows; row++)
    (wide.data as Float32Array).set(from.subarray(row * columns, (row + 1) * columns), row * Nk);
  return [wide, keyLengths(columns)];
}

/** A score_mod graph as a score mod, recognized by its operations. */
function changeOf(graph: Graph) {
  const ops = graph.nodes.map((node) => node.op).join(" ");
  const [constant] = Object.values(graph.constants).map((c) => c.values[0]);
  if (ops === "Div Tanh Mul") return softcap(constant);
  if (ops === "Add") return scoreMod(({ score }) => score.add(constant));
  if (ops === "Mul") return scoreMod(({ score }) => score.mul(constant));
  if (ops.includes("Range") && ops.endsWith("Add")) return scoreMod(({ score, q, k }) => score.add(q.sub(k)));
  throw new Error(`score_mod of an unknown kind: ${ops}`);
}

/** Runs a case and compares all outputs within upstream's tolerance; −∞ and the zeros of empty rows exactly. */
export function runOnnx(c: OnnxCase): void {
  const tensors = readTensors(c.file);
  const a = c.attributes;
  const get = (name: string) => tensors.get(name);
  const q = byHead(get("Q") as Tensor, a.q_num_heads);
  const key = after(get("past_key"), byHead(get("K") as Tensor, a.kv_num_heads));
  const value = after(get("past_value"), byHead(get("V") as Tensor, a.kv_num_heads));
  const [B, Hq, Nq] = q.shape;
  const Nk = key.shape[2];

  const real = get("nonpad_kv_seqlen");
  const lengths = real && Array.from(real.toFloat64());
  const past = get("past_key")?.shape[2] ?? 0;
  const queryOffset = lengths?.map((n) => n - Nq) ?? past;
  const structural: MaskLike[] = [];
  if (lengths) structural.push(keyLengths(lengths));
  if ((a.left_window_size ?? -1) >= 0 || (a.right_window_size ?? -1) >= 0)
    structural.push(slidingWindow(a.left_window_size ?? -1, a.right_window_size ?? -1));
  const mask = get("attn_mask");
  if (mask) structural.push(...padded(mask, Nk));
  const masks: AttentionOptions = {
    isCausal: a.is_causal === 1,
    queryOffset,
    ...(structural.length && { attnMask: structural }),
  };
  const cap = a.softcap ? softcap(a.softcap) : a.score_mod ? changeOf(a.score_mod) : undefined;
  const scale = a.scale === undefined ? {} : { scale: a.scale };
  const mods = cap ? { scoreMod: cap } : {};

  const result = scaledDotProductAttention(q, key, value, {
    ...scale,
    ...mods,
    ...masks,
    returnWeights: true,
  });
  const got = new Map<string, Tensor>([
    ["present_key", key],
    ["present_value", value],
  ]);
  const Y = get("Y") as Tensor;
  got.set(
    "Y",
    Y.shape.length === 3 ? result.output.transpose(1, 2).contiguous().reshape(Y.shape) : result.output,
  );
  if (get("qk_matmul_output")) {
    // Mode 3 is the weights. Scores are the logarithm of weights rebuilt with lse 0: exp(score − 0).
    const mode = a.qk_matmul_output_mode ?? 0;
    const lse = zeros([B, Hq, Nq], q.dtype === "float64" ? "float64" : "float32");
    const upTo = [scale, { ...scale, ...mods }, { ...scale, ...mods, ...masks }][mode];
    const scores = () => {
      const exponentials = attentionWeights(q, key, lse, { ...upTo, checkSums: false });
      return new Tensor(exponentials.toFloat64().map(Math.log), exponentials.shape, "float64");
    };
    got.set("qk_matmul_output", mode === 3 ? (result.weights as Tensor) : scores());
  }

  for (const { name, dtype } of c.outputs) {
    const want = get(name) as Tensor;
    const mine = got.get(name) as Tensor;
    expect([name, mine.shape]).toEqual([name, want.shape]);
    const numbers = want.toFloat64();
    const t = ONNX_TOLERANCE[dtype];
    const exact = (x: number) =>
      x === -Infinity || (x === 0 && (name === "Y" || a.qk_matmul_output_mode === 3));
    const wrong = difference(mine.toFloat64(), numbers, (i) =>
      exact(numbers[i]) ? 0 : t + t * Math.abs(numbers[i]),
    );
    if (wrong) expect.fail(`${name}: ${wrong}`);
  }
}
