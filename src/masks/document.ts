/** Packed documents: several texts in one sequence; each attends only to itself. */
import { checkCount, OptionError } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { type Mask, maskMod, type NumberExpression, VARS } from "./expression/expr.ts";
import { integers } from "./expression/table.ts";
import { maskKind } from "./kind.ts";

type Ids = ArrayLike<number> | readonly (readonly number[])[] | TensorLike;

/**
 * Query and key belong to the same document.
 *
 * @param queryIds document of every position [N], or of every position of every batch entry [B, N]
 * @param keyIds   ids of the keys, where they differ; `queryIds` is then indexed by query row, not by position
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: and(causal(), documents([0, 0, 1, 1])) });
 */
export function documents(queryIds: Ids, keyIds?: Ids): Mask {
  checkCount("documents", arguments, 2);
  if (keyIds === undefined) {
    const idAt = idReader("documents", queryIds);
    return maskMod(({ q, k }) => idAt(q).eq(idAt(k)));
  }
  const queryIdAt = idReader("documents (query ids)", queryIds);
  const keyIdAt = idReader("documents (key ids)", keyIds);
  return maskMod(({ i, k }) => queryIdAt(i).eq(keyIdAt(k)));
}

/** The document at an index, as an expression. */
function idReader(name: string, ids: Ids): (at: NumberExpression) => NumberExpression {
  const idTable = integers(name, ids);
  const rank = idTable.table.shape.length;
  if (rank !== 1 && rank !== 2)
    throw new OptionError("documents", `${name}: expected ids [N] or [B, N], got ${rank} axes`);
  return (at) => (rank === 1 ? idTable.at(at) : idTable.at(VARS.b, at));
}

/** Documents by name: `{ "documents": [0, 0, 1, 1] }`, the document of each position. */
documents.kind = maskKind({
  name: "documents",
  parameters: [{ name: "ids", type: "integers", least: -(2 ** 31) }],
  about: "keys of the query's own document: the document of each position",
  build: ({ ids }) => documents(Int32Array.from(ids as number[])),
  describe: ({ ids }) => `${new Set(ids as number[]).size} documents`,
});
