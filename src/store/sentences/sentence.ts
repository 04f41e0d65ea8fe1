/**
 * Describes a head in one sentence: "Mostly “cat” (64 %; even: 8 %); 20 % on the previous token; spread as if over 3.2 of 13
 * keys." It is the head's caption and its accessible description. Every number is a measure; the shares are disjoint, and each
 * is at least twice the share under even attention (`claims.ts`).
 */

import { checkArgument, checkCount, isList } from "../../core/errors.ts";
import type { Block } from "../block.ts";
import { checkObject } from "../check.ts";
import type { Claim } from "../measures/claims.ts";
import type { HeadMeasures } from "../measures/measures.ts";
import { distinctLabels, oneLine, truncate } from "../text/label.ts";
import { type Num, num } from "../text/number.ts";

/** Smallest shares for the words "Mostly" and "Often". */
const MOSTLY = 0.5;
const OFTEN = 0.25;
/** If a row sums to more than this, the numbers are not shares of attention. */
const SHARES = 1.05;

type Part = string | Num;

/**
 * The sentence as text.
 *
 * @example
 * describeHead(store.blocks[0], await store.measures({ block: 0, layer: 5, head: 11 })); // a sentence
 */
export function describeHead(block: Block, measures: HeadMeasures): string {
  checkCount("describeHead", arguments, 2);
  checkArgument(isList(block?.queryTokens), "describeHead", "a block, store.blocks[0]", block);
  checkArgument(
    isList(measures?.claims),
    "describeHead",
    "measures, as store.measures returns them",
    measures,
  );
  return sentenceOf(block, measures)
    .map((part) => (typeof part === "string" ? part : part.text))
    .join("");
}

/** The sentence as a list of texts and numbers. */
export function sentenceOf(block: Block, measures: HeadMeasures): Part[] {
  checkObject("sentenceOf", "a block and its measures, as store.measures returns them", measures);
  const { rows, claims, notNumbers, negative, largestSum, effectiveKeys, visibleKeys } = measures;
  if (negative > 0 || largestSum > SHARES) return [...notShares(measures), "."];
  if (rows === 0)
    return [
      notNumbers > 0 ? "No row consists of numbers only" : "All rows are fully masked",
      ...faults(measures),
      ".",
    ];
  const spread: Part[] = [
    num(effectiveKeys, "measures.effectiveKeys", { digits: 2 }),
    " of ",
    num(visibleKeys, "measures.visibleKeys", { digits: 2 }),
    " keys",
  ];
  const percent = (x: number, source: string, round: "nearest" | "down" = "nearest") =>
    num(x, source, { style: "percent", round });
  if (visibleKeys === 1) return ["Each query attends to one key only", ...faults(measures), "."];
  const [first, second] = claims;
  if (first === undefined) {
    const start =
      effectiveKeys > visibleKeys / 2
        ? "Spread over most keys: as if over "
        : "No single pattern: as if over ";
    return [start, ...spread, ...faults(measures), "."];
  }
  const parts: Part[] = [];
  const { share, even } = first;
  const what = nameOf(block, measures, first);
  if (share >= OFTEN)
    parts.push(
      `${share >= MOSTLY ? "Mostly" : "Often"} ${what} (`,
      percent(share, "measures.claims[0].share"),
      "; even: ",
      percent(even, "measures.claims[0].even"),
      ")",
    );
  else
    parts.push(
      percent(share, "measures.claims[0].share"),
      ` on ${what} (even: `,
      percent(even, "measures.claims[0].even"),
      ")",
    );
  if (second)
    parts.push(
      "; ",
      percent(second.share, "measures.claims[1].share", "down"),
      ` on ${nameOf(block, measures, second)}`,
    );
  return [...parts, "; spread as if over ", ...spread, ...faults(measures), "."];
}

/** The subject of a claim, in words. */
function nameOf(block: Block, { near }: HeadMeasures, { habit, key = 0 }: Claim): string {
  switch (habit) {
    case "diagonal":
      return block.kind === "self" && (block.Nq === block.Nk || block.queryOffset > 0)
        ? "the token itself"
        : "the key at its own position";
    case "previous":
      return "the previous token";
    case "next":
      return "the next token";
    case "sameToken":
      return "other copies of the token";
    case "induction":
      return "what followed an earlier copy of the token";
    case "special":
      return "special tokens";
    case "near":
      return `keys at most ${near} tokens away`;
    case "aligned":
      return "the keys along the diagonal";
    case "reversed":
      return "the keys along the reversed diagonal";
    case "key":
      return keyName(block, key);
  }
}

/** The name of a key: [CLS], “cat”, “the₂” for the second “the”; the first token is named as such. */
function keyName({ keyTokens, special }: Block, key: number): string {
  const label = truncate(oneLine(distinctLabels(keyTokens)[key]), 24);
  if (special.key[key]) return label;
  return key === 0 ? `the first token, “${label}”` : `“${label}”`;
}

/** The sentence about numbers that are not shares of attention. */
function notShares({ negative, largestSum, notNumbers }: HeadMeasures): Part[] {
  const parts: Part[] = ["These numbers are not shares of attention: "];
  if (negative > 0)
    parts.push(num(negative, "measures.negative"), negative === 1 ? " is negative" : " are negative");
  if (largestSum > SHARES)
    parts.push(
      negative > 0 ? ", and a row sums to " : "a row sums to ",
      num(largestSum, "measures.largestSum"),
    );
  return [...parts, ...(notNumbers > 0 ? notNumbersPart(notNumbers) : [])];
}

function faults({ leak, notNumbers }: HeadMeasures): Part[] {
  const parts: Part[] = [];
  if (leak > 0)
    parts.push("; a row gives ", num(leak, "measures.leak", { style: "percent" }), " to masked keys");
  if (notNumbers > 0) parts.push(...notNumbersPart(notNumbers));
  return parts;
}

function notNumbersPart(notNumbers: number): Part[] {
  return [
    "; ",
    num(notNumbers, "measures.notNumbers"),
    notNumbers === 1 ? " weight is not a number" : " weights are not numbers",
  ];
}
