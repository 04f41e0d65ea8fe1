/** The picture of the first page: sentences whose words are lit by their shares, with arcs and beads. */
import { element, escapeXml, text } from "../../src/view/plot/svg.ts";
import { clamp } from "../frame/fields.ts";
import { named, pressable, rect, textClass, weightClass } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { descending, percent } from "../frame/words.ts";
import type { Line, Words, WordsNumbers } from "./compute.ts";
import { layLine, type WordBox } from "./layout.ts";

/** What the drawing functions get. */
export type WordsView = LabView<Words, WordsNumbers>;

/** Beads in all, and in one portion. */
export const BEADS = 100;
export const PORTION = 10;

/** The beads that lie on words. */
export const poured = (beads: readonly number[]) => beads.reduce((sum, count) => sum + count, 0);

/** The keys in the order of their shares. */
export const ranked = (line: Line) => descending(line.shares);

/** The arcs from the word that looks to the words of one row; all start and end at the height `y`. */
function arcs(line: Line, boxes: readonly WordBox[], q: number, y: number, wide: boolean): string {
  const middle = ({ x, width }: WordBox) => x + width / 2;
  const height = y.toFixed(1);
  return boxes
    .map((box, j) => {
      const share = line.shares[j];
      if (j === q || share < 0.02) return "";
      const [x1, x2] = [middle(boxes[q]), middle(box)];
      const rise = Math.min(wide ? 120 : 34, 14 + Math.abs(x2 - x1) * 0.28);
      const [from, to, peak] = [x1.toFixed(1), x2.toFixed(1), (y - rise).toFixed(1)];
      return element("path", {
        d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height}`,
        class: "arc",
        "stroke-width": Math.max(0.8, share * 12),
      });
    })
    .join("");
}

/** Beads of each share: together all of them, so what rounding leaves goes to the shares that lose the most by it. */
function beadsOf(shares: readonly number[]): number[] {
  const beads = shares.map((share) => Math.floor(share * BEADS));
  const lost = shares.map((share, i) => share * BEADS - beads[i]);
  for (const i of descending(lost).slice(0, BEADS - poured(beads))) beads[i]++;
  return beads;
}

/** One sentence with its light, arcs and beads. */
function sentence(
  view: WordsView,
  line: Line,
  size: number,
  y: number,
  align: number | undefined,
  at: number,
): string {
  const { state, wide } = view;
  const width = wide ? 860 : 375;
  const boxes = layLine(line.tokens, line.marks, size, width - (wide ? 0 : 16), wide ? 0 : 8, align);
  const rows = boxes[boxes.length - 1].row + 1;
  // Beads of a large share need space below their row: more rows than three leave none on a narrow picture.
  const piles = at >= 0 && rows <= (wide ? 2 : 3);
  const filled = beadsOf(line.shares);
  const q = line.looks;
  const parts: string[] = [];
  const gap = !piles ? size * 2.5 : wide ? 190 : rows < 3 ? 104 : 84;
  const top = (box: WordBox) => y + box.row * gap;
  // Arcs first, under the words.
  // Between two rows an arc would cross the words of the upper one. Arcs of one row only would leave out the largest shares.
  // In a group of their own: another number of arcs leaves the words as they are, and the focus on one of them.
  parts.push(element("g", {}, !state.hide && rows === 1 ? arcs(line, boxes, q, y - size * 1.05, wide) : ""));
  const words: string[] = [];
  const beads: string[] = [];
  // Percentages under the words, the largest first: one that would cover another is left out.
  const percentages: string[] = [];
  const taken: { row: number; from: number; to: number }[] = [];
  if (!state.hide)
    for (const j of ranked(line)) {
      const [share, box] = [line.shares[j], boxes[j]];
      if (share < 0.005) break;
      const half = percent(share).length * (wide ? 3.9 : 3.6);
      const middle = Math.min(width - half, Math.max(half, box.x + box.width / 2));
      const place = { row: box.row, from: middle - half, to: middle + half };
      if (taken.some(({ row, from, to }) => row === place.row && from < place.to && place.from < to))
        continue;
      taken.push(place);
      percentages.push(
        text(middle, top(box) + size * 0.6 + (wide ? 10 : 6), percent(share), {
          class: `mid mono halo ${wide ? "s12" : "s11"} ${share > 0.1 ? "bold" : "second"}`,
        }),
      );
    }
  for (const [j, box] of boxes.entries()) {
    const share = state.hide ? 0 : line.shares[j];
    const isMark = line.marks[j];
    const description = state.hide
      ? `${line.tokens[j]}: place ${PORTION} beads, ${state.beads[j] ?? 0} so far`
      : j === q
        ? `${line.tokens[j]}, the word that looks; ${percent(share)} on itself`
        : `${line.tokens[j]}: ${percent(share)}`;
    const around = [
      ...[box.x - box.pad, top(box) - size],
      ...[box.x + box.width + box.pad, top(box) + size * 0.35],
    ] as [number, number, number, number];
    words.push(
      pressable(
        `press:${j}`,
        description,
        j === q && !state.hide,
        rect(...around, { rx: 3, class: share > 0 ? `${weightClass(share)} cell` : "hit cell" }) +
          (j === q ? rect(...around, { rx: 3, class: "none lq" }) : "") +
          element(
            "text",
            {
              x: box.x,
              y: top(box),
              textLength: box.width,
              lengthAdjust: "spacingAndGlyphs",
              "font-size": isMark ? size * 0.55 : size,
              class: `serif sized ${j === q && share < 0.1 ? "tq bold" : textClass(share)}`,
            },
            escapeXml(line.tokens[j]),
          ),
        state.hide ? {} : { "data-hover": `look:${j}` },
      ),
    );
    if (piles)
      beads.push(
        pile(
          box,
          top(box) + size * 0.8 + (wide ? 18 : 12),
          pileAt(box, Math.max(state.hide ? 0 : filled[j], state.beads[j] ?? 0), wide, rows),
          wide ? 860 : 375,
          state.hide ? 0 : filled[j],
          state.beads[j] ?? 0,
        ),
      );
  }
  parts.push(
    named("words", words.join("") + percentages.join("")),
    beads.length > 0 ? named("shares", beads.join("")) : "",
  );
  return parts.join("");
}

/** Beads side by side, and the distance of two: small piles are as wide as their word, so that neighbors are apart. */
function pileAt(box: WordBox, beads: number, wide: boolean, rows: number): readonly [number, number] {
  const [across, step] = wide ? [5, 8] : rows < 3 ? [7, 3.8] : [10, 3];
  const fit = Math.max(2, Math.floor((box.width + 2 * box.pad) / step));
  return [beads > 40 ? across : Math.min(across, fit), step];
}

/** Beads under a word: filled ones are the head's, outlines the reader's guess. */
function pile(
  box: WordBox,
  y: number,
  [across, step]: readonly [number, number],
  right: number,
  filled: number,
  outlined: number,
): string {
  const half = step * 0.45;
  const width = (across - 1) * step;
  const x0 = clamp(box.x + box.width / 2 - width / 2, half, right - width - half);
  return Array.from({ length: Math.max(filled, outlined) }, (_, n) => {
    const [x, dy] = [x0 + (n % across) * step, Math.floor(n / across) * step];
    return (
      (n < filled ? element("circle", { cx: x, cy: y + dy, r: step * 0.38, class: "fw" }) : "") +
      (n < outlined ? element("circle", { cx: x, cy: y + dy, r: step * 0.45, class: "none lq thin" }) : "")
    );
  }).join("");
}

/** The largest size at which a sentence fits into one line. */
function sizeThatFits(line: Line, width: number, limit: number): number {
  const at = (size: number) => layLine(line.tokens, line.marks, size, Number.POSITIVE_INFINITY, 0);
  const last = at(1).at(-1)!;
  return Math.min(limit, (width - 8) / (last.x + last.width + last.pad));
}

/** Size and first line of a sentence on a wide picture: one row, or more where the words of one would be too small to read. */
function wideRows(line: Line): readonly [size: number, start: number] {
  const one = sizeThatFits(line, 860, 40);
  if (one >= 22) return [one, 240];
  const rows = layLine(line.tokens, line.marks, 24, 860, 0).at(-1)!.row + 1;
  return rows <= 2 ? [24, 130] : [24, Math.max(70, 270 - rows * 30)];
}

/** The same on a narrow picture: the largest size at which the sentence fits. */
function narrowRows(line: Line): readonly [size: number, start: number] {
  const one = sizeThatFits(line, 358, 25);
  if (one >= 20) return [one, 110];
  const fits = (size: number) => {
    const rows = layLine(line.tokens, line.marks, size, 359, 8).at(-1)!.row + 1;
    return rows <= 2 || (rows === 3 && size <= 21) || 66 + (rows - 1) * size * 2.5 < 280;
  };
  return [[25, 21, 18].find(fits) ?? 15, 66];
}

/** The inside of the SVG. */
export function picture(view: WordsView): string {
  const { state, numbers, wide } = view;
  const [first, second] = numbers.lines;
  if (second !== undefined) {
    const size = wide ? 40 : 24;
    // Aligned on the word that looks.
    const lead = (line: Line) => {
      const boxes = layLine(line.tokens, line.marks, size, Number.POSITIVE_INFINITY, 0);
      return boxes[line.looks].x;
    };
    const longest = Math.max(lead(first), lead(second));
    const left = wide ? 90 : 8;
    return (
      sentence(view, first, size, wide ? 200 : 80, wide ? left + longest - lead(first) : undefined, -1) +
      sentence(view, second, size, wide ? 400 : 214, wide ? left + longest - lead(second) : undefined, -1)
    );
  }
  const [size, start] = wide ? wideRows(first) : narrowRows(first);
  const last = layLine(first.tokens, first.marks, size, Number.POSITIVE_INFINITY, 0).at(-1)!;
  // One row is in the middle, as two sentences are.
  const free = 860 - last.x - last.width - last.pad;
  return (
    sentence(view, first, size, start, wide && free > 0 ? free / 2 : undefined, 0) +
    (state.hide
      ? text(wide ? 430 : 187, wide ? 60 : 20, `${BEADS - poured(state.beads)} of ${BEADS} beads left`, {
          class: `mid bold ${wide ? "s18" : ""}`,
        })
      : "")
  );
}
