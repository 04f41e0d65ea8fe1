/**
 * A head as lines between tokens: queries on the left, keys on the right, or arcs next to one column if a text attends to
 * itself. One canvas has all lines; a second canvas above it has the highlighted lines. Columns that do not fit scroll; lines
 * that leave the viewport end in short tails with their number.
 *
 * edges.ts chooses the links (read by reader.ts), layout.ts computes their curves, paint.ts paints them, focus.ts chooses the
 * highlighted ones, pointing.ts handles pointer and keys, columns.ts has the columns of tokens.
 */
import { nothing, render } from "lit";
import type { Block } from "../../../src/store/block.ts";
import { num } from "../../../src/store/text/number.ts";
import { hiddenKeys, isRescaled, type Session, type TokenRole } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { type Axis, indexAt, placeOf } from "../../canvas/axis.ts";
import { type Paints, paintsOf } from "../../canvas/colors.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import { DrawnPane, resizeCanvas } from "../../canvas/drawn-pane.ts";
import { labelWidth } from "../../canvas/labels.ts";
import { shortName } from "../../state/words.ts";
import { Columns } from "./columns.ts";
import { focusLine, totalsLine } from "./controls.ts";
import { stageOf } from "./edges.ts";
import { cellOf, type Focus, type LinesPicture, linksChosen, linksOver, type Over } from "./focus.ts";
import { hasArcs, type LinesLayout, layoutOf, pitches } from "./layout.ts";
import type { Brush, LinksInView, Stroke } from "./paint.ts";
import { begin, drawCursor, drawGaps, drawLinks, drawTails, linksInView, widestOf } from "./paint.ts";
import { LinksReader } from "./reader.ts";
import type { HeadSplit, StrandPicture } from "./together.ts";
import {
  drawSplit,
  drawStrands,
  joined,
  StrandReaders,
  splitLine,
  splitOf,
  strandsOf,
  totalsOfAll,
} from "./together.ts";
import { LinkNumbers } from "./values.ts";

/** What the lines need of their element. */
export interface LinesHost {
  readonly session: Session;
  readonly slices: Slices;
  /** The text of a cell for screen readers; `full` for the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
}

/** The scroll position that shows a token and its neighbors: the nearest one, or, for a distant token, one that centers it. */
function revealed(from: number, place: number, count: number): number {
  if (place < from - count / 2 || place > from + 1.5 * count) return place + 0.5 - count / 2;
  return Math.min(place - 1, Math.max(place + 2 - count, from));
}

export class Lines extends DrawnPane {
  readonly host: LinesHost;
  /** The column that has the keyboard focus. */
  role: TokenRole = "query";
  /** The token or link under the pointer. */
  focusOn: Focus | undefined;
  layout: LinesLayout | undefined;
  picture: LinesPicture | undefined;
  inView: LinksInView | undefined;
  readonly stage = make("div", "stage");
  readonly area = make("div", "area");
  readonly columns = new Columns();
  readonly #base = make("canvas", "cells", HIDDEN);
  readonly #over = make("canvas", "cells", HIDDEN);
  readonly #values = new LinkNumbers();
  readonly #totals = make("p", "kept");
  readonly #focusLine = make("div", "said");
  #paints: Paints | undefined;
  readonly #reader: LinksReader;
  /** The readers of the heads that are drawn together. */
  readonly #strands: StrandReaders;
  #painted = "";
  #overPainted = "";
  #pitch: number | undefined;
  #scroll: [row: number, column: number] = [0, 0];
  #reveal = true;
  /** The widths of lines, for the legend. */
  stroke: Stroke | undefined;

  constructor(host: LinesHost) {
    super("lines");
    this.host = host;
    this.#reader = new LinksReader(host.session, host.slices, () => this.schedule());
    this.#strands = new StrandReaders(host.session, host.slices, () => this.schedule());
    const { all } = this.columns;
    this.stage.append(this.#base, this.#over, this.area, ...all, this.#focusLine, this.#values.root);
    this.root.append(this.stage, this.#totals);
    const { signal } = this.listening;
    for (const name of ["focusin", "focusout"])
      this.root.addEventListener(name, () => this.schedule(), { signal });
  }

  protected override get sized(): HTMLElement {
    return this.stage;
  }

  override connect(): void {
    this.#reveal = true;
    super.connect();
    // The canvas is repainted once the font of its numbers has been loaded.
    document.fonts?.ready.then(() => this.schedule(true));
  }

  override disconnect(): void {
    super.disconnect();
    this.#reader.stop();
    this.#strands.stop();
    this.focusOn = undefined;
    this.#painted = "";
  }

  restyle(): void {
    this.#paints = undefined;
    this.schedule(true);
  }

  protected override outdated(): void {
    this.#painted = "";
  }

  /** Focuses the cursor's token. */
  focus(): void {
    this.columns.focus(this.role);
  }

  /** Scrolls to the cursor's tokens. */
  follow(): void {
    this.#reveal = true;
    this.schedule();
  }

  zoomBy(factor: number): void {
    if (this.layout === undefined) return;
    this.zoomAt(factor, this.layout.top + this.layout.height / 2);
  }

  /** Zooms about a height; a factor of 0 resets the zoom. */
  zoomAt(factor: number, y: number): void {
    const { layout } = this;
    if (layout === undefined) return;
    if (factor === 0) {
      this.#pitch = undefined;
      this.follow();
      return;
    }
    const [min, max] = pitches({
      height: layout.height,
      rows: layout.rows.count,
      columns: layout.columns.count,
    });
    const pitch = Math.max(min, Math.min(max, layout.pitch * factor));
    const at = ({ from }: { from: number }) =>
      from + (y - layout.top) / layout.pitch - (y - layout.top) / pitch;
    this.#pitch = pitch;
    this.#scroll = [at(layout.rows), at(layout.columns)];
    this.schedule();
  }

  /** Scrolls the columns to these first visible places. */
  scrollTo(row: number | undefined, column: number | undefined): void {
    this.#scroll = [row ?? this.#scroll[0], column ?? this.#scroll[1]];
    this.schedule();
  }

  protected paint(): void {
    const { session } = this.host;
    const { block, state } = session;
    const [width, height] = this.size;
    if (block === undefined || width < 60 || height < 60 || !session.ready) return;
    const arcs = state.arcs && hasArcs(block);
    const picture = this.#reader.picture(block, arcs);
    if (picture.links !== this.picture?.links) this.focusOn = undefined;
    this.picture = picture;
    const { links, keep, rows, columns } = picture;
    const layout = this.#lay(block, rows, columns, arcs, width, height);
    this.layout = layout;
    const first = layout.rows.from;
    const last = first + layout.height / layout.pitch + 1;
    this.#reader.read(links, first, last);
    this.#paints ??= paintsOf(this.root);
    const strands = strandsOf(session, this.#paints.weight);
    const pictures = this.#strands.pictures(strands.length > 1 ? strands : [], arcs);
    this.#strands.read(pictures, first, last);
    const together = pictures.length > 1;
    const totals = together ? totalsOfAll(pictures) : links.totals(keep);
    const stage = stageOf(state);
    const brush: Brush = {
      layout,
      stroke: this.#strokeFor(picture, stage === "weights" && state.domain === "absolute" ? 1 : totals.max),
      paints: this.#paints,
      ratio: devicePixelRatio,
    };
    const key = this.#paintLines(brush, picture, pictures);
    const focus = this.#focus(picture);
    const split = together ? splitOf(pictures, focus, state) : undefined;
    const over = split ? joined(split) : focus ? linksOver(picture, focus) : linksChosen(picture, state);
    this.#drawOver(brush, over, focus, key, split);
    const kind = focus?.kind ?? this.#chosenKind();
    const names = session.labels(block);
    this.#values.update(
      // The numbers of several heads would overlap: the line above has them instead.
      (together ? undefined : kind) && {
        layout,
        links: over?.links ?? [],
        kind: kind!,
        stage,
        lang: names.lang,
        rowName: (place) => names.query[indexAt(rows, place) ?? 0] ?? "",
        columnName: (place) => names.key[indexAt(columns, place) ?? 0] ?? "",
      },
    );
    this.root.classList.toggle("arcs", arcs);
    this.root.classList.toggle("together", together);
    this.root.classList.toggle("centered", arcs && layout.left > 0);
    put(this.area, { left: layout.x, top: layout.top, width: layout.width, height: layout.height });
    const description = this.host.describe(state.query, state.key, true) + this.#byHead(pictures);
    this.columns.update({
      session,
      layout,
      picture,
      width,
      active: this.role,
      over,
      description,
    });
    render(totalsLine(session, totals, this.inView!, rows.count), this.#totals);
    const cell = focus && cellOf(picture, focus, state);
    const tokenAt = (role: TokenRole, place: number) =>
      names[role][indexAt(role === "query" ? rows : columns, place) ?? 0] ?? "";
    render(
      cell && split && focus
        ? splitLine(session, split, focus, cell, tokenAt)
        : cell && over
          ? focusLine(session, cell, over)
          : nothing,
      this.#focusLine,
    );
    this.root.classList.toggle("said", cell !== undefined);
  }

  /** The weight of the cursor's link in each head, for screen readers. */
  #byHead(pictures: readonly StrandPicture[]): string {
    const { session } = this.host;
    const { store, state } = session;
    if (pictures.length < 2) return "";
    const parts = pictures.map(({ head, letter }) => {
      const value = store!.cell(session.refOf(head), state.query, state.key, stageOf(state));
      return `${letter} ${shortName(session, head)} ${num(value, "row weights").text}`.trim();
    });
    return ` By head: ${parts.join(", ")}.`;
  }

  /** The widths of lines: relative to `max`, or to the largest weight of each row. Notifies the legend of a change. */
  #strokeFor({ links }: LinesPicture, max: number): Stroke {
    const { session } = this.host;
    const { transfer, domain } = session.state;
    const before = this.stroke;
    const widest = widestOf(this.layout!.pitch);
    if (domain === "row")
      this.stroke = { transfer, widest, domain: (row) => links.peek(row)?.weights[0] ?? 1 };
    else this.stroke = { transfer, widest, domain: max };
    const same = typeof before?.domain === typeof this.stroke.domain;
    if (before?.widest !== widest || !same || (domain !== "row" && before?.domain !== max)) session.changed();
    return this.stroke;
  }

  /** Paints all lines if anything about them has changed; returns the key of the painting. */
  #paintLines(brush: Brush, { links, keep }: LinesPicture, pictures: readonly StrandPicture[]): string {
    const { state, block } = this.host.session;
    const together = pictures.length > 1;
    const { layout, stroke, ratio } = brush;
    const [width, height] = this.size;
    const domain = typeof stroke.domain === "number" ? stroke.domain : "row";
    const key = [
      this.#reader.version,
      together && this.#strands.version,
      together && pictures.map(({ head, color }) => `${head.layer}.${head.head}${color}`),
      ...Object.values(keep),
      stroke.transfer,
      domain,
      JSON.stringify(layout),
      width,
      height,
      ratio,
    ].join(" ");
    if (key === this.#painted) return key;
    for (const canvas of [this.#base, this.#over]) resizeCanvas(canvas, width, height, ratio);
    const each = pictures.map(({ color, picture }) => ({
      color,
      ...linksInView(layout, picture.links, picture.keep),
    }));
    const ofHead = linksInView(layout, links, keep);
    const inView: LinksInView = together
      ? {
          ...ofHead,
          links: each.flatMap((one) => one.links),
          dropped: each.reduce((sum, { dropped }) => sum + dropped, 0),
          droppedMass: each.reduce((sum, { droppedMass }) => sum + droppedMass, 0),
        }
      : ofHead;
    const context = this.#base.getContext("2d")!;
    begin(context, brush);
    if (together) drawStrands(context, brush, each);
    else drawLinks(context, brush, inView.links);
    drawGaps(context, brush, links, hiddenKeys(block!, state).length > 0 && !isRescaled(state));
    if (layout.scrolls) drawTails(context, brush, inView);
    this.inView = inView;
    this.#painted = key;
    this.#overPainted = "";
    this.root.dispatchEvent(new CustomEvent("painted", { detail: { lines: inView.links.length } }));
    return key;
  }

  /** The highlighted token or link: under the pointer, else with the keyboard focus. */
  #focus(picture: LinesPicture): Focus | undefined {
    if (this.focusOn !== undefined) return this.focusOn;
    const { state } = this.host.session;
    const { role } = this;
    if (!this.columns.keyed(role)) return undefined;
    const place = role === "query" ? placeOf(picture.rows, state.query) : placeOf(picture.columns, state.key);
    // In the column of keys, the line from the cursor's query to the key is highlighted.
    const row = placeOf(picture.rows, state.query);
    if (place === undefined || row === undefined) return undefined;
    return role === "query"
      ? { kind: role, place }
      : { kind: "link", link: this.#reader.linkOf(picture, row, place) };
  }

  /** The column where the numbers of the chosen tokens are shown. */
  #chosenKind(): Focus["kind"] | undefined {
    const { rows, columns, pinned: pinnedCell } = this.host.session.state;
    if (rows.length === 0 && columns.length > 0) return "key";
    return rows.length > 0 || pinnedCell !== null ? "query" : undefined;
  }

  #lay(block: Block, rows: Axis, columns: Axis, arcs: boolean, width: number, height: number): LinesLayout {
    const { session } = this.host;
    const { state } = session;
    const names = session.labels(block);
    const maxWidth = Math.min(160, width * 0.3);
    const top = strandsOf(session, "").length > 1 ? 42 : 24;
    const laid = {
      width,
      height: height - top - 4,
      rows: rows.count,
      columns: columns.count,
      names: [labelWidth(names.query, maxWidth), labelWidth(names.key, maxWidth)] as const,
      arcs,
      ahead: arcs && (session.store?.visible(session.ref, 0).lastIndexOf(1) ?? 0) > 0,
      pitch: this.#pitch,
    };
    let layout = { ...layoutOf({ ...laid, scroll: this.#scroll }), top };
    if (this.#reveal) {
      this.#reveal = false;
      const visible = layout.height / layout.pitch;
      // The first drawing centers the cursor's tokens; later ones scroll no more than is needed.
      const opens = this.layout === undefined;
      const into = (from: number, place: number | undefined) =>
        place === undefined ? from : opens ? place + 0.5 - visible / 2 : revealed(from, place, visible);
      const row = placeOf(rows, state.query);
      const column = placeOf(columns, state.key);
      this.#scroll = arcs
        ? [into(into(layout.rows.from, column), row), 0]
        : [into(layout.rows.from, row), into(layout.columns.from, column)];
      layout = { ...layoutOf({ ...laid, scroll: this.#scroll }), top };
    }
    if (layout.scrolls) this.#scroll = [layout.rows.from, layout.columns.from];
    return layout;
  }

  #drawOver(
    brush: Brush,
    over: Over | undefined,
    focus: Focus | undefined,
    base: string,
    split: HeadSplit | undefined,
  ): void {
    const { state } = this.host.session;
    const { rows, columns } = this.picture!;
    const [query, key] = state.pinned ?? [state.query, state.key];
    const ends = [placeOf(rows, query), placeOf(columns, key)] as const;
    const ringed = focus === undefined || state.pinned !== null;
    const cell =
      ringed && ends[0] !== undefined && ends[1] !== undefined
        ? this.#reader.linkOf(this.picture!, ends[0], ends[1])
        : undefined;
    const look = [
      base,
      state.pinned,
      cell?.row,
      cell?.column,
      over?.more,
      split && focus?.kind,
      over && JSON.stringify(over.links),
    ].join(" ");
    if (look === this.#overPainted) return;
    this.#overPainted = look;
    this.#base.classList.toggle("behind", over !== undefined);
    const context = this.#over.getContext("2d")!;
    begin(context, brush);
    if (split) {
      drawStrands(
        context,
        brush,
        split.map(({ strand, over: { links } }) => ({ color: strand.color, links })),
      );
      if (focus && focus.kind !== "link" && !brush.layout.arcs) drawSplit(context, brush, split, focus.kind);
    } else if (over) drawLinks(context, brush, [...over.links].reverse());
    if (cell) drawCursor(context, brush, cell, state.pinned !== null);
  }
}
