/**
 * Arrays with common names (`attn`, `q` and `k`, `arr_0`, …) as the tensors of a bundle: split into layers, without batch axes.
 * Views, not copies.
 */
import { FormatError } from "../../core/errors.ts";
import { sizeOf } from "../../core/tensor.ts";
import type { FileTensor } from "../../io/element.ts";
import type { TensorPart } from "../layout/layout.ts";
import { type Problems, VERSION } from "./metadata.ts";
import { type Bag, memoryBag } from "./tensor-source.ts";

/** Lowercase names of each part. */
const NAMES: Readonly<Record<TensorPart, readonly string[]>> = {
  w: [
    "w",
    "weights",
    "attn",
    "attention",
    "attentions",
    "attention_weights",
    "attn_weights",
    "pattern",
    "patterns",
  ],
  q: ["q", "query", "queries"],
  k: ["k", "key", "keys"],
  v: ["v", "value", "values"],
  vnorm: ["vnorm", "value_norm", "value_norms"],
  wo: ["wo", "w_o", "output_weight"],
  lse: ["lse", "logsumexp", "softmax_lse"],
};
/** `attn_3`, `arr_3` (what `numpy.savez(*list)` writes), `layer.3`: one layer each. */
const NUMBERED = /^(?:arr|attn|attention|attentions|weights|layer|pattern)[_.-]?(\d{1,5})$/;
const IN_BUNDLE = /^.+\.(?:q|k|w|v|vnorm|wo|lse)\.\d{1,6}$/s;

/** True if at least one name is the name of a bundle's tensor. */
export function isBundle(names: Iterable<string>): boolean {
  for (const name of names) if (IN_BUNDLE.test(name)) return true;
  return false;
}

/** The part that a common name means, and the layer of a numbered one; undefined for an unknown name. */
function partOf(name: string): { readonly part: TensorPart; readonly layer?: number } | undefined {
  const lower = name.toLowerCase();
  const numbered = NUMBERED.exec(lower);
  if (numbered) return { part: "w", layer: Number(numbered[1]) };
  const part = (Object.keys(NAMES) as TensorPart[]).find((one) => NAMES[one].includes(lower));
  return part && { part };
}

/** True if an array of this name, among `names`, is used; otherwise it is reported, and need not be read. */
export function isUsed(name: string, names: Iterable<string>, problems: Problems): boolean {
  if (isBundle(names) || partOf(name)) return true;
  problems.add(
    "note",
    "tensor-ignored",
    `\`${name}\` is not recognized and is left out; expected q and k, or attn (${Object.values(NAMES)
      .map((names) => names[0])
      .join(", ")} and their longer names)`,
  );
  return false;
}

/** The tensors of block `block`. Unknown names are reported. */
export function fromArrays(
  arrays: ReadonlyMap<string, FileTensor>,
  problems: Problems,
  block = "self",
): Map<string, FileTensor> {
  const bag = new Map<string, FileTensor>();
  for (const [name, array] of arrays) {
    const meaning = isUsed(name, [], problems) ? partOf(name) : undefined;
    if (meaning === undefined) continue;
    const { part, layer: first } = meaning;
    const rank = part === "lse" || part === "vnorm" || part === "wo" ? 2 : 3;
    const layers = layersOf(name, array, rank, first !== undefined, problems);
    layers.forEach((layer, n) => bag.set(`${block}.${part}.${(first ?? 0) + n}`, layer));
  }
  return bag;
}

/** A bag of arrays with bundle names or common names; `tokens` are the tokens of all of them. */
export function arrayBag(
  arrays: ReadonlyMap<string, FileTensor>,
  tokens: readonly string[] | undefined,
  problems: Problems,
): Bag {
  const tensors = isBundle(arrays.keys()) ? arrays : fromArrays(arrays, problems);
  const metadata = new Map([["heed", VERSION]]);
  if (tokens !== undefined) metadata.set("tokens.text", JSON.stringify(tokens));
  return memoryBag(tensors, metadata);
}

/** The layers of one array: [L, H, …], [L, 1, H, …], [H, …], or a single head. `rank` is the rank of a layer. */
function layersOf(
  name: string,
  array: FileTensor,
  rank: number,
  single: boolean,
  problems: Problems,
): FileTensor[] {
  const { shape } = array;
  const parts = rank === 3 ? "[layers, heads, queries, keys or numbers]" : "[layers, heads, keys]";
  if (shape.length < rank - 1 || shape.length > rank + 2)
    throw new FormatError(
      "array-shape",
      `openStore: \`${name}\` is [${shape.join(", ")}]; expected ${parts}, with or without its first axes`,
      { name, shape },
    );
  if (shape.length === rank - 1) return [reshaped(array, [1, ...shape])];
  if (shape.length === rank) return [array];
  // One more axis is layers, or the batch of a single layer; two more are layers and batch.
  const batch = shape.length === rank + 2 ? 1 : single ? 0 : -1;
  if (batch >= 0 && shape[batch] !== 1)
    problems.add(
      "warning",
      "batch",
      `\`${name}\` holds a batch of ${shape[batch]} texts; only the first is shown`,
    );
  const inner = shape.slice(-rank);
  const size = sizeOf(inner);
  const layers = single ? 1 : shape[0];
  const step = batch === 1 ? size * shape[1] : size;
  return Array.from({ length: layers }, (_, n) => ({
    dtype: array.dtype,
    shape: inner,
    data: array.data.subarray(n * step, n * step + size) as FileTensor["data"],
  }));
}

function reshaped(array: FileTensor, shape: readonly number[]): FileTensor {
  return { data: array.data, shape, dtype: array.dtype };
}
