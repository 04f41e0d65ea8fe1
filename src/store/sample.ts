/**
 * Small bundles with known heads, for samples, lessons and tests: queries and keys are constructed so that each head does one
 * thing. Everything is seeded; the same kind gives the same numbers everywhere.
 *
 * Positions are distinguished by waves, as in sinusoidal encodings: p(n) = (cos ωₖn, sin ωₖn) over many frequencies, so that
 * p(n)·p(m) is largest at n = m and falls off around it; rotating p by one step gives "the previous token". Each token
 * has a seeded random direction of its own. A bias direction lets a head fall back on the first token.
 */
import { checkArgument, checkCount, checkSeed, refuseValue } from "../core/errors.ts";
import { checkNames, KINDS } from "../core/option-names.ts";
import { mix } from "../core/random/random.ts";
import type { StoreInput } from "./layout/input.ts";

/** A text of each kind, as tokens. The causal one repeats itself, so that there is something to copy. */
const CAUSAL =
  "<s> the cat sat on the mat and the dog sat on the rug while the cat watched the dog and the mat lay still .";
const BIDIRECTIONAL = "[CLS] the river rose in the night [SEP] by morning the bank was under water [SEP]";

/** What each head does, by its name. */
export type Plant =
  | "previous"
  | "next"
  | "diagonal"
  | "induction"
  | "same token"
  | "sink"
  | "local"
  | "block"
  | "separator"
  | "uniform";

const HEADS: Readonly<Record<"causal" | "bidirectional", readonly (readonly Plant[])[]>> = {
  causal: [
    ["previous", "diagonal", "uniform", "local"],
    ["induction", "sink", "same token", "block"],
  ],
  bidirectional: [
    ["previous", "next", "diagonal", "local"],
    ["same token", "sink", "block", "separator"],
  ],
};

/** Frequencies of the position waves; twice as many numbers. */
const WAVES = 16;
const WIDTH = 2 * WAVES;
/** Sizes of a token's direction, and of the markers of its position. */
const TOKEN = 24;
const SIDE = 8;
/** Size of a query and key vector. */
const D = WIDTH + TOKEN + SIDE;

/** Options of a sample. */
export interface SampleOptions {
  /** Tokens instead of the sample's own text. */
  readonly tokens?: readonly string[];
  readonly seed?: number;
}

/**
 * A sample of two layers of four heads (`plantsOf` names them), as the input of `storeFrom` or `writeBundle`.
 *
 * @example
 * const store = storeFrom(sampleBundle("causal"));
 */
export function sampleBundle(kind: "causal" | "bidirectional", options: SampleOptions = {}): StoreInput {
  checkCount("sampleBundle", arguments, 2);
  checkArgument(
    typeof kind === "string" && Object.hasOwn(HEADS, kind),
    "sampleBundle",
    '"causal" or "bidirectional"',
    kind,
  );
  checkNames("sampleBundle", options, ["tokens", "seed"]);
  const text = kind === "causal" ? CAUSAL : BIDIRECTIONAL;
  const { tokens = text.split(" "), seed = 7 } = options;
  checkSeed("sampleBundle", seed);
  const isText = KINDS["a list of texts"](tokens) && tokens.length > 0;
  if (!isText) refuseValue("sampleBundle", "tokens", "a list of texts, not empty", tokens);
  const layers = HEADS[kind].map((plants, layer) => {
    const heads = plants.map((plant, head) => plantHead(plant, tokens, seed + 16 * layer + head));
    const shape = [plants.length, tokens.length, D];
    const values = randoms(plants.length * tokens.length * 16, seed + 1000 + layer);
    return {
      query: { data: joined(heads.map(({ q }) => q)), shape },
      key: { data: joined(heads.map(({ k }) => k)), shape },
      value: { data: values, shape: [plants.length, tokens.length, 16] },
    };
  });
  const half = tokens.indexOf("[SEP]") + 1;
  const segments =
    half > 0 && half < tokens.length
      ? [
          { name: "A", query: [0, half] as const, key: [0, half] as const },
          { name: "B", query: [half, tokens.length] as const, key: [half, tokens.length] as const },
        ]
      : [];
  return {
    name: `sample, ${kind}`,
    model: "planted heads",
    text: options.tokens ? undefined : text,
    blocks: [
      { name: "self", tokens, segments, recipe: { mask: kind === "causal" ? "causal" : "none" }, layers },
    ],
  };
}

/** What the heads of a sample do, layer by layer. */
export function plantsOf(kind: "causal" | "bidirectional"): readonly (readonly Plant[])[] {
  return HEADS[kind];
}

/** Queries and keys [n, D] of one head; q·k/√D is some 15 for what it looks at and near 0 elsewhere. */
function plantHead(plant: Plant, tokens: readonly string[], seed: number) {
  const n = tokens.length;
  const q = new Float32Array(n * D);
  const k = new Float32Array(n * D);
  const noise = randoms(2 * n * D, seed);
  const directions = directionsOf(tokens, seed);
  // A peak of the score: both sides get its root.
  const strength = (peak: number) => Math.sqrt(peak * Math.sqrt(D));
  for (let i = 0; i < n; i++) {
    const [qi, ki] = [q.subarray(i * D, (i + 1) * D), k.subarray(i * D, (i + 1) * D)];
    for (let e = 0; e < D; e++) {
      qi[e] = 0.05 * noise[2 * (i * D + e)];
      ki[e] = 0.05 * noise[2 * (i * D + e) + 1];
    }
    const mark = (array: Float32Array, at: number, x: number) => {
      array[WIDTH + TOKEN + at] += x;
    };
    const look = (shift: number, peak: number, slow = 0) => {
      wave(qi, i + shift, strength(peak), slow);
      wave(ki, i, strength(peak), slow);
    };
    if (plant === "previous") look(-1, 60);
    else if (plant === "next") look(1, 60);
    else if (plant === "diagonal") look(0, 60);
    else if (plant === "local") look(0, 12, 1);
    else if (plant === "same token" || plant === "induction") {
      // Induction: a query looks for keys whose token before is its own.
      add(qi, directions[i], strength(16));
      const source = plant === "same token" ? i : i - 1;
      if (source >= 0) add(ki, directions[source], strength(16));
      // The own position is left out, and the first token is where a query without a copy goes.
      if (plant === "same token") {
        wave(qi, i, strength(30), 0);
        wave(ki, i, -strength(30), 0);
      }
      mark(qi, 0, strength(8));
      if (i === 0) mark(ki, 0, strength(8));
    } else if (plant === "sink") {
      mark(qi, 0, strength(12));
      if (i === 0) mark(ki, 0, strength(12));
    } else if (plant === "separator") {
      mark(qi, 0, strength(12));
      if (tokens[i] === "[SEP]") mark(ki, 0, strength(12));
    } else if (plant === "block") {
      const block = blockOf(tokens, i);
      mark(qi, 1 + (block % (SIDE - 1)), strength(12));
      mark(ki, 1 + (block % (SIDE - 1)), strength(12));
    }
  }
  return { q, k };
}

/** Adds p(position)·size, of length 1 times size; `slow` waves fall off more slowly. */
function wave(into: Float32Array, position: number, size: number, slow: number): void {
  const unit = size / Math.sqrt(WAVES);
  for (let w = 0; w < WAVES; w++) {
    // From nearly π a step down: neighbors are far apart, and the sum over frequencies dies away between them.
    const frequency = slow ? 0.05 + (0.45 * w) / WAVES : (Math.PI * (w + 0.5)) / WAVES;
    into[2 * w] += unit * Math.cos(frequency * position);
    into[2 * w + 1] += unit * Math.sin(frequency * position);
  }
}

function add(into: Float32Array, direction: Float64Array, size: number): void {
  for (let e = 0; e < TOKEN; e++) into[WIDTH + e] += size * direction[e];
}

/** A direction of length 1 for each token; equal tokens share theirs, and different ones are as far apart as they can. */
function directionsOf(tokens: readonly string[], seed: number): Float64Array[] {
  const byToken = new Map<string, Float64Array>();
  return tokens.map((token) => {
    const cached = byToken.get(token);
    if (cached) return cached;
    const direction = Float64Array.from(randoms(TOKEN, seed * 131 + 17 * byToken.size + 5));
    // Gram–Schmidt against the ones before, while dimensions are left.
    for (const other of [...byToken.values()].slice(0, TOKEN - 1)) {
      const shared = direction.reduce((sum, x, e) => sum + x * other[e], 0);
      for (let e = 0; e < TOKEN; e++) direction[e] -= shared * other[e];
    }
    const length = Math.hypot(...direction);
    for (let e = 0; e < TOKEN; e++) direction[e] /= length;
    byToken.set(token, direction);
    return direction;
  });
}

/** Blocks end at separators; where there are none, after every eight tokens. */
function blockOf(tokens: readonly string[], i: number): number {
  if (!tokens.includes("[SEP]")) return Math.floor(i / 8);
  return tokens.slice(0, i).filter((token) => token === "[SEP]").length;
}

/** Numbers from −1 to 1 by key: the same everywhere. */
function randoms(count: number, seed: number): Float32Array {
  const start = mix(Math.imul(seed + 1, 0x9e3779b1));
  return Float32Array.from(
    { length: count },
    (_, n) => (mix((start + Math.imul(n, 0x85ebca77)) | 0) >>> 0) / 2 ** 31 - 1,
  );
}

const joined = (parts: readonly Float32Array[]): Float32Array =>
  Float32Array.from(parts.flatMap((part) => [...part]));
