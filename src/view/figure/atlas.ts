/**
 * The atlas: a thumbnail of every head of a block, one row per layer and one column per head. Thumbnails are the store's overviews,
 * pooled so that patterns one token wide stay visible. Each is a lossless PNG; labels and frames are drawn around it.
 */
import { writePng } from "../../io/png.ts";
import type { HeadRef } from "../../store/block.ts";
import type { Overview } from "../../store/measures/pool.ts";
import { codeOf } from "../../store/measures/transfer.ts";
import { wrap } from "../../store/text/label.ts";
import { base64 } from "../base64.ts";
import { coordinate, element, text } from "../plot/svg.ts";
import { type CellColors, cellColors, hatchOf, rampOf } from "./cells.ts";
import type { Figure } from "./options.ts";
import type { FigurePart, Theme } from "./sheet.ts";
import { MARK } from "./shown.ts";

const FONT = 6.5;
const LEFT = 26;
const GAP = 3;
/** Maximum width and height of a thumbnail, in pixels. */
export const THUMBNAIL = 64;

/** Draws the atlas at the top of a sheet `width` points wide. */
export async function drawAtlas(
  figure: Figure,
  theme: Theme,
  width: number,
  drawnMarks: Set<number>,
): Promise<FigurePart> {
  const { store, block, ref } = figure;
  const { layers, heads, Nq, Nk } = block;
  const size = Math.min(60, (width - LEFT - (heads - 1) * GAP) / Math.max(1, heads));
  const longest = Math.max(1, Nq, Nk);
  const [wide, high] = [(size * Nk) / longest, (size * Nq) / longest];
  const top = 2 * FONT + 8;
  const lines: string[] = [];
  const places: { x: number; y: number; width: number; height: number }[] = [];
  const font = { "font-size": FONT, fill: theme.second };
  const colors = cellColors(rampOf(figure, false), theme, false, true);
  const codes = overviewCodes(figure.transfer);
  for (let head = 0; head < heads; head++) {
    const label = size < 9 && head % 2 === 1 ? "" : String(head);
    lines.push(
      text(LEFT + head * (size + GAP) + wide / 2, top - 4, label, { ...font, "text-anchor": "middle" }),
    );
  }
  for (const [row, layer] of layers.entries()) {
    const y = top + row * (high + GAP);
    lines.push(text(LEFT - 5, y + high / 2 + FONT * 0.35, String(layer), { ...font, "text-anchor": "end" }));
    for (let head = 0; head < heads; head++) {
      const x = LEFT + head * (size + GAP);
      const one: HeadRef = { block: ref.block, layer, head };
      const overview = await store.overview(one, THUMBNAIL);
      const href = `data:image/png;base64,${base64(thumbnail(overview, figure.pool, codes, colors, drawnMarks))}`;
      const place = { x, y, width: wide, height: high };
      places.push(place);
      const crisp = { preserveAspectRatio: "none", "image-rendering": "pixelated" };
      lines.push(element("image", { ...place, ...crisp, href }));
      const chosen = figure.marked && layer === ref.layer && head === ref.head;
      const frame = { stroke: chosen ? theme.query : theme.line, "stroke-width": chosen ? 1.2 : 0.5 };
      lines.push(element("rect", { ...place, fill: "none", ...frame }));
    }
  }
  const bottom = top + layers.length * (high + GAP) + FONT;
  const middleX = LEFT + (heads * (size + GAP) - GAP) / 2;
  const middleY = top + (layers.length * (high + GAP) - GAP) / 2;
  const title = { ...font, fill: theme.third, "text-anchor": "middle" };
  const transform = `rotate(-90 ${coordinate(FONT)} ${coordinate(middleY)})`;
  lines.push(text(middleX, FONT, "head", title), text(FONT, middleY, "layer", { ...title, transform }));
  const names = block.headNames?.map((name, head) => `${head} ${name}`).join(" · ") ?? "";
  const notes = names === "" ? [] : wrap(names, Math.floor((width - LEFT) / (FONT * 0.5)));
  for (const [n, line] of notes.entries())
    lines.push(text(LEFT, bottom + n * (FONT + 2), line, { "font-size": FONT, fill: theme.third }));
  // Masked cells are transparent, so the hatch below them is visible.
  const hatch = hatchOf(theme, 1);
  const under = drawnMarks.has(MARK.masked)
    ? [hatch.defs, ...places.map((place) => element("rect", { ...place, fill: hatch.fill }))]
    : [];
  return {
    svg: [...under, ...lines].join("\n"),
    height: bottom + (notes.length === 0 ? -FONT : 4 + (notes.length - 1) * (FONT + 2)),
  };
}

/** The code of a weight on the figure's scale, from its code in an overview, which is 255·√w. */
export function overviewCodes(transfer: Figure["transfer"]): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => codeOf((code / 255) ** 2, transfer, 1));
}

/** One thumbnail as a PNG; masked cells are transparent. */
function thumbnail(
  overview: Overview,
  pool: "max" | "mean",
  codes: Uint8Array,
  colors: CellColors,
  drawnMarks: Set<number>,
): Uint8Array {
  const { rows, columns, marks } = overview;
  const empty = rows === 0 || columns === 0;
  const png = writePng(empty ? 1 : columns, empty ? 1 : rows, colors.options);
  for (let r = 0; r < (empty ? 1 : rows); r++) {
    const part = (all: Uint8Array) =>
      empty ? Uint8Array.of(MARK.masked) : all.subarray(r * columns, (r + 1) * columns);
    const row = { codes: part(overview[pool]).map((code) => codes[code]), marks: part(marks) };
    for (const mark of row.marks) drawnMarks.add(mark);
    png.row(colors.pixels(row));
  }
  return png.finish();
}
