/**
 * Attention as a recorded operation: `scaledDotProductAttention` forwards, `attentionBackward` backwards, which
 * recomputes the weights tile by tile, so that training too needs no N×N array.
 *
 * Gradients flow to query, key and value, to float mask tensors, to `sinks`, and to the tensors that slopes, relative
 * tables and other tables of `scoreMod` were made from: build `alibi(slopes)` anew for each call, since it copies them.
 */
import { scaledDotProductAttention } from "../../attention.ts";
import type { AttentionOptions } from "../../backend/problem.ts";
import { attentionBackward, type Extra } from "../../backward.ts";
import { isFloat } from "../../core/dtype.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { type NumberExpression, tablesOf, VARS, withScore } from "../../masks/expression/expr.ts";
import { record } from "../record.ts";
import { type FloatTensor, operand } from "./operand.ts";

/** What attention gives back. No gradient flows through `lse` and `weights`. */
export interface Attended {
  /** [..., Hq, Nq, dv], or [..., Nq, Hq, dv] in layout `bshd`. */
  readonly output: FloatTensor;
  /** Natural log of Σ exp over what softmax sees, [..., Hq, Nq]. */
  readonly lse: FloatTensor;
  /** Where asked for with `returnWeights`: [..., Hq, Nq, Nk] or of the chosen heads and rows. */
  readonly weights?: FloatTensor;
}

/** softmax(Q·Kᵀ·scale + mask)·V with all options of `scaledDotProductAttention`, recorded. */
export function attention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: AttentionOptions = {},
): Attended {
  const q = operand("attention", "query", query);
  const k = operand("attention", "key", key, q);
  const v = operand("attention", "value", value, q);
  const result = scaledDotProductAttention(q, k, v, options) as Attended;
  const { output, lse } = result;
  const { returnWeights: _, ...same } = options;
  const extras = extrasOf(options);
  record({
    name: "attention",
    inputs: [q, k, v, ...extras.map(({ tensor }) => tensor)],
    outputs: [output],
    backward: ([d], wanted) => {
      if (!d) return [];
      const asked = extras.filter((_, n) => wanted?.[3 + n] ?? true);
      const gradients = attentionBackward(
        d,
        q,
        k,
        v,
        { output, lse },
        {
          ...same,
          wanted: [...new Set(asked.map(({ kind }) => kind))],
        },
      );
      return [
        gradients.dQuery,
        gradients.dKey,
        gradients.dValue,
        ...extras.map((extra) => (asked.includes(extra) ? extra.gradient(gradients) : undefined)),
      ];
    },
  });
  return result;
}

type Gradients = ReturnType<typeof attentionBackward>;

/** A tensor beside query, key and value that a gradient flows to, and where to find it. */
interface ExtraInput {
  readonly kind: Extra;
  readonly tensor: Tensor;
  readonly gradient: (gradients: Gradients) => Tensor | undefined;
}

function extrasOf({ attnMask, sinks, scoreMod }: AttentionOptions): ExtraInput[] {
  const extras: ExtraInput[] = [];
  const masks: readonly unknown[] = Array.isArray(attnMask) ? attnMask : [attnMask];
  for (const [n, mask] of masks.entries())
    if (mask instanceof Tensor && isFloat(mask.dtype))
      extras.push({
        kind: "mask",
        tensor: mask,
        gradient: ({ dMask, dMasks }) => (Array.isArray(attnMask) ? dMasks?.[n] : dMask),
      });
  if (sinks instanceof Tensor)
    extras.push({ kind: "sinks", tensor: sinks, gradient: ({ dSinks }) => dSinks });
  let score: NumberExpression | undefined;
  for (const change of scoreMod ? [scoreMod].flat() : []) score = withScore(change.expr, score ?? VARS.score);
  const tables = score ? tablesOf(score).filter(({ type }) => type === "float") : [];
  for (const [n, { source }] of tables.entries())
    extras.push({ kind: "tables", tensor: source, gradient: ({ dTables }) => dTables?.[n] });
  return extras;
}
