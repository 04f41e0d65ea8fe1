/**
 * Reads the data of one head from a laid-out bag: its rows of q, k and values, and its recipe with its slope, sink and table.
 * Only that head is read; tensors in memory are views where possible.
 */
import type { TypedData } from "../../core/dtype.ts";
import { refuseGot } from "../../core/errors.ts";
import type { FileTensor } from "../../io/element.ts";
import type { FloatArray } from "../../rows/head-rows.ts";
import type { Block, HeadRef } from "../block.ts";
import { checkObject } from "../check.ts";
import type { HeadArrays, WeightDType } from "../compute/head.ts";
import { type Bag, floatsOf } from "../formats/tensor-source.ts";
import type { HeadRecipe } from "../recipe/head-recipe.ts";
import type { Laid, Layer } from "./layout.ts";

/** Blocks, and the data of their heads. */
export interface HeadSource {
  readonly blocks: readonly Laid[];
  /** The data of a head. Synchronous if the bag is in memory. */
  head(ref: HeadRef): HeadArrays | Promise<HeadArrays>;
  /** The tensors as stored. */
  readonly bag: Bag;
  close(): void | Promise<void>;
}

/** The heads of a bag. */
export function sourceOf(bag: Bag, blocks: readonly Laid[]): HeadSource {
  return { blocks, bag, head: (ref) => readHead(bag, blocks, ref), close: () => bag.close() };
}

/** The layer of a reference. Throws if the block, layer or head does not exist. */
export function layerOf(blocks: readonly Laid[], ref: HeadRef): { laid: Laid; layer: Layer } {
  checkObject("HeadStore", "a head, { block, layer, head }", ref);
  const { block, layer, head } = ref;
  const refuse = (name: keyof HeadRef, takes: string): never => {
    const got = ref[name];
    refuseGot("head-ref", `${name} must be ${takes}`, got, { [name]: got });
  };
  const laid =
    (typeof block === "number" ? blocks[block] : undefined) ??
    refuse("block", `an integer from 0 to ${blocks.length - 1}`);
  const { name, heads, layers } = laid.block;
  const match = laid.layers.get(layer) ?? refuse("layer", `one of ${layers.join(", ")} in \`${name}\``);
  if (!(Number.isInteger(head) && head >= 0 && head < heads))
    refuse("head", `an integer from 0 to ${heads - 1}`);
  return { laid, layer: match };
}

type Wanted =
  | "query"
  | "key"
  | "weights"
  | "value"
  | "vnorm"
  | "wo"
  | "lse"
  | "mask"
  | "bias"
  | "table"
  | "positionKeys"
  | "positionQueries"
  | "sinks";

function readHead(bag: Bag, blocks: readonly Laid[], ref: HeadRef): HeadArrays | Promise<HeadArrays> {
  const { laid, layer } = layerOf(blocks, ref);
  const { block } = laid;
  const { parts } = layer;
  const h = ref.head;
  const shared = Math.floor(h / (block.heads / block.keyHeads));
  const scored = parts.q !== undefined && parts.k !== undefined;
  const asks: [Wanted, FileTensor | Promise<FileTensor>][] = [];
  const ask = (what: Wanted, name: string | undefined, rows?: readonly [number, number]) => {
    if (name !== undefined) asks.push([what, bag.read(name, rows)]);
  };
  /** The head's rows of a tensor [heads, …]; all rows if the tensor has no axis of heads. */
  const headRows = (name: string | undefined, rank: number): readonly [number, number] | undefined =>
    name !== undefined && bag.tensors.get(name)!.shape.length === rank ? [h, h + 1] : undefined;
  if (scored) {
    ask("query", parts.q, [h, h + 1]);
    ask("key", parts.k, [shared, shared + 1]);
  } else ask("weights", parts.w, [h, h + 1]);
  ask("value", parts.v, [shared, shared + 1]);
  const norms = parts.vnorm === undefined ? 0 : bag.tensors.get(parts.vnorm)!.shape[0];
  ask("vnorm", parts.vnorm, norms === block.heads ? [h, h + 1] : [shared, shared + 1]);
  const dv = parts.v === undefined ? 0 : bag.tensors.get(parts.v)!.shape[2];
  ask("wo", parts.wo, [h * dv, (h + 1) * dv]);
  ask("lse", parts.lse, [h, h + 1]);
  ask("mask", layer.mask, headRows(layer.mask, 3));
  ask("bias", layer.bias, headRows(layer.bias, 3));
  ask("table", layer.table);
  ask("positionKeys", layer.positionKeys, [h, h + 1]);
  ask("positionQueries", layer.positionQueries, [h, h + 1]);
  ask("sinks", layer.sinks);
  const d = scored ? bag.tensors.get(parts.q!)!.shape[2] : 0;
  const headOf = (tensors: readonly FileTensor[]) =>
    build({ block, layer, h, d, dv }, new Map(asks.map(([what], n) => [what, tensors[n]])));
  const answers = asks.map(([, answer]) => answer);
  return answers.some((answer) => answer instanceof Promise)
    ? Promise.all(answers).then(headOf)
    : headOf(answers as FileTensor[]);
}

/** A head, and the sizes of its vectors. */
interface Place {
  readonly block: Block;
  readonly layer: Layer;
  readonly h: number;
  readonly d: number;
  readonly dv: number;
}

function build(place: Place, tensors: ReadonlyMap<Wanted, FileTensor>): HeadArrays {
  const { block, layer, d, dv } = place;
  const floats = (what: Wanted): FloatArray | undefined => {
    const t = tensors.get(what);
    return t && floatsOf(t);
  };
  const wide = (what: Wanted): Float64Array | undefined => {
    const x = floats(what);
    return x && Float64Array.from(x);
  };
  const weights = tensors.get("weights");
  const mask = tensors.get("mask");
  const value = floats("value");
  const { recipe } = layer;
  return {
    Nq: block.Nq,
    Nk: block.Nk,
    d,
    dv,
    query: floats("query"),
    key: floats("key"),
    weights: weights && { data: weights.data as TypedData, dtype: weights.dtype as WeightDType },
    value,
    valueNorm: wide("vnorm") ?? (value && normsOf(value, block.Nk, dv, floats("wo"))),
    recipe: {
      ...headRecipe(place, floats("table"), floats("sinks")),
      ...(recipe.bias &&
        "disentangled" in recipe.bias && {
          disentangled: {
            rows: Int32Array.from(recipe.bias.disentangled.rows),
            keys: wide("positionKeys"),
            queries: wide("positionQueries"),
          },
        }),
    },
    keep: mask && {
      data: mask.data as ArrayLike<number>,
      polarity: (recipe.mask as { polarity: "keep" | "drop" }).polarity,
    },
    bias: floats("bias"),
    lse: wide("lse"),
  };
}

/** The recipe of one head, from the recipe of its layer. */
function headRecipe({ block, layer, h, d }: Place, table?: FloatArray, sinks?: FloatArray): HeadRecipe {
  const { recipe } = layer;
  const { mask = "none", bias, keyLengths, softcap } = recipe;
  const lengths = typeof keyLengths === "number" ? [keyLengths] : keyLengths;
  return {
    scale: recipe.scale ?? (d === 0 ? 1 : 1 / Math.sqrt(d)),
    mask: typeof mask === "object" && "tensor" in mask ? "none" : mask,
    queryOffset: recipe.queryOffset ?? block.queryOffset,
    ...(lengths === undefined ? {} : { keyLength: lengths[lengths.length === 1 ? 0 : h] }),
    ...(softcap === undefined ? {} : { softcap }),
    ...(bias && "alibi" in bias ? { slope: bias.alibi[h] } : {}),
    ...(bias && "relative" in bias && table
      ? {
          relative: {
            table: Float64Array.from(
              { length: table.length / block.heads },
              (_, n) => table[n * block.heads + h],
            ),
            maxDistance: bias.maxDistance,
            bidirectional: bias.bidirectional,
          },
        }
      : {}),
    ...(sinks ? { sink: sinks[h] } : {}),
  };
}

/** ‖v‖ of each key; with the head's W_O [dv, width], ‖v·W_O‖ = √(v·G·vᵀ) with the small matrix G = W_O·W_Oᵀ. */
function normsOf(value: FloatArray, Nk: number, dv: number, wo: FloatArray | undefined): Float64Array {
  const gram = wo && gramOf(wo, dv);
  const norms = new Float64Array(Nk);
  for (let j = 0; j < Nk; j++) {
    let squares = 0;
    for (let a = 0; a < dv; a++) {
      const x = value[j * dv + a];
      if (!gram) squares += x * x;
      else for (let b = 0; b < dv; b++) squares += x * value[j * dv + b] * gram[a * dv + b];
    }
    // Rounding can make the sum slightly negative. NaN stays.
    norms[j] = Math.sqrt(squares < 0 ? 0 : squares);
  }
  return norms;
}

function gramOf(wo: FloatArray, dv: number): Float64Array {
  const width = wo.length / Math.max(1, dv);
  const gram = new Float64Array(dv * dv);
  for (let a = 0; a < dv; a++)
    for (let b = 0; b <= a; b++) {
      let sum = 0;
      for (let n = 0; n < width; n++) sum += wo[a * width + n] * wo[b * width + n];
      gram[a * dv + b] = gram[b * dv + a] = sum;
    }
  return gram;
}
