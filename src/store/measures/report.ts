/**
 * The load report: what was found, in sentences, before anything is drawn. A few rows are computed on the way: given
 * weights must sum to 1, and where a file carries the model's own log-sum-exp, ours must match it.
 */

import { Head, type HeadData } from "../compute/head.ts";
import { deltaOf } from "../compute/work.ts";
import type { About, Problems } from "../formats/metadata.ts";
import { type Bag, bytesOfTensor } from "../formats/tensor-source.ts";
import type { Laid } from "../layout/layout.ts";
import { describeRecipe } from "../recipe/recipe.ts";
import { oneLine } from "../text/label.ts";
import { formatNumber } from "../text/number.ts";
import type { Block, HeadRef, LoadReport } from "../types.ts";

/** Heads looked at on opening, and rows of each. */
const HEADS = 8;
const ROWS = 3;
/** A row sum or statistic that is off by more than this is a problem: float16 weights of a long row are off by 10⁻³. */
const SUM_TOLERANCE = 0.01;
const LSE_TOLERANCE = 0.01;

/** Heads to look at: spread over blocks, layers and heads. */
export function sample(blocks: readonly Laid[]): HeadRef[] {
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

/** What a few rows say. */
export interface Checks {
  verified?: { maxDelta: number; rows: number };
  rowSum?: { worst: number; rows: number };
}

/** Looks at a few rows of one head. */
export function examine(data: HeadData, into: Checks): void {
  const head = new Head(data);
  const rows = new Set([0, data.Nq >> 1, data.Nq - 1].slice(0, ROWS).filter((i) => i >= 0));
  for (const i of rows) {
    if (data.weights) {
      const sum = head.weights(i).reduce((a, b) => a + b, 0);
      // A row of zeros sees nothing; NaN is counted by the measures.
      if (sum === 0 || sum !== sum) continue;
      const known = into.rowSum ?? { worst: 0, rows: 0 };
      into.rowSum = { worst: Math.max(known.worst, Math.abs(sum - 1)), rows: known.rows + 1 };
    } else if (data.lse) {
      const known = into.verified ?? { maxDelta: 0, rows: 0 };
      const delta = deltaOf(head.rowSum(i).lse, data.lse[i]);
      into.verified = { maxDelta: Math.max(known.maxDelta, delta), rows: known.rows + 1 };
    }
  }
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
  const said = [
    about.model && `model ${about.model}`,
    about.createdBy && `made by ${about.createdBy}`,
  ].filter(Boolean);
  if (said.length) sentences.push(`It says: ${oneLine(said.join(", ")).slice(0, 400)}.`);
  for (const laid of blocks) sentences.push(blockSentence(laid, bag));
  if (rowSum) {
    const off = formatNumber(rowSum.worst, { digits: 2 });
    if (rowSum.worst <= SUM_TOLERANCE)
      sentences.push(`${count(rowSum.rows, "row")} looked at sum to 1, to ${off}.`);
    else
      problems.add(
        "warning",
        "row-sum",
        `rows of the given weights should sum to 1; the worst of those looked at is off by ${off}: they may be something else, or have rows and columns exchanged`,
      );
  }
  if (verified) {
    const off = formatNumber(verified.maxDelta, { digits: 2 });
    if (verified.maxDelta <= LSE_TOLERANCE)
      sentences.push(
        `Verified: the log-sum-exp of ${count(verified.rows, "row")} matches the model's own to ${off}.`,
      );
    else
      problems.add(
        "warning",
        "lse",
        `the log-sum-exp computed from q, k and the recipe differs from the model's own by ${off}; the recipe (scale, mask, bias, soft cap) is not the model's`,
      );
  }
  for (const { text, severity } of problems.list)
    sentences.push(severity === "note" ? `Note: ${text}.` : `Problem: ${text}.`);
  return { ...what, name: oneLine(what.name), sentences, problems: problems.list, ...checks };
}

function blockSentence({ block, layers }: Laid, bag: Bag): string {
  const first = layers.get(block.layers[0])!;
  const dtype = bag.tensors.get(first.parts.q ?? first.parts.w!)!.dtype;
  const { heads, keyHeads, Nq, Nk } = block;
  // Most models have one size of vectors in all layers.
  const widths = new Set(
    [...layers.values()].flatMap(({ parts }) => parts.q ?? []).map((name) => bag.tensors.get(name)!.shape[2]),
  );
  const d = [...widths].sort((a, b) => a - b).join(" or ");
  const grouped = keyHeads === heads ? "" : ` over ${count(keyHeads, "key head")}`;
  const sizes =
    Nq === Nk ? `${count(Nq, "token")}` : `${count(Nq, "query", "queries")} × ${count(Nk, "key")}`;
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

/** "12 layers", or which ones where some are missing. */
function layersIn(layers: readonly number[]): string {
  const whole = layers.every((layer, n) => layer === n);
  if (whole) return count(layers.length, "layer");
  const named = layers.length > 8 ? `${layers.slice(0, 8).join(", ")} …` : layers.join(", ");
  return `${count(layers.length, "layer")} (${named})`;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${formatNumber(n)} ${n === 1 ? one : many}`;
}

/** Bytes as people say them: 6.3 MB. */
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
