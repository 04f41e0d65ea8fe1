/**
 * Several heads in one picture of lines: the pinned ones and the cursor's, each in a color and with the letter of its pin.
 * Pointing at a token splits it into heads: beside every token at the other end a row of squares, one a head, as strong as
 * the head's weight on that link.
 */
import { html, type TemplateResult } from "lit";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import type { Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { figure, quoted } from "../../app/ui.ts";
import { type HeadName, type State, sameHead } from "../../state/state.ts";
import { shortName } from "../../state/words.ts";
import { css } from "../../styles/css.ts";
import { PIN_LETTERS } from "../atlas/letters.ts";
import type { Kept, Link } from "./edges.ts";
import type { Focus, Over, Picture } from "./focus.ts";
import { linksChosen, linksOver } from "./focus.ts";
import { heightOf, outside } from "./layout.ts";
import { type Brush, drawLinks } from "./paint.ts";
import { LinksReader } from "./reader.ts";

/** Colors of pins A to F, on light and on dark pages: distinguished by lightness as well as by hue; each has its letter. */
export const HEAD_COLORS: Readonly<Record<"light" | "dark", readonly string[]>> = {
  light: ["#0b5fa5", "#b34700", "#0a7a5a", "#a0327d", "#6f6400", "#4a4f57"],
  dark: ["#6cb8f2", "#f59a54", "#3fc79a", "#eb8fce", "#e3cf54", "#c9ced6"],
};

/** One head of the picture. */
export interface Strand {
  readonly head: HeadName;
  /** The letter of its pin; "" for the cursor's head where that is not pinned. */
  readonly letter: string;
  readonly color: string;
}

/** The heads that are drawn together; fewer than two: only the cursor's. */
export function strandsOf({ state, dark }: Session, own: string): readonly Strand[] {
  if (!state.together) return [];
  const colors = HEAD_COLORS[dark ? "dark" : "light"];
  const pinned = state.pins.flatMap((head, n) =>
    head.block === state.block ? [{ head, letter: PIN_LETTERS[n], color: colors[n] }] : [],
  );
  const { block, layer, head } = state;
  const cursor = { block, layer, head };
  return pinned.some((one) => sameHead(one.head, cursor))
    ? pinned
    : [...pinned, { head: cursor, letter: "", color: own }];
}

/** A head's links, as they are read. */
export interface StrandPicture extends Strand {
  readonly picture: Picture;
}

/** Reads the links of several heads, each by its own reader; readers are kept while their heads are drawn. */
export class StrandReaders {
  readonly #session: Session;
  readonly #slices: Slices;
  readonly #news: () => void;
  #readers = new Map<string, LinksReader>();
  readonly #asked = new WeakSet<object>();

  constructor(session: Session, slices: Slices, news: () => void) {
    this.#session = session;
    this.#slices = slices;
    this.#news = news;
  }

  /** Grows with every piece of news of any head. */
  get version(): string {
    return [...this.#readers.values()].map(({ version }) => version).join("-");
  }

  stop(): void {
    for (const reader of this.#readers.values()) reader.stop();
    this.#readers.clear();
  }

  /** The pictures of the heads whose numbers are there; the others are loaded, and come later. */
  pictures(strands: readonly Strand[], arcs: boolean): readonly StrandPicture[] {
    const { store, block } = this.#session;
    const kept = new Map<string, LinksReader>();
    const found: StrandPicture[] = [];
    for (const strand of strands) {
      const { head } = strand;
      const ref = this.#session.refOf(head);
      if (!store!.ready(ref)) {
        if (!this.#asked.has(head)) store!.load(ref).then(this.#news, (error) => this.#session.failed(error));
        this.#asked.add(head);
        continue;
      }
      const name = `${head.layer} ${head.head}`;
      const reader =
        this.#readers.get(name) ?? new LinksReader(this.#session, this.#slices, this.#news, head);
      kept.set(name, reader);
      found.push({ ...strand, picture: reader.picture(block!, arcs) });
    }
    for (const [name, reader] of this.#readers) if (kept.get(name) !== reader) reader.stop();
    this.#readers = kept;
    return found;
  }

  /** Reads the rows of some places first, and all others after them. */
  read(pictures: readonly StrandPicture[], from: number, to: number): void {
    for (const { head, picture } of pictures)
      this.#readers.get(`${head.layer} ${head.head}`)?.read(picture.links, from, to);
  }
}

/** What is kept of all heads together. */
export function keptOfAll(pictures: readonly StrandPicture[]): Kept {
  const all = pictures.map(({ picture: { links, keep } }) => links.kept(keep));
  const sum = (part: (kept: Kept) => number) => all.reduce((total, kept) => total + part(kept), 0);
  return {
    edges: sum(({ edges }) => edges),
    of: sum(({ of }) => of),
    shown: sum(({ shown }) => shown),
    mass: sum(({ mass }) => mass),
    cut: sum(({ cut }) => cut),
    rows: Math.min(...all.map(({ rows }) => rows)),
    max: Math.max(...all.map(({ max }) => max)),
    strange: sum((kept) => kept.strange),
  };
}

/** Draws links of several heads, the weakest of all first, each in its head's color. */
export function drawStrands(
  context: CanvasRenderingContext2D,
  brush: Brush,
  strands: readonly { readonly color: string; readonly links: readonly Link[] }[],
): void {
  const all = strands.flatMap(({ color, links }) => links.map((link) => ({ color, link })));
  all.sort((a, b) => a.link.weight - b.link.weight);
  for (const { color, link } of all)
    drawLinks(context, { ...brush, paints: { ...brush.paints, weight: color } }, [link]);
}

/** What stands out, of each head. */
export type Split = readonly { readonly strand: StrandPicture; readonly over: Over }[];

/** The links of what is pointed at, else of what is chosen, of each head; undefined where nothing is. */
export function splitOf(
  pictures: readonly StrandPicture[],
  focus: Focus | undefined,
  state: State,
): Split | undefined {
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

/** All of it as one list, the strongest first. */
export function joined(split: Split): Over {
  const links = split.flatMap(({ over }) => over.links).sort((a, b) => b.weight - a.weight);
  return { links, more: split.reduce((sum, { over }) => sum + over.more, 0) };
}

/** Pixels of a square, and between two. */
const SQUARE = 7;
const STEP = 9;

/** The squares at the other ends of a token's links: a column of them for each head, in the order of the letters. */
export function drawSplit(
  context: CanvasRenderingContext2D,
  { layout, stroke, paints }: Brush,
  found: Split,
  kind: Focus["kind"],
): void {
  const atRows = kind === "key";
  const column = atRows ? layout.rows : layout.columns;
  const size = Math.min(SQUARE, Math.max(3, layout.pitch - 2));
  const width = found.length * STEP;
  const x = atRows ? layout.left + 3 : layout.right - 3 - width;
  const places = new Set(
    found.flatMap(({ over }) => over.links.map((link) => (atRows ? link.row : link.column))),
  );
  for (const place of places) {
    if (outside(layout, column, place) !== 0) continue;
    const y = heightOf(layout, column, place) - size / 2;
    context.globalAlpha = 1;
    context.fillStyle = paints.paper;
    context.fillRect(x - 2, y - 2, width + 2, size + 4);
    for (const [n, { strand, over }] of found.entries()) {
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

/** Each head's strongest: "‹it› → A ‹cat› 0.68 · B ‹mat› 0.12", or of one link: "‹it› → ‹cat›: A 0.68 · B 0.12". */
export function splitLine(
  session: Session,
  found: Split,
  focus: Focus,
  cell: { readonly query: number; readonly key: number },
  tokenAt: (side: "query" | "key", place: number) => string,
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
  return html`${start} ${found.map(({ strand, over }, n) => {
    const [first] = over.links;
    const end =
      focus.kind === "link" || first === undefined
        ? ""
        : focus.kind === "query"
          ? quoted(tokenAt("key", first.column), lang.key)
          : html`from ${quoted(tokenAt("query", first.row), lang.query)}`;
    const share = first === undefined ? "–" : figure(first.weight, "row weights", { digits: 2 });
    return html`${n > 0 ? " · " : ""}${mark(session, strand)} ${end} ${share}`;
  })}`;
}

/** A head's letter in its color; the name of a head that has none. */
function mark(session: Session, { letter, color, head }: Strand): TemplateResult {
  return html`<b class="strand" ${css({ color })}>${letter === "" ? shortName(session, head) : letter}</b>`;
}

/** Which color and letter is which head. */
export function strandsLegend(session: Session, strands: readonly Strand[]): TemplateResult {
  return html`<span class="legend strands" aria-label="Heads by color">${strands.map(
    (strand) => html`<span><i class="swatch" aria-hidden="true" ${css({ background: strand.color })}></i>
      ${strand.letter === "" ? "" : html`<b>${strand.letter}</b>`} ${shortName(session, strand.head)}</span>`,
  )}</span>`;
}
