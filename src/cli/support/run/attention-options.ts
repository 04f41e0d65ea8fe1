/**
 * The options of `scaledDotProductAttention` on the command line, for `run` and `explain`: read once into a `Call`,
 * then turned into options for the whole problem, or for one piece of it (a batch entry, a head).
 */

import type { AttentionOptions, Problem } from "../../../backend/problem.ts";
import { OptionError } from "../../../core/errors.ts";
import type { Shape } from "../../../core/shape.ts";
import { Tensor } from "../../../core/tensor.ts";
import type { Mask, ScoreMod } from "../../../masks/index.ts";
import {
  alibi,
  alibiSlopes,
  and,
  dilated,
  documents,
  globalTokens,
  keyLengths,
  or,
  prefixLm,
  queryLengths,
  slidingWindow,
  softcap,
} from "../../../masks/index.ts";
import { MASK_KINDS, maskFromJson } from "../../../masks/registry.ts";
import { type Container, memoryLimit, tensorAt } from "../input/tensors.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";
import { integer, integers, isNumberList, number, numbers, oneOf } from "../line/values.ts";

/** Their help. */
export const CALL_HELP = {
  causal:
    "ALIGN  a query attends to no later key; upper-left or lower-right where queries and keys differ in number",
  "query-offset": "N  position of query 0, or one for each batch entry: 0,128",
  "key-offset": "N  position of key 0, or one for each batch entry",
  scale: "X  multiplies the scores (default 1/√dk)",
  softcap: "C  squeezes scores into (−C, C)",
  window: "L,R  keys at most L before and R after the query; -1 means no limit",
  dilated: "N  every N-th key, counted from the query",
  global:
    "LIST  positions that attend to all keys and are attended to by all queries, in addition to --window and --dilated",
  prefix:
    "N  all queries attend to the first N keys, and causally to the others; or one number for each batch entry",
  documents: "IDS  document of each position: 0,0,1,1 or a file of [N] or [B, N]",
  "key-lengths": "N  keys before N are real; or one number for each batch entry; or a file",
  "query-lengths": "N  query rows before N are real; or one number for each batch entry; or a file",
  mask: `FILE  mask tensor: bool (true = attend) or float (added); FILE#NAME, or a NAME of the input file; or masks by name as JSON, such as '{"and": ["causal", {"dilated": 3}]}' (${MASK_KINDS.map(({ name }) => name).join(", ")})`,
  alibi: "FILE  ALiBi with the paper's slopes; or slopes from a file or a list",
  sinks: "FILE  one extra logit per head in the denominator: a list or a file",
  dropout: "P  share of weights dropped",
  seed: "N  seed of the dropout (default 0)",
  layout: "ORDER  bhsd (default) or bshd",
} as const;

/** Options of `CALL_HELP` with an optional value. */
export const CALL_OPTIONAL = ["causal", "alibi"] as const;

type PerBatch = number | readonly number[];

/** A call from the command line, with its files read, before sizes are known. */
export interface Call {
  readonly causal?: true | "upper-left" | "lower-right";
  readonly queryOffset?: PerBatch;
  readonly keyOffset?: PerBatch;
  readonly scale?: number;
  readonly softcap?: number;
  readonly window?: readonly [number, number];
  readonly dilated?: number;
  readonly global?: readonly number[];
  readonly prefix?: PerBatch;
  /** Ids [N] or [B, N]. */
  readonly documents?: Tensor;
  readonly keyLengths?: PerBatch;
  readonly queryLengths?: PerBatch;
  readonly mask?: Tensor;
  /** A mask by name. */
  readonly namedMask?: Mask;
  /** Slopes [Hq] or [B, Hq]; `"auto"` for the paper's. */
  readonly alibi?: "auto" | Tensor;
  readonly sinks?: readonly number[];
  readonly dropout: number;
  readonly seed: number;
  readonly layout: "bhsd" | "bshd";
}

/** Reads the options; options may name tensors of the input file `inside`. */
export async function readCall(values: Values, io: Pick<Io, "stdin">, inside?: Container): Promise<Call> {
  const maxBytes = memoryLimit(values);
  const text = (name: string) => values[name] as string | undefined;
  const optionOf = <T>(name: string, read: (name: string, text: string) => T): T | undefined => {
    const value = text(name);
    return value === undefined ? undefined : read(name, value);
  };
  const perBatch = (name: string, value: string): PerBatch => {
    const list = integers(name, value);
    return list.length === 1 ? list[0] : list;
  };
  const listOrFile = async (name: string, usual: string[]): Promise<Tensor | undefined> => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (!isNumberList(value)) return tensorAt(`--${name}`, value, io, { usual, inside, maxBytes });
    const list = numbers(name, value);
    return new Tensor(Float64Array.from(list), [list.length], "float64");
  };
  const lengths = async (name: string): Promise<PerBatch | undefined> => {
    const value = text(name);
    if (value === undefined || isNumberList(value)) return optionOf(name, perBatch);
    const usual = [name.replace("-", "_")];
    return Array.from((await tensorAt(`--${name}`, value, io, { usual, inside, maxBytes })).toFloat64());
  };
  const causal = values.causal;
  const window = optionOf("window", (name, value) => {
    const list = integers(name, value);
    if (list.length !== 2 || list.some((n) => n < -1))
      throw new UsageError(`--window must be L,R, each ≥ 0, or -1 for open, got ${JSON.stringify(value)}`);
    return list as unknown as readonly [number, number];
  });
  if (causal !== undefined && values.prefix !== undefined)
    throw new UsageError("--prefix is causal after the prefix; --causal beside it would hide the prefix");
  const slopes = values.alibi;
  const ids = await listOrFile("documents", ["documents", "document_ids"]);
  return {
    causal:
      causal === undefined || causal === true
        ? causal
        : oneOf("causal", causal, ["upper-left", "lower-right"] as const),
    queryOffset: optionOf("query-offset", perBatch),
    keyOffset: optionOf("key-offset", perBatch),
    scale: optionOf("scale", number),
    softcap: optionOf("softcap", number),
    window,
    dilated: optionOf("dilated", (name, value) => integer(name, value, 1)),
    global: optionOf("global", integers),
    prefix: optionOf("prefix", perBatch),
    documents: ids && idsOf(ids),
    keyLengths: await lengths("key-lengths"),
    queryLengths: await lengths("query-lengths"),
    namedMask: isJson(text("mask")) ? namedMask(text("mask")!) : undefined,
    mask:
      text("mask") === undefined || isJson(text("mask"))
        ? undefined
        : await tensorAt("--mask", text("mask")!, io, { usual: ["mask", "attn_mask"], inside, maxBytes }),
    alibi:
      slopes === undefined
        ? undefined
        : slopes === true || slopes === "auto"
          ? "auto"
          : await listOrFile("alibi", ["slopes", "alibi", "alibi_slopes"]),
    sinks: (await listOrFile("sinks", ["sinks"]))?.toFloat64() as readonly number[] | undefined,
    dropout: optionOf("dropout", number) ?? 0,
    seed: optionOf("seed", (name, value) => integer(name, value)) ?? 0,
    layout: oneOf("layout", values.layout ?? "bhsd", ["bhsd", "bshd"] as const),
  };
}

/** True if --mask is JSON (an object or a quoted name), not the name of a file. */
function isJson(text: string | undefined): boolean {
  return text !== undefined && /^\s*[{"]/.test(text);
}

/** A mask of the registry, as JSON. */
function namedMask(text: string): Mask {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--mask is not JSON: ${(error as Error).message}`);
  }
  return maskFromJson(value, "--mask");
}

/** Document ids as integers, from any dtype. */
function idsOf(t: Tensor): Tensor {
  const ids = t.toFloat64();
  const nonFinite = ids.find((id) => !(Number.isInteger(id) && Math.abs(id) < 2 ** 31));
  if (nonFinite !== undefined)
    throw new OptionError("documents", `--documents holds ${nonFinite}; ids are 32-bit integers`);
  return new Tensor(Int32Array.from(ids), t.shape, "int32");
}

/** A piece of a problem: heads [first, end) of one batch entry. */
export interface Piece {
  readonly b: number;
  readonly first: number;
  readonly end: number;
}

/** Options for the whole problem. */
export function optionsOf(call: Call, shape: Shape): AttentionOptions {
  const { causal, queryOffset, keyOffset } = call;
  if (causal === true && shape.Nq !== shape.Nk && queryOffset === undefined && keyOffset === undefined)
    throw new OptionError(
      "causal-alignment",
      `--causal is ambiguous for ${shape.Nq} queries and ${shape.Nk} keys; say --causal=upper-left (query 0 at key 0) or --causal=lower-right (last query at last key), or give --query-offset`,
      { Nq: shape.Nq, Nk: shape.Nk },
    );
  const lengths = { B: shape.B, Hq: shape.Hq, first: 0, end: shape.Hq };
  const masks = masksOf(call, (n) => n);
  return {
    ...common(call, scoresOf(call, lengths)),
    attnMask: call.mask === undefined ? masks : [...masks, call.mask],
    ...(causal === undefined ? {} : { isCausal: causal }),
    ...(queryOffset === undefined ? {} : { queryOffset }),
    ...(keyOffset === undefined ? {} : { keyOffset }),
    ...(call.sinks === undefined ? {} : { sinks: call.sinks }),
    layout: call.layout,
  };
}

/** Options for one piece, with tensors [1, heads, N, d]: tables and masks are sliced, positions are kept. */
export function pieceOptions(call: Call, problem: Problem, piece: Piece): AttentionOptions {
  const { b, first, end } = piece;
  const { shape } = problem;
  const masks = masksOf(call, (n) => (typeof n === "number" ? n : n[b]), b);
  const tensors = problem.tensors.map(
    (t) =>
      new Tensor(
        t.tensor.data,
        [1, end - first, shape.Nq, shape.Nk],
        t.tensor.dtype,
        [0, t.head, t.row, t.column],
        t.base[b] + first * t.head,
      ),
  );
  return {
    ...common(call, scoresOf(call, { B: shape.B, Hq: shape.Hq, first, end, b })),
    attnMask: [...masks, ...tensors],
    ...(call.causal === undefined ? {} : { isCausal: "upper-left" as const }),
    queryOffset: problem.offsets[b],
    ...(call.keyOffset === undefined ? {} : { keyOffset: problem.positions.key(b, 0) }),
    ...(problem.sinks === undefined ? {} : { sinks: problem.sinks.slice(first, end) }),
  };
}

function common(call: Call, scoreMod: readonly ScoreMod[]): AttentionOptions {
  return {
    scoreMod,
    ...(call.scale === undefined ? {} : { scale: call.scale }),
    dropoutP: call.dropout,
    seed: call.seed,
  };
}

/** Mask expressions. Window and dilation are intersected, then united with global positions; the others intersect with that. */
function masksOf(call: Call, pick: (n: PerBatch) => PerBatch, b?: number): Mask[] {
  const masks: Mask[] = [];
  const pattern: Mask[] = [];
  if (call.window) pattern.push(slidingWindow(...call.window));
  if (call.dilated !== undefined) pattern.push(dilated(call.dilated));
  const near = pattern.length > 1 ? and(...pattern) : pattern[0];
  const global = call.global && globalTokens(call.global);
  const joined = near && global ? or(near, global) : (near ?? global);
  if (joined) masks.push(joined);
  if (call.prefix !== undefined) masks.push(prefixLm(pick(call.prefix) as number));
  if (call.documents) masks.push(documents(b === undefined ? call.documents : rowOf(call.documents, b)));
  if (call.keyLengths !== undefined) masks.push(keyLengths(pick(call.keyLengths) as number));
  if (call.queryLengths !== undefined) masks.push(queryLengths(pick(call.queryLengths) as number));
  if (call.namedMask) masks.push(call.namedMask);
  return masks;
}

/** Score changes in their order: soft cap, then ALiBi. */
function scoresOf(
  call: Call,
  { Hq, first, end, b }: { B: number; Hq: number; first: number; end: number; b?: number },
): ScoreMod[] {
  const changes: ScoreMod[] = [];
  if (call.softcap !== undefined) changes.push(softcap(call.softcap));
  if (call.alibi === undefined) return changes;
  const allSlopes = call.alibi === "auto" ? new Tensor(alibiSlopes(Hq), [Hq], "float32") : call.alibi;
  if (b === undefined) return [...changes, alibi(allSlopes)];
  const row = rowOf(allSlopes, b).toFloat64();
  const slopes = new Tensor(row.slice(first, end), [end - first], "float64");
  return [...changes, alibi(slopes)];
}

/** Row b of [B, N], or all of [N]. */
function rowOf(t: Tensor, b: number): Tensor {
  if (t.shape.length !== 2) return t;
  return new Tensor(t.data, [t.shape[1]], t.dtype, [t.strides[1]], t.offset + b * t.strides[0]);
}
