/** The heads of a page: one in its largest size, several as small maps, those that stand out, and a table of their measures. */

import { describeHead } from "../../store/sentences/sentence.ts";
import { pad, wrap } from "../../store/text/label.ts";
import { wholePercent } from "../../store/text/number.ts";
import { headName, type MeasuredHead, mapOf, mapOptions, type TextPage, wrapped } from "./page.ts";
import { dim, plain } from "./paint.ts";
import { heading, renderBar, renderHeatMaps } from "./terminal.ts";

/** Heads in a summary. */
const HEADS = 6;

const ROWS = "each row: what that token attends to, column by column";

/** One head in its largest size, with its caption. */
export async function largeLines(page: TextPage, measured: MeasuredHead): Promise<string[]> {
  const { layer, head } = measured.ref;
  return [
    ...heading(`layer ${layer}, head ${head}`, ROWS, page),
    ...wrapped(describeHead(page.block, measured.measures), page),
    ...renderHeatMaps([await mapOf(page, measured, "")], mapOptions(page)).filter(
      (line) => line.trim() !== "",
    ),
    "",
  ];
}

/** Heat maps of all heads, layer by layer. */
export async function mapLines(page: TextPage): Promise<string[]> {
  const lines: string[] = [];
  for (const layer of new Set(page.heads.map(({ ref }) => ref.layer))) {
    const heads = page.heads.filter(({ ref }) => ref.layer === layer);
    const maps = await Promise.all(heads.map((head) => mapOf(page, head, `head ${head.ref.head}`)));
    lines.push(...heading(`layer ${layer}`, ROWS, page), ...renderHeatMaps(maps, mapOptions(page)), "");
  }
  return lines;
}

/** The heads with a clear habit, one per habit, the clearest first. */
export function standOutLines(page: TextPage): string[] {
  const { block, heads, columns, paint } = page;
  const best = new Map<string, MeasuredHead & { readonly score: number }>();
  for (const measured of heads) {
    const [claim] = measured.measures.claims;
    if (!claim || claim.share < 0.25) continue;
    const id = `${claim.habit} ${claim.key ?? ""}`;
    const score = claim.share * Math.log(claim.share / Math.max(claim.even, 1e-6));
    if (score > (best.get(id)?.score ?? 0)) best.set(id, { ...measured, score });
  }
  const shown = [...best.values()].sort((a, b) => b.score - a.score).slice(0, HEADS);
  if (shown.length === 0) return heading("heads", "none of them has one clear habit", page);
  const width = Math.max(...shown.map(({ ref }) => headName(ref).length));
  return [
    ...heading("heads that stand out", "even: the share that equal attention would give", page),
    ...shown.flatMap(({ ref, measures }) =>
      wrap(plain(describeHead(block, measures), paint), Math.max(20, columns - width - 2)).map(
        (line, n) => `${pad(n === 0 ? headName(ref) : "", width)}  ${line}`,
      ),
    ),
  ];
}

/** One line of measures per head. On a narrow terminal the last columns are left out. */
export function measureLines(page: TextPage, isBits: boolean): string[] {
  const { heads, columns, paint } = page;
  const none = plain("–", paint);
  const share = (x: number | undefined) => (x === undefined ? none : `${wholePercent(x)} %`);
  const number = (x: number | undefined, digits: number) => x?.toFixed(digits) ?? none;
  const first = Math.max(5, ...heads.map(({ ref }) => headName(ref).length));
  const table: readonly [name: string, width: number, cell: (head: MeasuredHead) => string][] = [
    ["", first, ({ ref }) => headName(ref).padEnd(first)],
    ["entropy", 9, ({ measures: m }) => number(m.entropy / (isBits ? Math.LN2 : 1), 2)],
    ["spread", 8, ({ measures: m }) => number(m.effectiveKeys, 1)],
    [
      "",
      13,
      ({ measures: m }) => `  ${renderBar(m.entropy / Math.log(Math.max(2, m.visibleKeys)), 11, paint)}`,
    ],
    ["self", 7, ({ measures: m }) => share(m.diagonal)],
    ["previous", 10, ({ measures: m }) => share(m.previous)],
    ["next", 7, ({ measures: m }) => share(m.next)],
    ["first", 8, ({ measures: m }) => share(m.first)],
    ["special", 9, ({ measures: m }) => share(m.special)],
    ["distance", 10, ({ measures: m }) => number(m.distance, 1)],
  ];
  let total = 0;
  const shown = table.filter(([, width]) => (total += width) <= columns);
  // A bar with escape sequences fills its column; padding does not change it.
  const line = (cell: (column: (typeof table)[number]) => string) =>
    shown.map((column) => cell(column).padStart(column[1])).join("");
  const [unit, power] = isBits ? ["bits", "2"] : ["nats", "e"];
  const note = `means over the rows. spread: a row's attention is as spread out as if it were equal over this many tokens (${power} to the power of the entropy, in ${unit}); self to special: shares of attention; distance: in tokens`;
  return [
    ...heading("heads", note, page),
    dim(
      line(([name]) => name),
      paint,
    ),
    ...heads.map((head) => line(([, , cell]) => cell(head))),
  ];
}
