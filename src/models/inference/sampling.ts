/**
 * How the next token is chosen: the most likely one, or one sampled from softmax(logits / temperature) among the tokens that top-k,
 * top-p and min-p keep.
 */
import { checkInteger, checkNumber, checkSeed, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { cellBits, headKey, rowKey } from "../../core/random/random.ts";
import type { ReadingSlices } from "../../core/slices.ts";
import type { Tensor } from "../../core/tensor.ts";

/** Options of `generate`. */
export interface GenerateOptions {
  /** Maximum new tokens; default as many as the model has positions for. */
  readonly maxTokens?: number;
  /**
   * 0 takes the most likely token; 1 samples from the model's distribution; higher values are more random. Default 0; 1 with topK, topP or
   * minP, which need one above 0.
   */
  readonly temperature?: number;
  /** Samples among this many of the most likely tokens; default all. */
  readonly topK?: number;
  /**
   * Samples among the most likely tokens whose probabilities add up to this, above 0 and at most 1; default 1, all (nucleus
   * sampling, Holtzman et al. 2019, arXiv 1904.09751).
   */
  readonly topP?: number;
  /**
   * Samples among tokens at least this many times as likely as the most likely one, 0 to 1; default 0, all (Nguyen et al. 2024,
   * arXiv 2407.01082).
   */
  readonly minP?: number;
  /** Seed of the sampling, an integer; default 0. */
  readonly seed?: number;
  /** Ids that end the text; they are not yielded. Default the config's `eos_token_id`. */
  readonly stop?: readonly number[];
}

/** A checked list of ids that end a text. */
export function stopIds(what: string, stop: readonly number[]): readonly number[] {
  if (Array.isArray(stop) && stop.every((id) => Number.isInteger(id))) return stop;
  return refuseValue(what, "stop", "a list of token ids, where generateText takes texts as stopTexts", stop);
}

/** Throws an OptionError unless the options of a generation, and its number of ids, are in their ranges. */
export function checkSampling(
  what: string,
  ids: ArrayLike<number>,
  options: GenerateOptions,
  positions: number,
): void {
  const { maxTokens, seed } = options;
  if (!(ids?.length > 0 && ids.length <= positions))
    refuseValue(what, "ids", `1 to ${positions} tokens`, ids?.length);
  if (maxTokens !== undefined) checkInteger(what, "maxTokens", maxTokens, 0);
  if (seed !== undefined) checkSeed(what, seed);
  checkShares(what, options);
  const { temperature } = options;
  const narrowing = narrowingOf(options);
  if (temperature === 0 && narrowing)
    refuseValue(what, "temperature", `above 0 with ${narrowing}: 0 takes the most likely token`, 0);
  if (temperature === undefined && !narrowing && seed !== undefined)
    refuseValue(
      what,
      "seed",
      "left out, or with a temperature such as 1: without one nothing is drawn",
      seed,
    );
}

/** The first option that leaves fewer tokens to sample from. */
const narrowingOf = (options: ShareOptions) =>
  (["topK", "topP", "minP"] as const).find((name) => options[name] !== undefined);

/** The temperature of checked options; 0 takes the most likely token. */
export const temperatureOf = (options: ShareOptions): number =>
  options.temperature ?? (narrowingOf(options) ? 1 : 0);

/** The options of `tokenShares`. */
type ShareOptions = Pick<GenerateOptions, "temperature" | "topK" | "topP" | "minP">;

/** Throws an OptionError unless the options of a distribution are in their ranges. */
export function checkShares(
  what: string,
  { temperature = 1, topK = 1, topP = 1, minP = 0 }: ShareOptions,
): void {
  checkNumber(what, "temperature", temperature, 0);
  checkInteger(what, "topK", topK, 1);
  if (!(typeof topP === "number" && topP > 0 && topP <= 1))
    refuseValue(what, "topP", "a share above 0, at most 1", topP);
  checkNumber(what, "minP", minP, 0, 1);
}

/** As `tokenShares`, of checked arguments. */
export function sharesOf(
  logits: Float64Array,
  { temperature = 1, topK, topP = 1, minP = 0 }: ShareOptions = {},
): Float64Array {
  const top = logits[largest(logits)];
  // 0/0 at temperature 0, where the most likely tokens share all.
  const shares = logits.map((x) => (x === top ? 1 : Math.exp((x - top) / temperature)));
  const drop = (least: number) => {
    for (let id = 0; id < shares.length; id++) if (shares[id] < least) shares[id] = 0;
  };
  if (topK !== undefined && topK < logits.length) drop(shares.toSorted()[shares.length - topK]);
  if (topP < 1) {
    const sorted = shares.toSorted();
    const enough = topP * sorted.reduce((sum, x) => sum + x, 0);
    let sum = 0;
    let at = sorted.length;
    while (sum < enough && at > 0) sum += sorted[--at];
    drop(sorted[at]);
  }
  // At this point the most likely token has 1.
  if (minP > 0) drop(minP);
  const total = shares.reduce((sum, x) => sum + x, 0);
  return shares.map((x) => x / total);
}

/** The token at quantile `share`, in [0, 1), of the distribution, tokens in order of their ids. */
function draw(shares: Float64Array, share: number): number {
  let left = share;
  let last = 0;
  for (let id = 0; id < shares.length; id++) {
    if (shares[id] === 0) continue;
    last = id;
    left -= shares[id];
    if (left < 0) break;
  }
  return last;
}

/** A function that chooses the token of step n from its logits [V]; the options are checked. */
export function chooser(options: GenerateOptions): (logits: Float64Array, n: number) => number {
  const { seed = 0 } = options;
  const temperature = temperatureOf(options);
  const key = headKey(seed, 0, 0);
  return (logits, n) =>
    temperature === 0
      ? largest(logits)
      : draw(sharesOf(logits, options), cellBits(rowKey(key, n), 0) / 2 ** 32);
}

/** The numbers of a model's states or logits, where they are on the CPU; `instead` is what works on any device. */
export function numbersOf(what: string, numbers: Tensor, instead: string): Float64Array {
  const { device } = numbers;
  if (device === "cpu") return numbers.toFloat64();
  throw new UnsupportedError(
    "device",
    `${what}: the model is on the device "${device}", whose numbers are read asynchronously; ${instead}, or move the model: await model.to("cpu")`,
    { device },
  );
}

/** What slices return, where the model is on the CPU; on another device `NAMEAsync` computes the same. */
export function runNow<T>(what: string, slices: ReadingSlices<T>): T {
  try {
    for (let numbers: Float64Array = new Float64Array(0); ; ) {
      const { done, value } = slices.next(numbers);
      if (done) return value;
      if (typeof value !== "number") numbers = numbersOf(what, value, `call ${what}Async`);
    }
  } finally {
    slices.return(undefined as never);
  }
}

/**
 * Logits from which a token can be predicted. NaN and +∞ come from weights or activations that are not finite; −∞ excludes a token.
 *
 * @throws UnsupportedError where a logit is NaN or +∞, or all are −∞
 */
export function finiteLogits(what: string, logits: Float64Array): Float64Array {
  const at = logits.findIndex((x) => Number.isNaN(x) || x === Number.POSITIVE_INFINITY);
  if (at >= 0 || logits.every((x) => x === Number.NEGATIVE_INFINITY))
    throw new UnsupportedError(
      "non-finite",
      at >= 0
        ? `${what}: the logit of token ${at} is ${logits[at]}, so no token can be predicted; the model's weights are NaN or infinite, or its activations overflow (the model's notes name the first such weight)`
        : `${what}: all logits are -Infinity, so no token can be predicted`,
    );
  return logits;
}

/** The index of the largest number, the first of equals. */
export function largest(numbers: Float64Array): number {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}
