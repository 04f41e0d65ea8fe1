/**
 * Several heads in one picture of lines: the pinned ones and the cursor's, each with its color and its letter. Hovering a token
 * splits its links by head: each token at the other end gets a row of swatches, one for each head, whose opacity shows the
 * weight of the head's link.
 */
import { html, type TemplateResult } from "lit";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import { css } from "../../../ui/css.ts";
import type { Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { numeral, quoted } from "../../app/ui.ts";
import { type HeadName, PIN_LETTERS, type State, sameHead } from "../../state/state.ts";
import { shortName } from "../../state/words.ts";
import type { LinkTotals, WeightedLink } from "./edges.ts";
import type { Focus, LinesPicture, Over } from "./focus.ts";
import { linksChosen, linksOver } from "./focus.ts";
import { heightOf, outside } from "./layout.ts";
import { type Brush, drawLink, inside } from "./paint.ts";
import { LinksReader } from "./reader.ts";

/** The colors of pins A to F on light and dark pages, distinguished by lightness as well as by hue. */
const HEAD_COLORS: Readonly<Record<"light" | "dark", readonly string[]>> = {
  light: ["#0b5fa5", "#b34700", "#0a7a5a", "#a0327d", "#6f6400", "#4a4f57"],
  dark: ["#6cb8f2", "#f59a54", "#3fc79a", "#eb8fce", "#e3cf54", "#c9ced6"],
};

/** One head of the picture. */
export interface Strand {
  readonly head: HeadName;
  /** The letter of its pin; "" for the cursor's head if it is not pinned. */
  readonly letter: string;
  readonly color: string;
}

/** The heads that are drawn together; with fewer than two, only the cursor's head is drawn. */
export function strandsOf({ state, dark, pins }: Session, color: string): readonly Strand[] {
  if (!state.together) return [];
  const colors = HEAD_COLORS[dark ? "dark" : "light"];
  const at = (head: HeadName) => state.pins.indexOf(head);
  const pinned = pins
    .filter((head) => head.block === state.block)
    .map((head) => ({ head, letter: PIN_LETTERS[at(head)], color: colors[at(head)] }));
  const { block, layer, head } = state;
  const cursor = { block, layer, head };
  return pinned.some((one) => sameHead(one.head, cursor))
    ? pinned
    : [...pinned, { head: cursor, letter: "", color: color }];
}

/** A head with its links. */
export interface StrandPicture extends Strand {
  readonly picture: LinesPicture;
}

/** Reads the links of several heads, with one reader for each head that is drawn. */
export class StrandReaders {
  readonly #session: Session;
  readonly #slices: Slices;
  readonly #changed: () => void;
  #readers = new Map<string, LinksReader>();
  readonly #requested = new WeakSet<object>();

  constructor(session: Session, slices: Slices, changed: () => void) {
    this.#session = session;
    this.#slices = slices;
    this.#changed = changed;
  }

  /** Changes when more rows of any head have been read. */
  get version(): string {
    return [...this.#readers.values()].map(({ version }) => version).join("-");
  }

  stop(): void {
    for (const reader of this.#readers.values()) reader.stop();
    this.#readers.clear();
  }

  /** The pictures of the heads that are in memory; the others are loaded. */
  pictures(strands: readonly Strand[], arcs: boolean): readonly StrandPicture[] {
    const { store, block } = this.#session;
    const readers = new Map<string, LinksReader>();
    const pictures: StrandPicture[] = [];
    for (const strand of strands) {
      const { head } = strand;
      const ref = this.#session.refOf(head);
      if (!store!.ready(ref)) {
        if (!this.#requested.has(head))
          store!.load(ref).then(this.#changed, (error) => this.#session.failed(error));
        this.#requested.add(head);
        continue;
      }
      const name = `${head.layer} ${head.head}`;
      const reader =
        this.#readers.get(name) ?? new LinksReader(this.#session, this.#slices, this.#changed, head);
      readers.set(name, reader);
      pictures.push({ ...strand, picture: reader.picture(block!, arcs) });
    }
    for (const [name, reader] of this.#readers) if (readers.get(name) !== reader) reader.stop();
    this.#readers = readers;
    return pictures;
  }

  /** Reads the rows of a range of places first, then all others. */
  read(pictures: readonly StrandPicture[], from: number, to: number): void {
    for (const { head, picture } of pictures)
      this.#readers.get(`${head.layer} ${head.head}`)?.read(picture.links, from, to);
  }
}

/** The totals of all heads. */
export function totalsOfAll(pictures: readonly StrandPicture[]): LinkTotals {
  const all = pictures.map(({ picture: { links, keep } }) => links.totals(keep));
  return all.reduce((a, b) => ({
    edges: a.edges + b.edges,
    of: a.of + b.of,
    shown: a.shown + b.shown,
    mass: a.mass + b.mass,
    cut: a.cut + b.cut,
    rows: Math.min(a.rows, b.rows),
    max: Math.max(a.max, b.max),
    nonFinite: a.nonFinite + b.nonFinite,
  }));
}

/** Draws the links of several heads, the weakest first, each in the color of its head. */
export function drawStrands(
  context: CanvasRenderingContext2D,
  brush: Brush,
  strands: readonly { readonly color: string; readonly links: readonly WeightedLink[] }[],
): void {
  const all = strands.flatMap(({ color, links }) => links.map((link) => ({ color, link })));
  all.sort((a, b) => a.link.weight - b.link.weight);
  inside(context, brush.layout, () => {
    for (const { color, link } of all) {
      context.strokeStyle = color;
      drawLink(context, brush, link);
    }
  });
}

/** The highlighted links of each head. */
export type HeadSplit = readonly { readonly strand: StrandPicture; readonly over: Over }[];

/** For each head, the links of the highlighted token, else of the selection; undefined if there is neither. */
export function splitOf(
  pictures: readonly StrandPicture[],
  focus: Focus | undefined,
  state: State,
): HeadSplit | undefined {
  if (focus === undefined) {
    const chosen = pictures.flatMap((strand) => {
      const over = linksChosen(strand.picture, state);
      return over ? [{ strand, over }] : [];
    });
    return chosen.length === 0 ? undefined : chosen;
  }
  return pictures.map((strand) => {
    const { picture } = strand;
    if (focus.kind !== "link") return { strand, over: linksOver(picture, focus) };
    const { row, column } = focus.link;
    const { places, weights } = picture.links.row(row);
    const n = places.indexOf(column);
    return { strand, over: { links: n < 0 ? [] : [{ row, column, weight: weights[n] }], more: 0 } };
  });
}

/** The links of all heads as one list, the strongest first. */
export function joined(split: HeadSplit): Over {
  const links = split.flatMap(({ over }) => over.links).sort((a, b) => b.weight - a.weight);
  return { links, more: split.reduce((sum, { over }) => sum + over.more, 0) };
}

/** The size of a swatch, and the distance of two, in pixels. */
const SWATCH = 7;
const STEP = 9;

/** Draws the swatches at the other ends of a token's links, one column for each head, in the order of the letters. */
export function drawSplit(
  context: CanvasRenderingContext2D,
  { layout, stroke, paints }: Brush,
  split: HeadSplit,
  kind: Focus["kind"],
): void {
  const atRows = kind === "key";
  const column = atRows ? layout.rows : layout.columns;
  const size = Math.min(SWATCH, Math.max(3, layout.pitch - 2));
  const width = split.length * STEP;
  const x = atRows ? layout.left + 3 : layout.right - 3 - width;
  const places = new Set(
    split.flatMap(({ over }) => over.links.map((link) => (atRows ? link.row : link.column))),
  );
  for (const place of places) {
    if (outside(layout, column, place) !== 0) continue;
    const y = heightOf(layout, column, place) - size / 2;
    context.globalAlpha = 1;
    context.fillStyle = paints.paper;
    context.fillRect(x - 2, y - 2, width + 2, size + 4);
    for (const [n, { strand, over }] of split.entries()) {
      const link = over.links.find((one) => (atRows ? one.row : one.column) === place);
      const full = typeof stroke.domain === "number" ? stroke.domain : stroke.domain(link?.row ?? 0);
      context.globalAlpha = 1;
      context.strokeStyle = paints.line;
      context.lineWidth = 1;
      context.strokeRect(x + n * STEP + 0.5, y + 0.5, size - 1, size - 1);
      if (link === undefined) continue;
      context.globalAlpha = Math.max(0.08, codeOf(link.weight, stroke.transfer, full) / 255);
      context.fillStyle = strand.color;
      context.fillRect(x + n * STEP, y, size, size);
    }
  }
  context.globalAlpha = 1;
}

/** The strongest link of each head: "‹it› → A ‹cat› 0.68 · B ‹mat› 0.12", or one link: "‹it› → ‹cat›: A 0.68 · B 0.12". */
export function splitLine(
  session: Session,
  split: HeadSplit,
  focus: Focus,
  cell: { readonly query: number; readonly key: number },
  tokenAt: (role: "query" | "key", place: number) => string,
): TemplateResult {
  const names = session.labels(session.block!);
  const { lang } = names;
  const token =
    focus.kind === "query"
      ? quoted(names.query[cell.query], lang.query)
      : quoted(names.key[cell.key], lang.key);
  const start =
    focus.kind === "link"
      ? html`${quoted(names.query[cell.query], lang.query)} → ${token}:`
      : focus.kind === "query"
        ? html`${token} →`
        : html`→ ${token}`;
  return html`${start} ${split.map(({ strand, over }, n) => {
    const [first] = over.links;
    const end =
      focus.kind === "link" || first === undefined
        ? ""
        : focus.kind === "query"
          ? quoted(tokenAt("key", first.column), lang.key)
          : html`from ${quoted(tokenAt("query", first.row), lang.query)}`;
    const share = first === undefined ? "–" : numeral(first.weight, "row weights", { digits: 2 });
    return html`${n > 0 ? " · " : ""}${mark(session, strand)} ${end} ${share}`;
  })}`;
}

/** The letter of a head in its color, or its name if it has no letter. */
function mark(session: Session, { letter, color, head }: Strand): TemplateResult {
  return html`<b class="strand" ${css({ color })}>${letter === "" ? shortName(session, head) : letter}</b>`;
}

/** The legend of the heads: color, letter and name. */
export function strandsLegend(session: Session, strands: readonly Strand[]): TemplateResult {
  return html`<span class="legend strands" aria-label="Heads by color">${strands.map(
    (strand) => html`<span><i class="swatch" aria-hidden="true" ${css({ background: strand.color })}></i>
      ${strand.letter === "" ? "" : html`<b>${strand.letter}</b>`} ${shortName(session, strand.head)}</span>`,
  )}</span>`;
}
