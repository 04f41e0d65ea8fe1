/**
 * Text from a decoder, token by token: the logits of the last token choose the next one, the most likely or one drawn by
 * its share of e^(logit / temperature). Each step reads the cache and computes one row.
 */

import { formatValue, OptionError } from "../core/errors.ts";
import { cellBits, headKey, rowKey } from "../core/random.ts";
import { type FloatTensor, slice } from "../nn/index.ts";
import type { Gpt2 } from "./gpt2.ts";

/** How to go on. */
export interface GenerateOptions {
  /** Most new tokens; by default as many as the model has positions for. */
  readonly maxTokens?: number;
  /** 0 takes the most likely token each time (the default); 1 draws by the model's own shares; higher is wilder. */
  readonly temperature?: number;
  /** Draws among this many of the most likely tokens; default all. */
  readonly topK?: number;
  /** Seed of the draws, an integer; default 0. */
  readonly seed?: number;
  /** Ids that end the text; they are not handed out. Default the config's `eos_token_id`. */
  readonly stop?: readonly number[];
}

/**
 * The tokens that follow `ids`, one at a time: stop asking, and nothing more is computed. Ends at a stop token, after
 * `maxTokens`, or where the model has no position left.
 */
export function* generate(
  model: Gpt2,
  ids: ArrayLike<number>,
  options: GenerateOptions = {},
): Generator<number, void, undefined> {
  const { n_positions, eos_token_id } = model.config;
  const { maxTokens = n_positions, temperature = 0, topK, seed = 0 } = options;
  const stop = new Set(options.stop ?? (eos_token_id == null ? [] : [eos_token_id]));
  check(ids, options, n_positions);
  const cache = model.cache(Math.min(n_positions, ids.length + maxTokens));
  const key = headKey(seed, 0, 0);
  let next = Int32Array.from(ids);
  for (let n = 0; n < maxTokens && cache.length + next.length <= n_positions; n++) {
    const hidden = model.hidden(next, { cache });
    const logits = model.logits(slice(hidden, 0, -1) as FloatTensor).toFloat64();
    const id =
      temperature === 0
        ? largest(logits)
        : draw(logits, temperature, topK, cellBits(rowKey(key, n), 0) / 2 ** 32);
    if (stop.has(id)) return;
    yield id;
    next = Int32Array.of(id);
  }
}

function check(ids: ArrayLike<number>, options: GenerateOptions, positions: number): void {
  const refuse = (name: string, expected: string, got: unknown): never => {
    throw new OptionError(name, `generate: ${name} must be ${expected}, got ${formatValue(got)}`, { got });
  };
  const { maxTokens, temperature, topK, seed } = options;
  if (!(ids?.length > 0 && ids.length <= positions)) refuse("ids", `1 to ${positions} tokens`, ids?.length);
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens >= 0))
    refuse("maxTokens", "an integer ≥ 0", maxTokens);
  if (temperature !== undefined && !(temperature >= 0 && Number.isFinite(temperature)))
    refuse("temperature", "a number ≥ 0", temperature);
  if (topK !== undefined && !(Number.isInteger(topK) && topK > 0)) refuse("topK", "an integer ≥ 1", topK);
  if (seed !== undefined && !Number.isSafeInteger(seed)) refuse("seed", "an integer", seed);
}

/** The place of the largest number, the first of equals. */
function largest(logits: Float64Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

/** The token at `share` (in [0, 1)) of the distribution, tokens in order of their ids. */
function draw(logits: Float64Array, temperature: number, topK: number | undefined, share: number): number {
  let least = Number.NEGATIVE_INFINITY;
  // Ties at the edge all stay in.
  if (topK !== undefined && topK < logits.length) least = logits.toSorted()[logits.length - topK];
  const most = logits[largest(logits)];
  const weights = logits.map((x) => (x >= least ? Math.exp((x - most) / temperature) : 0));
  let left = share * weights.reduce((sum, x) => sum + x, 0);
  let last = 0;
  for (let id = 0; id < weights.length; id++) {
    if (weights[id] === 0) continue;
    last = id;
    left -= weights[id];
    if (left < 0) break;
  }
  return last;
}
