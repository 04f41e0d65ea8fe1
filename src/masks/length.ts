/** Padding: only the first n keys, or query rows, are real. */
import { checkCount, refuseGot } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { type Mask, maskMod, type NumberExpression, VARS, withLimit } from "./expression/expr.ts";
import { integers } from "./expression/table.ts";
import { maskKind } from "./kind.ts";

/** A number, or one number for each batch entry. */
export type PerBatch = number | ArrayLike<number> | TensorLike;

/** `n` as an expression: a constant, or a table read by batch entry. */
export function perBatch(what: string, n: PerBatch): NumberExpression | number {
  const refuse = (got: unknown): never => {
    refuseGot("length", `${what}: expected an integer ≥ 0 or one for each batch entry`, got);
  };
  if (typeof n === "number") return Number.isInteger(n) && n >= 0 && n < 2 ** 31 ? n : refuse(n);
  const lengths = integers(what, n);
  if (lengths.table.shape.length > 1) refuse(n);
  for (const length of lengths.table.data) if (length < 0) refuse(length);
  return lengths.at(VARS.b);
}

/**
 * Keys before `n`; the rest is padding and is not read.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: keyLengths([3]) }); // the fourth key is padding
 */
export function keyLengths(n: PerBatch): Mask {
  checkCount("keyLengths", arguments, 1);
  const limit = perBatch("keyLengths", n);
  return withLimit(
    maskMod(({ k }) => k.lt(limit)),
    { what: "keyLengths", axis: "keys", limit },
  );
}

/**
 * Query rows before `n`; other rows are fully masked, so their output is zero. Counts rows, independent of `queryOffset`.
 *
 * @example
 * and(queryLengths([3]), keyLengths([3])); // rows of padding give zeros
 */
export function queryLengths(n: PerBatch): Mask {
  checkCount("queryLengths", arguments, 1);
  const limit = perBatch("queryLengths", n);
  return withLimit(
    maskMod(({ i }) => i.lt(limit)),
    { what: "queryLengths", axis: "rows", limit },
  );
}

/** Padding by name: `{ "keyLengths": 12 }`. */
keyLengths.kind = maskKind({
  name: "keyLengths",
  parameters: [{ name: "n", type: "integer", least: 0 }],
  about: "keys before N are real, the rest is padding",
  build: ({ n }) => keyLengths(n as number),
  describe: ({ n }) => `${n} real keys`,
});

/** Padding of queries by name: `{ "queryLengths": 12 }`. */
queryLengths.kind = maskKind({
  name: "queryLengths",
  parameters: [{ name: "n", type: "integer", least: 0 }],
  about: "query rows before N are real, other rows are fully masked",
  build: ({ n }) => queryLengths(n as number),
  describe: ({ n }) => `${n} real queries`,
});
