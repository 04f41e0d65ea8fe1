/** Packed documents: several texts in one sequence, each seeing only itself. */
import { OptionError } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { integers, type Mask, maskMod, VARS } from "./expression/expr.ts";
import { maskKind } from "./kind.ts";

type Ids = ArrayLike<number> | readonly (readonly number[])[] | TensorLike;

/**
 * Query and key belong to the same document.
 *
 * @param queryIds document of every position [N], or of every position of every batch entry [B, N]
 * @param keyIds   where the keys have ids of their own: then `queryIds` counts query rows, not positions
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: and(causal(), documents([0, 0, 1, 1])) });
 */
export function documents(queryIds: Ids, keyIds?: Ids): Mask {
  const read = (name: string, ids: Ids, at: typeof VARS.q) => {
    const idTable = integers(name, ids);
    const rank = idTable.table.shape.length;
    if (rank !== 1 && rank !== 2)
      throw new OptionError("documents", `${name}: expected ids [N] or [B, N], got ${rank} axes`);
    return rank === 1 ? idTable.at(at) : idTable.at(VARS.b, at);
  };
  if (keyIds === undefined) {
    const idTable = integers("documents", queryIds);
    const rank = idTable.table.shape.length;
    if (rank !== 1 && rank !== 2)
      throw new OptionError("documents", `documents: expected ids [N] or [B, N], got ${rank} axes`);
    return maskMod(({ b, q, k }) =>
      rank === 1 ? idTable.at(q).eq(idTable.at(k)) : idTable.at(b, q).eq(idTable.at(b, k)),
    );
  }
  return maskMod(({ i, k }) =>
    read("documents (query ids)", queryIds, i).eq(read("documents (key ids)", keyIds, k)),
  );
}

/** Documents by name: `{ "documents": [0, 0, 1, 1] }`, the document of each position. */
documents.kind = maskKind({
  name: "documents",
  parameters: [{ name: "ids", type: "integers", least: -(2 ** 31) }],
  about: "keys of the query's own document: the document of each position",
  build: ({ ids }) => documents(Int32Array.from(ids as number[])),
  describe: ({ ids }) => `${new Set(ids as number[]).size} documents`,
});
