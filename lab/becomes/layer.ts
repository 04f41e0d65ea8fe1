/** The layer around attention, step by step on four words of eight numbers: positions, two heads, W^O, residual sums, norms, MLP. */
import { randn, scaledDotProductAttention, type Tensor, tensor } from "../../src/index.ts";
import {
  add,
  EncoderBlock,
  gelu,
  layerNorm,
  linear,
  mergeHeads,
  SinusoidalPositions,
  split,
  splitHeads,
} from "../../src/nn/index.ts";
import { WORDS } from "./layer-steps.ts";

/** Numbers of a word, and heads. */
const D = 8;
const HEADS = 2;

/** The numbers of each step, [9][4][8]; the last are what the layer returns. */
export function layerOf(seed: number): number[][][] {
  const block = new EncoderBlock(D, HEADS, { feedForward: 4 * D, seed });
  const words = randn([WORDS.length, D], { seed });
  const x = add(words, new SinusoidalPositions(D).forward(WORDS.length));
  const { self_attn, norm1, norm2, linear1, linear2 } = block;
  const projections = linear(x, self_attn.in_proj_weight!, self_attn.in_proj_bias);
  const [q, k, v] = split(projections, [D, D, D]).map((part) => splitHeads(part, HEADS));
  const heads = mergeHeads(scaledDotProductAttention(q, k, v).output);
  const a = self_attn.out_proj.forward(heads);
  const y = norm1.forward(add(x, a));
  const m = linear2.forward(gelu(linear1.forward(y)));
  return [words, x, heads, a, add(x, a), y, m, add(y, m), norm2.forward(add(y, m))].map(rowsOf);
}

const rowsOf = (t: Tensor): number[][] => {
  const all = t.toFloat64();
  return WORDS.map((_, i) => [...all.subarray(i * D, (i + 1) * D)]);
};

/** norm(x) of one row. */
export const normOf = (row: readonly number[]): number[] => [
  ...layerNorm(tensor(Float64Array.from(row), [1, row.length])).toFloat64(),
];
