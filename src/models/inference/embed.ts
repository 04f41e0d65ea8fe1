/**
 * Sentence embeddings: one vector for a text, pooled from the states of its tokens as sentence-transformers does. `modules.json`
 * in a model's folder lists the steps, and `1_Pooling/config.json` gives the pooling; without them the vector is the mean of an
 * encoder's states, or a decoder's last state.
 */

import { stepMemory } from "../../api/tidy.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import {
  checkArgument,
  checkCount,
  FormatError,
  formatTensor,
  formatValue,
  OptionError,
  refuseGot,
  refuseValue,
  UnsupportedError,
} from "../../core/errors.ts";
import { dot } from "../../core/numbers.ts";
import { checkKinds, checkOptionNames } from "../../core/option-names.ts";
import {
  checkSlices,
  type ReadingSlices,
  runSlices,
  SLICE_OPTIONS,
  type SliceOptions,
} from "../../core/slices.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";
import { builtin, fileError, fileSystem } from "../../io/filesystem/node.ts";
import { checkSize } from "../../io/limit.ts";
import type { FloatTensor } from "../../nn/index.ts";
import type { EncoderOptions } from "../encoder/encoder.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import { hiddenSlices } from "../transformer/attend.ts";
import type { TransformerConfig } from "../transformer/config.ts";
import type { Transformer } from "../transformer/transformer.ts";
import { runNow } from "./sampling.ts";

/** How the states of N tokens become one vector. The vectors of several modes are concatenated. */
export type PoolingMode =
  /** The first token's state. */
  | "cls"
  /** The mean. */
  | "mean"
  /** The largest number of each component. */
  | "max"
  /** The sum, divided by √N. */
  | "mean_sqrt_len_tokens"
  /** The mean, in which token i counts i + 1 times. */
  | "weightedmean"
  /** The last token's state. */
  | "lasttoken";

/** How sentence-transformers turns a model's states into a vector. */
export interface Pooling {
  readonly modes: readonly PoolingMode[];
  /** Divides vectors by their length. */
  readonly normalize: boolean;
  /** Maximum tokens to read, special ones included; default the model's maximum. */
  readonly maxTokens?: number;
  /** Converts the text to lower case first. */
  readonly lowercase?: boolean;
}

const MODES: readonly PoolingMode[] = [
  "cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken",
]; // biome-ignore format: a list of names
/** Modes by the names of their Boolean fields in an older config.json. */
const FLAGS: Readonly<Record<string, PoolingMode>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_max_tokens: "max",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_weightedmean_tokens: "weightedmean",
  pooling_mode_lasttoken: "lasttoken",
};
const MAX_TEXT = 2 ** 20;

/** Tokens of a text whose layers are computed in one slice. */
const SHORT = 64;

/**
 * The pooling of the model in a folder (Node), from its `modules.json`; undefined if there is none.
 *
 * @throws FormatError for malformed files; UnsupportedError for a step that heed does not have (a dense layer, images)
 *
 * @example
 * const pooling = await readPooling("./all-MiniLM-L6-v2"); // undefined where there is no modules.json
 */
export async function readPooling(directory: string): Promise<Pooling | undefined> {
  checkCount("readPooling", arguments, 1);
  const what = "readPooling";
  checkArgument(typeof directory === "string", what, "the path of a model directory", directory);
  const fs = fileSystem(what);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const read = async (name: string): Promise<unknown> => {
    const path = join(directory, name);
    let bytes: Uint8Array;
    try {
      bytes = await fs.readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw fileError(what, "read", path, error);
    }
    checkSize(what, path, bytes.length, MAX_TEXT);
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch (error) {
      throw new FormatError("json", `${what}: ${path} is not JSON: ${(error as Error).message}`, { path });
    }
  };
  const bad = (text: string): never => {
    throw new FormatError("modules", `${what}: ${join(directory, "modules.json")}: ${text}`, { directory });
  };
  const modules = await read("modules.json");
  if (modules === undefined) return undefined;
  if (!Array.isArray(modules)) return bad(`expected a list of modules, got ${formatValue(modules)}`);
  let modes: readonly PoolingMode[] | undefined;
  let normalize = false;
  for (const module of modules as readonly unknown[]) {
    const { type, path = "" } = (fieldsOf(module) ?? {}) as { type?: unknown; path?: unknown };
    if (typeof type !== "string" || typeof path !== "string") bad("each module has a type and a path");
    const kind = (type as string).split(".").at(-1);
    if (kind === "Transformer") continue;
    if (kind === "Normalize") normalize = true;
    else if (kind === "Pooling") {
      if (/(^|[\\/])\.\.([\\/]|$)|^[\\/]/.test(path as string)) bad(`the path ${path} leaves the folder`);
      modes = poolingModes(await read(join(path as string, "config.json")), `${path}/config.json`);
    } else
      throw new UnsupportedError(
        "module",
        `${what}: ${directory} has a module of type ${type}; heed has Transformer, Pooling and Normalize`,
        { type },
      );
  }
  if (modes === undefined) return bad("there is no module of type Pooling");
  const modelFields = fieldsOf(await read("sentence_bert_config.json"));
  const { max_seq_length: maxTokens, do_lower_case: lowercase } = (modelFields ?? {}) as Record<
    string,
    unknown
  >;
  return {
    modes,
    normalize,
    ...(Number.isSafeInteger(maxTokens) && (maxTokens as number) > 0 && { maxTokens: maxTokens as number }),
    ...(lowercase === true && { lowercase }),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function poolingModes(config: unknown, path: string): readonly PoolingMode[] {
  const fields = fieldsOf(config);
  if (fields === undefined)
    throw new FormatError("pooling", `readPooling: ${path} is missing or is no object`, { path });
  const named = fields.pooling_mode;
  const modes =
    named === undefined
      ? Object.entries(FLAGS).flatMap(([name, mode]) => (fields[name] === true ? [mode] : []))
      : ([named].flat() as PoolingMode[]);
  const wrong = modes.find((mode) => !MODES.includes(mode));
  if (modes.length === 0 || wrong !== undefined)
    throw new FormatError(
      "pooling",
      `readPooling: ${path} must name a pooling mode (${MODES.join(", ")}), got ${formatValue(wrong)}`,
      { path, got: wrong },
    );
  return modes;
}

/**
 * The vectors of texts, [texts, C] float32 (C times the number of modes): row i is text i.
 *
 * @param model   a model with its tokenizer (`readModel`)
 * @param texts   texts with at least one token each
 * @param pooling the result of `readPooling`; default the mean of an encoder's states or a decoder's last state, not normalized
 * @throws OptionError for an empty list of texts, or a text without a token; UnsupportedError if a vector is not finite, because the
 *   weights hold NaN or infinite numbers or the activations overflow
 *
 * @example
 * const vectors = embedTexts(encoder, ["the river bank", "the old ship"]);
 * vectors.shape; // → [2, 128]
 */
export function embedTexts(
  model: TextModel,
  texts: readonly string[],
  pooling: Pooling = defaultPooling(model),
): Tensor<"float32"> {
  checkCount("embedTexts", arguments, 3);
  return runNow("embedTexts", embedSlices("embedTexts", model, texts, pooling));
}

/** Options of `embedTextsAsync`. */
export interface EmbedAsyncOptions extends SliceOptions {
  /** As in `embedTexts`. */
  readonly pooling?: Pooling;
}

/**
 * `embedTexts` without blocking for longer than one text takes, or a layer of one with more than 64 tokens: the same vectors. In between the event loop runs. A model on
 * another device (`model.to`) computes there.
 *
 * @param options `pooling` as in `embedTexts`; `signal` to end the call, `onProgress` for the share of the texts that is done
 * @throws rejects as `embedTexts` throws, and with the signal's reason when it is aborted
 *
 * @example
 * const some = await embedTextsAsync(encoder, ["the river bank", "the old ship"], { onProgress: (share) => {} });
 * some.shape; // → [2, 128]
 */
export async function embedTextsAsync(
  model: TextModel,
  texts: readonly string[],
  options: EmbedAsyncOptions = {},
): Promise<Tensor<"float32">> {
  checkCount("embedTextsAsync", arguments, 3);
  const what = "embedTextsAsync";
  checkOptionNames(what, options, ["pooling", ...SLICE_OPTIONS]);
  checkSlices(what, options);
  const { pooling = defaultPooling(model) } = options;
  return await runSlices(() => embedSlices(what, model, texts, pooling), options);
}

/** The vectors of texts, one text at a time, and long ones by layers. */
function* embedSlices(
  what: string,
  model: TextModel,
  texts: readonly string[],
  pooling: Pooling,
): ReadingSlices<Tensor<"float32">> {
  checkTextModel(what, model);
  if (!Array.isArray(texts) || texts.length === 0 || texts.some((text) => typeof text !== "string"))
    refuseValue(what, "texts", "a list of strings, not empty", texts);
  checkPooling(what, pooling);
  const network = model.model as unknown as Transformer<TransformerConfig, EncoderOptions>;
  const slicesOfText = 2 * network.sizes.layers + 1;
  let out: Float32Array | undefined;
  let width = 0;
  for (const [n, text] of texts.entries()) {
    const read = model.tokenize(pooling.lowercase ? text.toLowerCase() : text);
    const indices = keptOf(read.sequences, pooling.maxTokens ?? read.ids.length);
    const ids = Int32Array.from(indices, (i) => read.ids[i]);
    if (ids.length === 0)
      throw new OptionError("texts", `${what}: text ${n} (${formatValue(text)}) has no token`, { index: n });
    // Only encoders have token types.
    const options =
      model.architecture === "encoder" ? { typeIds: Int32Array.from(indices, (i) => read.typeIds[i]) } : {};
    const memory = stepMemory();
    const survivors = new Set<Tensor>();
    let states: FloatTensor; // [N, C]
    try {
      const slices = hiddenSlices(network, ids, options, (part) => memory.run(part));
      let next = slices.next();
      for (let count = 1; !next.done; next = slices.next(), count++)
        if (ids.length > SHORT) yield (n + count / slicesOfText) / texts.length;
      states = next.value;
      survivors.add(states);
    } finally {
      memory.end(survivors);
    }
    const vector = pool(yield states, ids.length, pooling);
    states.dispose();
    checkFinite(what, vector, n, text, model);
    width = vector.length;
    out ??= new Float32Array(texts.length * width);
    out.set(vector, n * width);
    yield (n + 1) / texts.length;
  }
  return new Tensor(out as Float32Array, [texts.length, width], "float32") as Tensor<"float32">;
}

/** Throws an UnsupportedError if a vector holds NaN or infinite numbers; the error names the weights where they begin, if known. */
function checkFinite(
  what: string,
  vector: Float64Array,
  n: number,
  text: string,
  { notes }: TextModel,
): void {
  const at = vector.findIndex((x) => !Number.isFinite(x));
  if (at < 0) return;
  const cause =
    notes?.find(({ code }) => code === "not-a-number")?.text ??
    "the states of its tokens are NaN or infinite, although the weights are finite: the activations overflow";
  throw new UnsupportedError(
    "non-finite",
    `${what}: number ${at} of the vector of text ${n} (${formatValue(text)}) is ${vector[at]}; ${cause}`,
    { index: n, component: at, got: vector[at] },
  );
}

/** The pooling of a model without `modules.json`: the mean of an encoder's states, a decoder's last state. */
export function defaultPooling(model: Pick<TextModel, "architecture"> | undefined): Pooling {
  return { modes: [model?.architecture === "encoder" ? "mean" : "lasttoken"], normalize: false };
}

/** Indices of the first `limit` tokens to read: special tokens stay, tokens at the end of the text are dropped. */
function keptOf(sequences: Int8Array, limit: number): number[] {
  const all = Array.from(sequences.keys());
  let excess = all.length - limit;
  if (excess <= 0) return all;
  const dropped = new Set<number>();
  for (let i = all.length - 1; i >= 0 && excess > 0; i--)
    if (sequences[i] >= 0) {
      dropped.add(i);
      excess--;
    }
  return all.filter((i) => !dropped.has(i)).slice(0, limit);
}

/** Pools states [N, C] into one vector. */
function pool(states: Float64Array, N: number, { modes, normalize }: Pooling): Float64Array {
  const C = states.length / N;
  const vector = new Float64Array(C * modes.length);
  modes.forEach((mode, m) => {
    const part = vector.subarray(m * C, (m + 1) * C);
    if (mode === "cls") part.set(states.subarray(0, C));
    else if (mode === "lasttoken") part.set(states.subarray((N - 1) * C));
    else if (mode === "max") {
      part.fill(Number.NEGATIVE_INFINITY);
      for (let i = 0; i < states.length; i++) part[i % C] = Math.max(part[i % C], states[i]);
    } else {
      const weight = (i: number) => (mode === "weightedmean" ? i + 1 : 1);
      const total = mode === "mean" ? N : mode === "weightedmean" ? (N * (N + 1)) / 2 : Math.sqrt(N);
      for (let i = 0; i < N; i++)
        for (let c = 0; c < C; c++) part[c] += (weight(i) * states[i * C + c]) / total;
    }
  });
  if (!normalize) return vector;
  const length = Math.max(Math.hypot(...vector), 1e-12);
  return vector.map((x) => x / length);
}

/** Throws an OptionError unless `pooling` is a pooling. */
function checkPooling(what: string, pooling: Pooling): void {
  checkKinds(what, pooling, {
    "a list": "modes",
    "true or false": "normalize",
    "an integer ≥ 0": "maxTokens",
    "": "lowercase",
  });
  const { modes } = pooling;
  if (!Array.isArray(modes) || modes.length === 0 || modes.some((mode) => !MODES.includes(mode)))
    refuseGot("pooling", `${what}: the pooling's modes must be a list of ${MODES.join(", ")}`, modes);
}

/**
 * The cosine similarity of each pair of rows of [n, C]: [n][n] numbers from −1 to 1. A row of zeros has cosine 0 with every row; the
 * cosines of a row with NaN are NaN.
 *
 * @example
 * const [[, alike]] = cosineSimilarity(embedTexts(encoder, ["the river bank", "the old ship"]));
 */
export function cosineSimilarity(vectors: TensorLike): number[][] {
  checkCount("cosineSimilarity", arguments, 1);
  const t = asTensor("cosineSimilarity: vectors", vectors);
  if (t.shape.length !== 2)
    throw new OptionError(
      "vectors",
      `cosineSimilarity: vectors must be a tensor [n, C], got ${formatTensor("vectors", t)}`,
    );
  checkOnCpu("cosineSimilarity", "vectors", t);
  const [n, C] = t.shape;
  const x = t.toFloat64();
  const row = (i: number) => x.subarray(i * C, (i + 1) * C);
  const lengths = Array.from({ length: n }, (_, i) => Math.sqrt(dot(row(i), row(i))));
  return lengths.map((a, i) => lengths.map((b, j) => (a * b === 0 ? 0 : dot(row(i), row(j)) / (a * b))));
}
