/** Block-sparse attention: a small matrix of the blocks of keys that each block of queries attends to. Child et al. 2019. */

import { fromNested } from "../core/create/nested.ts";
import { checkOnCpu } from "../core/device/device.ts";
import { checkCount, refuseGot, ShapeError } from "../core/errors.ts";
import { asTensor, type TensorLike } from "../core/tensor.ts";
import { type Mask, maskMod } from "./expression/expr.ts";
import { table } from "./expression/table.ts";

/**
 * Block ⌊q / size⌋ of queries attends to block ⌊k / size⌋ of keys where `blocks` is true (not 0).
 *
 * @param blocks [query blocks, key blocks], or [Hq, query blocks, key blocks]; bool or integers, a tensor or nested arrays
 * @param size   positions in a block
 *
 * @example
 * blockSparse([[true, false], [true, true]], 64); // two by two blocks of 64 queries and 64 keys
 */
export function blockSparse(
  blocks: TensorLike | readonly (readonly (number | boolean | readonly (number | boolean)[])[])[],
  size: number,
): Mask {
  checkCount("blockSparse", arguments, 2);
  if (!(Number.isInteger(size) && size >= 1 && size < 2 ** 31))
    refuseGot("block-size", "blockSparse: size must be an integer ≥ 1", size);
  const source = Array.isArray(blocks)
    ? asTensor("blockSparse", fromNested("blockSparse", blocks))
    : asTensor("blockSparse", blocks as TensorLike);
  const rank = source.shape.length;
  if (rank !== 2 && rank !== 3)
    throw new ShapeError(
      "blocks",
      `blockSparse: expected blocks [query blocks, key blocks] or [Hq, query blocks, key blocks], got [${source.shape.join(", ")}]`,
    );
  checkOnCpu("blockSparse", "blocks", source);
  const flags = Int32Array.from(source.toFloat64(), (x) => (x !== 0 ? 1 : 0));
  const blockTable = table(
    { data: flags, shape: source.shape },
    { name: "blockSparse", strict: true, exact: [true, true, true] },
  );
  return maskMod(({ h, q, k }) => {
    const at = [q.floorDiv(size), k.floorDiv(size)] as const;
    return (rank === 2 ? blockTable.at(...at) : blockTable.at(h, ...at)).ne(0);
  });
}
