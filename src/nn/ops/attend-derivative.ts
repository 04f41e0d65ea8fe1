/**
 * The derivative of `scaledDotProductAttention`: `attentionBackward`, which recomputes the weights tile by tile, so that
 * training too needs no N×N array. In a separate file, so that a program without gradients does not load the backward pass.
 *
 * Gradients flow to query, key and value, to float mask tensors, to `sinks`, and to the tensors that slopes, relative
 * tables and other tables of `scoreMod` were built from: build `alibi(slopes)` anew for each call, since it copies them.
 * No gradient is defined through `lse` and `weights`: one that reaches them throws.
 */

import { attentionBackward, type Extra } from "../../api/backward.ts";
import type { AttentionOptions } from "../../backend/problem.ts";
import { isFloat } from "../../core/dtype.ts";
import { type AttentionCall, record, recordWithoutDerivative } from "../../core/recording/record.ts";
import { Tensor } from "../../core/tensor.ts";
import { type NumberExpression, tablesOf, VARS, withScore } from "../../masks/expression/expr.ts";

/** Hands an attention call to the active recorder, with its derivative. */
export function attentionDerivative({ query, key, value, options, result }: AttentionCall): void {
  const { output, lse, weights } = result;
  const { returnWeights: _, ...same } = options as AttentionOptions;
  const extras = extrasOf(options as AttentionOptions);
  const inputs = [query, key, value, ...extras.map(({ tensor }) => tensor)];
  record({
    name: "attention",
    inputs,
    outputs: [output],
    backward: ([d], wanted) => {
      if (!d) return [];
      const wantedExtras = extras.filter((_, n) => wanted?.[3 + n] ?? true);
      const gradients = attentionBackward(
        d,
        query,
        key,
        value,
        { output, lse },
        {
          ...same,
          // The call and its options are those of the tape.
          checkSums: false,
          wanted: [...new Set(wantedExtras.map(({ kind }) => kind))],
        },
      );
      return [
        gradients.dQuery,
        gradients.dKey,
        gradients.dValue,
        ...extras.map((extra) => (wantedExtras.includes(extra) ? extra.gradient(gradients) : undefined)),
      ];
    },
  });
  recordWithoutDerivative(
    "scaledDotProductAttention: lse and weights",
    inputs,
    weights ? [lse, weights] : [lse],
    "compute the weights as softmax(scale(matmul(query, transpose(key)), 1 / Math.sqrt(dk))) of heed/nn where the loss reads them",
  );
}

type Gradients = ReturnType<typeof attentionBackward>;

/** A differentiable tensor beside query, key and value, and how to read its gradient. */
export interface ExtraInput {
  readonly kind: Extra;
  readonly tensor: Tensor;
  readonly gradient: (gradients: Gradients) => Tensor | undefined;
}

export function extrasOf({ attnMask, sinks, scoreMod }: AttentionOptions): ExtraInput[] {
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
