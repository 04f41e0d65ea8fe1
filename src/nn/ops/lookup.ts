/** Embedding lookup: rows of a table by id. The gradient of a row is the sum over all reads of it. */
import { embedding as lookup, embeddingBackward as lookupBackward } from "../../api/array.ts";
import { fromNested, isNested } from "../../core/create/nested.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { isInteger, readerOf } from "../../core/dtype.ts";
import {
  checkCount,
  DTypeError,
  formatTensor,
  formatValue,
  OptionError,
  ShapeError,
} from "../../core/errors.ts";
import { isObject } from "../../core/known-names.ts";
import { asTensor, eachRow, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { type FloatTensorOf, operand, recordUnary, resultLike } from "./operand.ts";

/** Row ids: a tensor of int32 or int64 on the CPU, or a flat list. */
export type Ids = TensorLike | Tensor | ArrayLike<number>;

/**
 * table[id] for every id: ids [...], table [V, D], result [..., D].
 *
 * @throws OptionError for an id outside 0 … V − 1
 *
 * @example
 * embedding(tensor([2, 0], "int32"), tensor([[1], [2], [3]])); // → [[3], [1]]
 */
export function embedding<T extends TensorLike>(ids: Ids, table: T): FloatTensorOf<T> {
  checkCount("embedding", arguments, 2);
  const rows = operand("embedding", "table", table);
  if (rows.shape.length !== 2)
    throw new ShapeError("table", `embedding: the table must be [V, D], got ${formatTensor("table", rows)}`, {
      shape: rows.shape,
    });
  const [V, D] = rows.shape;
  const { list, shape } = idsOf("embedding", ids);
  checkIds(list, V);
  const rowIds = Int32Array.from(list);
  const y = resultLike(rows, [...shape, D]);
  lookup({ name: "embedding", table: rows, ids: rowIds, y });
  recordUnary("embedding", rows, y, (dy, dTable) =>
    lookupBackward({ name: "embedding-backward", dy, ids: rowIds, dTable }),
  );
  return y;
}

/** Throws an OptionError for an id that is not a row of a table with `V` rows, or an id of a vocabulary of `V` tokens. */
export function checkIds(
  list: Float64Array | Int32Array,
  V: number,
  what = "embedding",
  of = "the table has rows",
): void {
  const wrong = list.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < V));
  if (wrong >= 0)
    throw new OptionError(
      "id",
      `${what}: id ${formatValue(list[wrong])} at position ${wrong}; ${of} 0 to ${V - 1}`,
      { got: list[wrong], position: wrong, rows: V },
    );
}

/** A list or an integer tensor of token ids, as the function `what` takes them. A text is refused. */
export function tokenIds(what: string, ids: Ids): Int32Array {
  if (typeof ids === "string")
    throw new OptionError(
      "ids",
      `${what}: ids must be token ids, got the text ${formatValue(ids)}; encode it with the model's tokenizer first`,
      { got: ids },
    );
  const { list } = idsOf(what, ids);
  const wrong = list.findIndex((id) => !Number.isInteger(id));
  if (wrong >= 0)
    throw new OptionError("ids", `${what}: ids must be integers, got ${list[wrong]} at position ${wrong}`, {
      got: list[wrong],
    });
  return Int32Array.from(list);
}

/** Ids as numbers in row-major order, with their shape. */
export function idsOf(
  what: string,
  ids: Ids,
  name = "ids",
): { list: Float64Array; shape: readonly number[] } {
  if (isNested(ids) && Array.isArray(ids[0])) {
    const { data, shape } = fromNested(`${what}: ${name}`, ids, "int32");
    return { list: Float64Array.from(data as Int32Array), shape };
  }
  if (Array.isArray(ids) || ArrayBuffer.isView(ids)) {
    // Tokenizers of other libraries give bigints.
    const list = new Float64Array((ids as ArrayLike<number>).length);
    for (let n = 0; n < list.length; n++) {
      const id: unknown = (ids as ArrayLike<number>)[n];
      if (typeof id !== "number" && typeof id !== "bigint")
        throw new OptionError(
          "ids",
          `${what}: ${name} must be integers, got ${formatValue(id)} at position ${n}`,
          { got: id },
        );
      list[n] = Number(id);
    }
    return { list, shape: [list.length] };
  }
  if (typeof ids === "string" || (isObject(ids) && "ids" in (ids as object)))
    throw new OptionError(
      "ids",
      `${what}: ${name} must be token ids, got ${formatValue(ids)}; encode(text) of a tokenizer has them in its field ids`,
      { got: ids },
    );
  const t = asTensor(`${what}: ${name}`, ids as TensorLike);
  if (!isInteger(t.dtype))
    throw new DTypeError(
      "ids",
      `${what}: ${name} must be int32, int64 or uint8, got ${formatTensor(name, t)}`,
      { dtype: t.dtype },
    );
  checkOnCpu(what, name, t);
  const read = readerOf(t.dtype, t.data);
  const list = new Float64Array(t.size);
  let next = 0;
  eachRow(t.shape, t.strides, t.offset, (start, count, step) => {
    for (let n = 0; n < count; n++) list[next++] = read(start + n * step);
  });
  return { list, shape: t.shape };
}
