/**
 * One sentence about a head, made of its measures: "Mostly the previous token (61 %); 14 % on [CLS]; effective keys 2.3."
 * It is the head's caption and its accessible description. Every number in it is a measure.
 */
import { oneLine, truncate } from "../text/label.ts";
import { num } from "../text/number.ts";
import type { Block, HeadMeasures, Num } from "../types.ts";

/** Shares from which a head does something only, mostly, often, and worth a mention. */
const ONLY = 0.95;
const MOSTLY = 0.5;
const OFTEN = 0.25;
const ALSO = 0.1;
/** Share of rows that must have a copy of their token before it is said what they do with it. */
const FEW = 0.2;

interface Habit {
  readonly share: number;
  readonly what: string;
  readonly measure: keyof HeadMeasures;
}

/** The sentence as text. */
export function describeHead(block: Block, measures: HeadMeasures): string {
  return sentenceOf(block, measures)
    .map((part) => (typeof part === "string" ? part : part.text))
    .join("");
}

/** The sentence with its numbers as numbers. */
export function sentenceOf(block: Block, measures: HeadMeasures): (string | Num)[] {
  if (measures.rows === 0)
    return [
      measures.notNumbers > 0 ? "No row is made of numbers alone" : "No query sees anything",
      ...faults(measures),
      ".",
    ];
  const habits = habitsOf(block, measures).sort((a, b) => b.share - a.share);
  const [first, ...others] = habits;
  const parts: (string | Num)[] = [];
  const share = (habit: Habit) => num(habit.share, `measures.${habit.measure}`, { style: "percent" });
  const { within } = measures;
  if (first && first.share >= OFTEN)
    parts.push(`${first.share >= MOSTLY ? "Mostly" : "Often"} ${first.what} (`, share(first), ")");
  else if (within !== undefined && within >= MOSTLY)
    parts.push(
      `Mostly near: within ±${measures.near} tokens (`,
      num(within, "measures.within", { style: "percent" }),
      ")",
    );
  else parts.push("Spread over many keys");
  // Keys have several names (the previous token may be a marker): of a head that does one thing only, one is enough.
  const rest = first && first.share >= OFTEN && first.share < ONLY ? others : [];
  const next = rest.find((habit) => habit.share >= ALSO && !overlaps(first, habit));
  if (next) parts.push("; ", share(next), ` on ${next.what}`);
  parts.push("; effective keys ", num(measures.effectiveKeys, "measures.effectiveKeys", { digits: 2 }));
  return [...parts, ...faults(measures), "."];
}

function habitsOf(block: Block, m: HeadMeasures): Habit[] {
  const marked = new Set(block.keyTokens.filter((_, j) => block.special.key[j]));
  const only = marked.size === 1 ? [...marked][0] : undefined;
  const name = (token: string) => truncate(oneLine(token), 24);
  const start = block.keyTokens[0];
  const all: [keyof HeadMeasures, string][] = [
    ["diagonal", "the token itself"],
    ["previous", "the previous token"],
    ["next", "the next token"],
    ["induction", "what followed an earlier copy of the token"],
    ["sameToken", "other copies of the token"],
    ["special", only === undefined ? "markers" : name(only)],
    ["first", block.special.key[0] && start !== undefined ? name(start) : "the first token"],
  ];
  // What few rows can do at all says little about a head.
  const few = (rows: number) => rows < FEW * m.rows;
  const found = all.flatMap(([measure, what]) => {
    const value = m[measure];
    const rare =
      (measure === "induction" && few(m.inductionRows)) || (measure === "sameToken" && few(m.sameTokenRows));
    return value === undefined || rare ? [] : [{ measure, what, share: value }];
  });
  // Where the first token is a marker and has all that markers get, it is said once, by its name.
  const alone = block.special.key[0] && m.special - m.first < 0.01;
  return found.filter(({ measure }) => !(alone && measure === "special"));
}

/** Two names for much the same keys. */
function overlaps(a: Habit, b: Habit): boolean {
  const pair = [a.measure, b.measure];
  return pair.includes("special") && pair.includes("first");
}

function faults({ leak, notNumbers }: HeadMeasures): (string | Num)[] {
  const parts: (string | Num)[] = [];
  if (leak > 0)
    parts.push("; a row gives ", num(leak, "measures.leak", { style: "percent" }), " to masked keys");
  if (notNumbers > 0) parts.push("; ", num(notNumbers, "measures.notNumbers"), " weights are not numbers");
  return parts;
}
