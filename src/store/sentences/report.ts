/**
 * The load report: the contents of a file in sentences. Some rows are checked: rows of given weights must sum to 1, and if a
 * file has the model's log-sum-exp, the computed one must match it.
 */

import { type Block, type HeadRef, headsOf } from "../block.ts";
import { type HeadArrays, StoreHead } from "../compute/head.ts";
import { deltaOf } from "../compute/work.ts";
import type { About, LoadProblem, Problems } from "../formats/metadata.ts";
import { type Bag, bytesOfTensor } from "../formats/tensor-source.ts";
import type { Laid } from "../layout/layout.ts";
import { describeRecipe } from "../recipe/recipe.ts";
import { oneLine } from "../text/label.ts";
import { formatNumber } from "../text/number.ts";

/** The result of the checks when a file is opened. */
export interface LoadReport {
  readonly name: string;
  /** The name of the model, if the file has it. */
  readonly model?: string;
  /** The text that it read, if the file has it; several texts are lines. */
  readonly text?: string;
  readonly format: "bundle" | "npz" | "npy" | "json" | "memory";
  /** Size of the file, or of the arrays. */
  readonly bytes: number;
  /** The contents of the file, in sentences in reading order; without problems. */
  readonly sentences: readonly string[];
  readonly problems: readonly LoadProblem[];
  /**
   * Number of rows compared with the model's own log-sum-exp, and the worst difference. `differs` is true if it is above the
   * tolerance of 0.01; `passed` is false then, and if a log-sum-exp is NaN both in the file and computed.
   */
  readonly verified?: {
    readonly maxDelta: number;
    readonly rows: number;
    readonly passed: boolean;
    readonly differs: boolean;
    /** Rows whose log-sum-exp is NaN both in the file and computed. */
    readonly notNumbers: number;
  };
  /** Number of rows of given weights that were summed, the worst |sum − 1|, that row's sum, and the numbers of NaN or infinite and of negative weights. */
  readonly rowSum?: {
    readonly worst: number;
    readonly rows: number;
    readonly sum: number;
    readonly notNumbers: number;
    readonly negative: number;
  };
}

/** Maximum number of heads to check if not all are, and rows of each head: of given weights, and of computed log-sum-exps. */
const HEADS = 8;
const GIVEN_ROWS = 64;
const COMPUTED_ROWS = 3;
/** Given weights of at most this many bytes are all checked. */
const WHOLE = 8 * 2 ** 20;
/** A larger error of a row sum or log-sum-exp is a problem. float16 weights of a long row have an error of 10⁻³. */
const SUM_TOLERANCE = 0.01;
const LSE_TOLERANCE = 0.01;

/** The heads to check: all if the given weights are small, else some, spread over blocks, layers and heads. */
export function sample(blocks: readonly Laid[], bag: Bag): HeadRef[] {
  if (isWhole(blocks, bag)) return blocks.flatMap(({ block }, index) => headsOf(block, index));
  const refs: HeadRef[] = [];
  const each = Math.max(1, Math.floor(HEADS / Math.max(1, blocks.length)));
  blocks.forEach(({ block }, index) => {
    const count = Math.min(each, block.layers.length * block.heads);
    for (let n = 0; n < count; n++) {
      const layer = block.layers[Math.floor((n * block.layers.length) / count)];
      refs.push({ block: index, layer, head: (n * 5) % block.heads });
    }
  });
  return refs.slice(0, 2 * HEADS);
}

/** True if every row of every head is checked. */
export function isWhole(blocks: readonly Laid[], bag: Bag): boolean {
  let bytes = 0;
  for (const { layers } of blocks)
    for (const { parts } of layers.values()) {
      if (parts.q !== undefined || parts.w === undefined) return false;
      bytes += bytesOfTensor(bag.tensors.get(parts.w)!);
    }
  return bytes <= WHOLE;
}

/** The results of the checks. */
export interface Checks {
  verified?: { maxDelta: number; rows: number; passed: boolean; differs: boolean; notNumbers: number };
  rowSum?: { worst: number; rows: number; sum: number; notNumbers: number; negative: number };
  /** Whether numbers of the queries, and of the keys, are NaN or infinite. */
  notFinite?: { queries: boolean; keys: boolean };
  /** Of given weights: the smallest, whether any is above 0, the worst error of row sums after exp, and the worst error of column sums if all rows of a head were checked. */
  weights?: { least: number; positive: boolean; expSum: number; columns?: number };
}

/** Checks rows of one head, evenly spread. All rows of given weights are checked if `all` is true, or for the first head unless it is large. */
export function examine(data: HeadArrays, all: boolean, into: Checks): void {
  const head = new StoreHead(data);
  const everyRow = all || (into.weights === undefined && data.Nq * data.Nk * 8 <= WHOLE);
  const wanted = data.weights ? (everyRow ? data.Nq : GIVEN_ROWS) : COMPUTED_ROWS;
  const count = Math.min(data.Nq, wanted);
  const rows = Array.from({ length: count }, (_, n) =>
    count === 1 ? 0 : Math.round((n * (data.Nq - 1)) / (count - 1)),
  );
  if (data.weights) {
    examineWeights(head, rows, into);
    return;
  }
  into.notFinite = {
    queries: into.notFinite?.queries === true || hasNotFinite(data.query),
    keys: into.notFinite?.keys === true || hasNotFinite(data.key),
  };
  if (data.lse)
    for (const i of rows) {
      const totals = into.verified ?? { maxDelta: 0, rows: 0, passed: true, differs: false, notNumbers: 0 };
      const [computed, model] = [head.rowSum(i).lse, data.lse[i]];
      const neither = Number.isNaN(computed) && Number.isNaN(model);
      const maxDelta = neither ? totals.maxDelta : Math.max(totals.maxDelta, deltaOf(computed, model));
      const differs = maxDelta > LSE_TOLERANCE;
      into.verified = {
        maxDelta,
        rows: totals.rows + 1,
        passed: totals.passed && !neither && !differs,
        differs,
        notNumbers: totals.notNumbers + Number(neither),
      };
    }
}

/** Whether any number is NaN or infinite. */
function hasNotFinite(values: ArrayLike<number> = []): boolean {
  for (let n = 0; n < values.length; n++) if (!Number.isFinite(values[n])) return true;
  return false;
}

/** Checks that rows of given weights are nonnegative numbers that sum to 1. */
function examineWeights(head: StoreHead, rows: readonly number[], into: Checks): void {
  const { Nq, Nk } = head.data;
  const sums = into.rowSum ?? { worst: 0, rows: 0, sum: 1, notNumbers: 0, negative: 0 };
  const weights = into.weights ?? { least: Infinity, positive: false, expSum: 0 };
  const isSquare = rows.length === Nq && Nq === Nk;
  const columns = new Float64Array(Nk);
  let { least, positive } = weights;
  for (const i of rows) {
    let sum = 0;
    let expSum = 0;
    let notNumbers = 0;
    const row = head.weights(i);
    for (let j = 0; j < Nk; j++) {
      const x = row[j];
      if (x - x !== 0) notNumbers++;
      else {
        sum += x;
        // Sums of exp detect log-weights, which are never above 0.
        if (!positive) expSum += Math.exp(x);
        columns[j] += x;
        if (x < 0) sums.negative++;
        else if (x > 0) positive = true;
        if (x < least) least = x;
      }
    }
    sums.notNumbers += notNumbers;
    // The log-weight of a masked key is −∞, which exp maps to 0.
    weights.expSum = Math.max(weights.expSum, Math.abs(expSum - 1));
    // A row of zeros is fully masked; a row with NaN has no sum.
    if (notNumbers > 0 || (sum === 0 && row.every((x) => x === 0))) continue;
    sums.rows++;
    const error = Math.abs(sum - 1);
    if (error > sums.worst) [sums.worst, sums.sum] = [error, sum];
  }
  if (isSquare)
    for (const sum of columns) weights.columns = Math.max(weights.columns ?? 0, Math.abs(sum - 1));
  [into.rowSum, into.weights] = [sums, { ...weights, least, positive }];
}

/** Writes the report. */
export function reportOf(
  what: { readonly name: string; readonly format: LoadReport["format"]; readonly bytes: number },
  bag: Bag,
  blocks: readonly Laid[],
  about: About,
  problems: Problems,
  checks: Checks,
): LoadReport {
  const { verified, rowSum } = checks;
  const FORMATS = {
    bundle: "a heed bundle",
    npz: "an npz file",
    npy: "an npy file",
    json: "a JSON file",
    memory: "in memory",
  };
  const size = formatBytes(what.bytes);
  const sentences = [
    what.format === "memory"
      ? `${oneLine(what.name)}: ${size} in memory.`
      : `${oneLine(what.name)} is ${FORMATS[what.format]} of ${size}.`,
  ];
  const model = about.model && oneLine(about.model).slice(0, 200);
  if (model) sentences.push(`Model: ${model}.`);
  if (about.createdBy) sentences.push(`Made by: ${oneLine(about.createdBy).slice(0, 200)}.`);
  for (const laid of blocks) sentences.push(blockSentence(laid, bag));
  if (rowSum) {
    weightProblems(rowSum, checks.weights!, problems);
    if (rowSum.worst <= SUM_TOLERANCE && rowSum.rows > 0)
      sentences.push(
        `Checked ${isWhole(blocks, bag) ? "all " : ""}${count(rowSum.rows, "row")}${rowSum.notNumbers > 0 ? " without NaN" : ""}: each sums to 1 (error ≤ ${formatNumber(rowSum.worst, { digits: 2 })}).`,
      );
  }
  if (checks.notFinite) vectorProblems(checks.notFinite, problems);
  if (verified) {
    const off = formatNumber(verified.maxDelta, { digits: 2 });
    if (verified.notNumbers > 0)
      problems.add(
        "warning",
        "lse",
        `the log-sum-exp of ${count(verified.notNumbers, "row")} is not a number, both in the file and computed from q and k: the model's own numbers are NaN or infinite`,
      );
    if (verified.differs)
      problems.add(
        "warning",
        "lse",
        `the log-sum-exp computed from q, k and the recipe differs from the model's own by ${off}; the recipe (scale, mask, bias, soft cap) is not the model's`,
      );
    if (verified.passed)
      sentences.push(
        `Verified: the log-sum-exp of ${count(verified.rows, "row")} matches the model's own to ${off}.`,
      );
  }
  return {
    ...what,
    name: oneLine(what.name),
    ...(model && { model }),
    ...(about.text && { text: oneLine(about.text).slice(0, 1000) }),
    sentences,
    problems: problems.list,
    ...(verified ? { verified } : {}),
    ...(rowSum ? { rowSum } : {}),
  };
}

/** Reports invalid given weights, with what they may be instead. */
function weightProblems(
  { worst, sum, notNumbers, negative }: NonNullable<Checks["rowSum"]>,
  { least, positive, expSum, columns }: NonNullable<Checks["weights"]>,
  problems: Problems,
): void {
  const add = (code: string, text: string) => problems.add("warning", code, text);
  const one = notNumbers === 1;
  const logs = negative > 0 && !positive;
  // The log-weight of a masked key is −∞.
  if (notNumbers > 0 && !logs)
    add(
      "not-numbers",
      `${count(notNumbers, "weight")} ${one ? "is not a number" : "are not numbers"} (NaN or infinite); ${one ? "it is" : "they are"} marked and left out of all means`,
    );
  if (logs)
    add(
      "negative",
      expSum <= SUM_TOLERANCE
        ? "no given weight is above 0, and exp of each row sums to 1: these are log-weights; save exp of them"
        : "no given weight is above 0: these look like scores (logits) or log-weights; save the weights after softmax",
    );
  else if (negative > 0)
    add(
      "negative",
      `${count(negative, "given weight")} ${negative === 1 ? "is" : "are"} negative (the smallest is ${formatNumber(least)}); weights of attention are 0 or more: are these scores (logits) before softmax?`,
    );
  if (worst > SUM_TOLERANCE && !logs)
    add(
      "row-sum",
      `rows of the given weights should sum to 1; the worst row checked sums to ${formatNumber(sum)}: ${
        columns !== undefined && columns <= SUM_TOLERANCE
          ? "the columns sum to 1, so queries and keys seem to be exchanged"
          : sum > 1
            ? "are these scores (logits), or is the last axis not the keys?"
            : "are some keys missing, or is the last axis not the keys?"
      }`,
    );
}

/** Reports queries and keys that are not finite: their scores are not numbers, and so are the weights. */
function vectorProblems({ queries, keys }: NonNullable<Checks["notFinite"]>, problems: Problems): void {
  const add = (text: string) => problems.add("warning", "not-numbers", text);
  const remedy = "look at the model's numbers where they were saved";
  if (queries)
    add(`some queries have numbers that are NaN or infinite: their rows have no weights; ${remedy}`);
  if (keys)
    add(
      `some keys have numbers that are NaN or infinite: rows that may attend to them have no weights; ${remedy}`,
    );
}

function blockSentence({ block, layers }: Laid, bag: Bag): string {
  const first = layers.get(block.layers[0])!;
  const dtype = bag.tensors.get(first.parts.q ?? first.parts.w!)!.dtype;
  const { heads, keyHeads, Nq, Nk } = block;
  // Layers can have vectors of different sizes.
  const widths = new Set(
    [...layers.values()].flatMap(({ parts }) => parts.q ?? []).map((name) => bag.tensors.get(name)!.shape[2]),
  );
  const d = [...widths].sort((a, b) => a - b).join(" or ");
  const grouped = keyHeads === heads ? "" : ` over ${count(keyHeads, "key head")}`;
  const one = block.kind === "self" && Nq === Nk;
  const sizes = one ? count(Nq, "token") : `${count(Nq, "query", "queries")} × ${count(Nk, "key")}`;
  const holds = first.parts.q
    ? `queries and keys of ${d} ${d === "1" ? "number" : "numbers"} (${dtype})`
    : `weights (${dtype}${dtype === "uint8" ? ", to ±0.002" : ""})`;
  const extra = extras(block);
  const recipe = describeRecipe(block.recipe, widths.size === 1 ? d : "d");
  const scores = first.parts.q ? `; ${recipe}` : "";
  const name = oneLine(block.name).slice(0, 80);
  return `\`${name}\`: ${layersIn(block.layers)} × ${count(heads, "head")}${grouped}, ${sizes}, ${holds}${extra}${scores}.`;
}

function extras({ has, segments, queryOffset }: Block): string {
  const parts = [
    has.values && "values",
    has.wo && "output weights",
    has.vnorm && "value norms",
    has.lse && "the model's log-sum-exp",
    queryOffset !== 0 && `query 0 at position ${queryOffset}`,
    segments.length > 0 && `segments ${segments.map(({ name }) => oneLine(name).slice(0, 40)).join(", ")}`,
  ].filter(Boolean);
  return parts.length ? `, ${parts.join(", ")}` : "";
}

/** "12 layers"; with their numbers if some are missing. */
function layersIn(layers: readonly number[]): string {
  const isComplete = layers.every((layer, n) => layer === n);
  if (isComplete) return count(layers.length, "layer");
  const named = layers.length > 8 ? `${layers.slice(0, 8).join(", ")} …` : layers.join(", ");
  return `${count(layers.length, "layer")} (${named})`;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${formatNumber(n)} ${n === 1 ? one : many}`;
}

/** Bytes in decimal units: 6.3 MB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const step = bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return formatNumber(bytes / 1000 ** step, {
    digits: bytes / 1000 ** step < 100 ? 2 : 3,
    unit: ["", "kB", "MB", "GB"][step],
  });
}

/** Bytes of all tensors of a bag. */
export function bytesIn(bag: Bag): number {
  let bytes = 0;
  for (const t of bag.tensors.values()) bytes += bytesOfTensor(t);
  return bytes;
}
