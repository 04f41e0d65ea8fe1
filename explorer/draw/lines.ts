/**
 * A head as lines between tokens: queries on the left, keys on the right, or arcs beside one column where a text attends
 * to itself. All lines are painted once, on a canvas; whatever is pointed at is painted on a second one above it. Tokens
 * that do not fit scroll, and what leaves the picture ends in a stub that says how many.
 *
 * Which links are kept is lines-edges.ts, where they run lines-layout.ts, how they are painted lines-paint.ts; pointing is
 * lines-pointing.ts, and the columns for keyboards and screen readers lines-list.ts.
 */
import { nothing, render } from "lit";
import type { Block } from "../../src/view/store/types.ts";
import { axesOf, hiddenKeys, type Session } from "../session.ts";
import type { Slices } from "../slices.ts";
import type { State } from "../state/state.ts";
import { focusLine, keptLine } from "../views/lines.ts";
import { type Axis, axisOf, indexAt, nearest, placeOf } from "./axis.ts";
import { type Paints, paintsOf } from "./colours.ts";
import type { Box } from "./frame.ts";
import { Labels, roomFor } from "./labels.ts";
import { type Link, Links, linksOf, NO_LINKS, stageOf } from "./lines-edges.ts";
import { cellOf, type Focus, linksChosen, linksOver, type Over, type Picture } from "./lines-focus.ts";
import { hasArcs, heightOf, type Layout, layoutOf, outside, pitches } from "./lines-layout.ts";
import { type Listed, TokenList } from "./lines-list.ts";
import {
  type Brush,
  begin,
  drawCursor,
  drawGaps,
  drawLinks,
  drawStubs,
  type Seen,
  seenOf,
  widestOf,
} from "./lines-paint.ts";
import { keyAlong, pointAlong } from "./lines-pointing.ts";
import { Values } from "./lines-values.ts";

/** What the lines need of the element they are in. */
export interface LinesHost {
  readonly session: Session;
  readonly slices: Slices;
  /** What a cell says; `full` where it is the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
}

/** Milliseconds of one frame that rows may be read in, and between two pictures while more come. */
const READING = 8;
const NEWS = 150;

const make = <K extends keyof HTMLElementTagNameMap>(tag: K, name: string): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag);
  element.className = name;
  return element;
};

export class Lines {
  readonly root = make("div", "lines");
  readonly host: LinesHost;
  /** The keyboard's column. */
  side: "query" | "key" = "query";
  /** What the pointer is on. */
  focusOn: Focus | undefined;
  layout: Layout | undefined;
  picture: Picture | undefined;
  seen: Seen | undefined;
  readonly stage = make("div", "stage");
  readonly area = make("div", "area");
  /** The two columns: they scroll by themselves. */
  readonly columns = { query: make("div", "column queries"), key: make("div", "column keys") } as const;
  readonly #base = make("canvas", "cells");
  readonly #over = make("canvas", "cells");
  readonly #labels = { query: new Labels("rows"), key: new Labels("rows") } as const;
  readonly #spacers = { query: make("div", "spacer"), key: make("div", "spacer") } as const;
  readonly #headings = { query: make("div", "heading"), key: make("div", "heading") } as const;
  readonly #lists = { query: new TokenList(), key: new TokenList() } as const;
  readonly #values = new Values();
  readonly #kept = make("p", "kept");
  readonly #said = make("div", "said");
  readonly #probe = document.createElement("i");
  readonly #stop = new AbortController();
  readonly #sizes: ResizeObserver;
  #size: readonly [number, number] = [0, 0];
  #paints: Paints | undefined;
  #key = "";
  #painted = "";
  #overPainted = "";
  #version = 0;
  #told = 0;
  #reading = false;
  #due = 0;
  #pitch: number | undefined;
  #scroll: [row: number, column: number] = [0, 0];
  #reveal = true;
  /** The weight of the widest line, for the legend; undefined: each row's own. */
  domain: number | undefined;

  constructor(host: LinesHost) {
    this.host = host;
    this.#probe.hidden = true;
    for (const canvas of [this.#base, this.#over]) canvas.setAttribute("aria-hidden", "true");
    for (const side of ["query", "key"] as const) {
      const stuck = make("div", "stuck");
      stuck.append(this.#labels[side].root);
      this.columns[side].append(stuck, this.#spacers[side]);
      this.columns[side].tabIndex = -1;
      this.#headings[side].setAttribute("aria-hidden", "true");
    }
    this.#labels.key.root.classList.add("keys");
    const { query, key } = this.columns;
    const headings = [this.#headings.query, this.#headings.key];
    const lists = [this.#lists.query.root, this.#lists.key.root];
    this.stage.append(
      this.#base,
      this.#over,
      this.area,
      query,
      key,
      ...headings,
      this.#values.root,
      ...lists,
    );
    this.root.append(this.stage, this.#kept, this.#probe);
    pointAlong(this, this.#stop.signal);
    this.root.addEventListener("keydown", (event) => keyAlong(this, event), { signal: this.#stop.signal });
    this.#sizes = new ResizeObserver(() => this.#measure());
  }

  connect(): void {
    this.#sizes.observe(this.stage);
    this.#reveal = true;
    this.#measure();
    // Numbers are written on the canvas once their font is there.
    document.fonts?.ready.then(() => this.schedule(true));
  }

  disconnect(): void {
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    this.#reading = false;
    this.focusOn = undefined;
    this.#painted = "";
  }

  dispose(): void {
    this.disconnect();
    this.#stop.abort();
  }

  restyle(): void {
    this.#paints = undefined;
    this.schedule(true);
  }

  schedule(repaint = false): void {
    if (repaint) this.#painted = "";
    if (this.#due === 0 && this.root.isConnected) this.#due = requestAnimationFrame(() => this.#draw());
  }

  /** Puts the keyboard's focus on the cursor's token. */
  focus(): void {
    if (this.#lists[this.side].root.hidden) return;
    this.#lists[this.side].focus();
  }

  /** Scrolls as little as shows the cursor's tokens. */
  follow(): void {
    this.#reveal = true;
    this.schedule();
  }

  zoomBy(factor: number): void {
    if (this.layout === undefined) return;
    this.zoomAt(factor, this.layout.top + this.layout.height / 2);
  }

  /** Zooms so that the tokens at a height stay there; 0: everything as it was at first. */
  zoomAt(factor: number, y: number): void {
    const { layout } = this;
    if (layout === undefined) return;
    if (factor === 0) {
      this.#pitch = undefined;
      this.follow();
      return;
    }
    const [least, most] = pitches({
      height: layout.height,
      rows: layout.rows.count,
      columns: layout.columns.count,
    });
    const pitch = Math.max(least, Math.min(most, layout.pitch * factor));
    const at = ({ from }: { from: number }) =>
      from + (y - layout.top) / layout.pitch - (y - layout.top) / pitch;
    this.#pitch = pitch;
    this.#scroll = [at(layout.rows), at(layout.columns)];
    this.schedule();
  }

  /** Scrolls columns to where the first places seen are. */
  scrollTo(row: number | undefined, column: number | undefined): void {
    this.#scroll = [row ?? this.#scroll[0], column ?? this.#scroll[1]];
    this.schedule();
  }

  #measure(): void {
    this.#size = [this.stage.clientWidth, this.stage.clientHeight];
    this.schedule(true);
  }

  /** The axes of the picture: arcs stand on one that has the tokens of both. */
  #axesOf(block: Block, state: State, arcs: boolean): { rows: Axis; columns: Axis } {
    const axes = axesOf(block, state);
    if (!arcs) return axes;
    const runs = [...axes.rows.runs, ...axes.columns.runs].map(({ start, end }) => [start, end] as const);
    const one = axisOf(block.Nk, runs);
    return { rows: one, columns: one };
  }

  /** The links of the head as it is shown, read anew where something about them has changed. */
  #linksOf(block: Block, state: State, rows: Axis, columns: Axis): Links {
    const { session } = this.host;
    const store = session.store!;
    const { ref } = session;
    const stage = stageOf(state);
    const hidden = hiddenKeys(block, { ...state, stage });
    const own = axesOf(block, state);
    const runs = [...own.rows.runs, null, ...own.columns.runs].map((run) => run && `${run.start}-${run.end}`);
    const key = [
      ref.block,
      ref.layer,
      ref.head,
      stage,
      hidden,
      state.renormalise,
      runs,
      rows === columns,
    ].join(" ");
    if (key !== this.#key || this.picture === undefined || this.#of !== store) {
      this.#key = key;
      this.#of = store;
      this.#version++;
      this.#reading = false;
      this.focusOn = undefined;
      return new Links(rows, columns, (query) =>
        placeOf(own.rows, query) === undefined
          ? NO_LINKS
          : linksOf(store.row(ref, query, stage), columns, hidden, state.renormalise, own.columns),
      );
    }
    return this.picture.links;
  }
  #of: unknown;

  #draw(): void {
    this.#due = 0;
    const { session } = this.host;
    const { block, state } = session;
    const [width, height] = this.#size;
    if (block === undefined || width < 60 || height < 60 || !session.ready) return;
    const arcs = state.arcs && hasArcs(block);
    const { rows, columns } = this.#axesOf(block, state, arcs);
    const links = this.#linksOf(block, state, rows, columns);
    const keep = { keep: state.keep, top: state.top, mass: state.mass };
    this.picture = { links, keep, rows, columns };
    this.layout = this.#lay(block, rows, columns, arcs, width, height);
    this.#gather(links);
    this.#paints ??= paintsOf(this.root, this.#probe);
    const kept = links.kept(keep);
    const stage = stageOf(state);
    this.domain =
      state.domain === "row" ? undefined : stage === "weights" && state.domain === "absolute" ? 1 : kept.max;
    const brush: Brush = {
      layout: this.layout,
      stroke: {
        transfer: state.transfer,
        widest: widestOf(this.layout.pitch),
        domain: this.domain ?? ((row: number) => links.known(row)?.weights[0] ?? 1),
      },
      paints: this.#paints,
      ratio: devicePixelRatio,
    };
    const { layout } = this;
    const look = [this.#version, ...Object.values(keep), state.transfer, this.domain, JSON.stringify(layout)];
    const key = [...look, width, height, brush.ratio].join(" ");
    if (key !== this.#painted) {
      this.#resize(width, height, brush.ratio);
      this.seen = seenOf(layout, links, keep);
      const context = this.#base.getContext("2d")!;
      begin(context, brush);
      drawLinks(context, brush, this.seen.links);
      drawGaps(context, brush, links, hiddenKeys(block, state).length > 0 && !state.renormalise);
      if (layout.scrolls) drawStubs(context, brush, this.seen);
      this.#painted = key;
      this.#overPainted = "";
      this.root.dispatchEvent(new CustomEvent("painted", { detail: { lines: this.seen.links.length } }));
    }
    const focus = this.#focus();
    const over = focus ? linksOver(this.picture, focus) : linksChosen(this.picture, state);
    this.#drawOver(brush, over, focus, key);
    const kind = focus?.kind ?? this.#chosenKind();
    const names = session.labels(block);
    this.#values.update(
      kind && {
        layout,
        links: over?.links ?? [],
        kind,
        stage,
        rowName: (place) => names.query[indexAt(rows, place) ?? 0] ?? "",
        columnName: (place) => names.key[indexAt(columns, place) ?? 0] ?? "",
      },
    );
    this.#place(block, over);
    render(keptLine(session, kept, this.seen!, rows.count), this.#kept);
    const cell = focus && cellOf(this.picture, focus, state);
    render(cell && over ? focusLine(session, cell, over) : nothing, this.#said);
    this.root.classList.toggle("said", cell !== undefined);
  }

  /** What stands out: under the pointer, else where the keyboard is. */
  #focus(): Focus | undefined {
    if (this.focusOn !== undefined) return this.focusOn;
    const { state } = this.host.session;
    const { side, picture } = this;
    if (!this.#lists[side].root.matches(":has(:focus-visible)")) return undefined;
    const place =
      side === "query" ? placeOf(picture!.rows, state.query) : placeOf(picture!.columns, state.key);
    // In the keys' column one line is meant: the query's to that key.
    const row = placeOf(picture!.rows, state.query);
    if (place === undefined || row === undefined) return undefined;
    return side === "query" ? { kind: side, place } : { kind: "link", link: this.#linkOf(row, place) };
  }

  /** Where numbers stand of what is chosen. */
  #chosenKind(): Focus["kind"] | undefined {
    const { rows, columns, held } = this.host.session.state;
    if (rows.length === 0 && columns.length > 0) return "key";
    return rows.length > 0 || held !== null ? "query" : undefined;
  }

  /** The link of two places with its weight, kept or not. */
  #linkOf(row: number, column: number): Link {
    const { session } = this.host;
    const links = this.picture!.links.row(row);
    const n = links.places.indexOf(column);
    const query = indexAt(this.picture!.rows, row) ?? 0;
    const key = indexAt(this.picture!.columns, column) ?? 0;
    const weight = n >= 0 ? links.weights[n] : session.row(query, stageOf(session.state))[key];
    return { row, column, weight };
  }

  #lay(block: Block, rows: Axis, columns: Axis, arcs: boolean, width: number, height: number): Layout {
    const { session } = this.host;
    const { state } = session;
    const names = session.labels(block);
    const most = Math.min(160, width * 0.3);
    const top = 24;
    const laid = {
      width,
      height: height - top - 4,
      rows: rows.count,
      columns: columns.count,
      names: [roomFor(names.query, most), roomFor(names.key, most)] as const,
      arcs,
      ahead: arcs && (session.store?.visible(session.ref, 0).lastIndexOf(1) ?? 0) > 0,
      pitch: this.#pitch,
    };
    let layout = { ...layoutOf({ ...laid, scroll: this.#scroll }), top };
    if (this.#reveal) {
      this.#reveal = false;
      const seen = layout.height / layout.pitch;
      const into = (from: number, place: number | undefined) =>
        place === undefined ? from : Math.min(place - 1, Math.max(place + 2 - seen, from));
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

  /** Reads what is on screen at once, as far as a frame allows, and the rest in slices. */
  #gather(links: Links): void {
    if (links.whole || this.#reading) return;
    const layout = this.layout!;
    links.prefer(layout.rows.from, layout.rows.from + layout.height / layout.pitch);
    const end = performance.now() + READING;
    while (performance.now() < end) if (!links.step()) break;
    this.#version++;
    if (links.whole) return;
    this.#reading = true;
    this.#told = performance.now();
    this.host.slices.add(() => {
      if (links !== this.picture?.links || !this.root.isConnected) return false;
      const more = links.step();
      if (!more || performance.now() - this.#told > NEWS) {
        this.#told = performance.now();
        this.#version++;
        this.schedule();
      }
      return more;
    });
  }

  #resize(width: number, height: number, ratio: number): void {
    for (const canvas of [this.#base, this.#over]) {
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width === w && canvas.height === h) continue;
      canvas.width = w;
      canvas.height = h;
      canvas.style.setProperty("width", `${width}px`);
      canvas.style.setProperty("height", `${height}px`);
    }
  }

  #drawOver(brush: Brush, over: Over | undefined, focus: Focus | undefined, base: string): void {
    const { state } = this.host.session;
    const { rows, columns } = this.picture!;
    const [query, key] = state.held ?? [state.query, state.key];
    const ends = [placeOf(rows, query), placeOf(columns, key)] as const;
    const ringed = focus === undefined || state.held !== null;
    const cell =
      ringed && ends[0] !== undefined && ends[1] !== undefined ? this.#linkOf(ends[0], ends[1]) : undefined;
    const look = [
      base,
      state.held,
      cell?.row,
      cell?.column,
      over?.more,
      over && JSON.stringify(over.links),
    ].join(" ");
    if (look === this.#overPainted) return;
    this.#overPainted = look;
    this.#base.classList.toggle("behind", over !== undefined);
    const context = this.#over.getContext("2d")!;
    begin(context, brush);
    if (over) drawLinks(context, brush, [...over.links].reverse());
    if (cell) drawCursor(context, brush, cell, state.held !== null);
  }

  /** Puts headings, columns, labels and lists where they belong. */
  #place(block: Block, over: Over | undefined): void {
    const { session } = this.host;
    const { state, hover } = session;
    const layout = this.layout!;
    const { rows, columns } = this.picture!;
    const names = session.labels(block);
    const put = (element: HTMLElement, styles: Record<string, number>) => {
      for (const name in styles) element.style.setProperty(name, `${styles[name]}px`);
    };
    const { arcs, top, height, pitch } = layout;
    this.root.classList.toggle("arcs", arcs);
    this.root.classList.toggle("centred", arcs && layout.left > 0);
    put(this.area, { left: layout.x, top, width: layout.width, height });
    this.columns.key.hidden = arcs;
    const [width] = this.#size;
    const boxes = {
      query: arcs ? [layout.left + 6, layout.right - 6] : [0, layout.left - 6],
      key: arcs ? [layout.left + 6, layout.right - 6] : [layout.right + 6, width],
    } as const;
    this.#headings.query.textContent = arcs
      ? layout.left > 0
        ? "← ahead · tokens · back →"
        : "arcs reach back to keys"
      : "queries";
    this.#headings.key.textContent = arcs ? "" : "keys";
    const hidden = new Set(hiddenKeys(block, { ...state, stage: stageOf(state) }));
    const ends = (over?.links ?? []).slice(0, 64);
    const keys = ends.map(({ column }) => indexAt(columns, column) ?? 0);
    const queries = ends.map(({ row }) => indexAt(rows, row) ?? 0);
    for (const side of ["query", "key"] as const) {
      const [left, right] = boxes[side];
      const column = this.columns[side];
      const at = side === "query" ? layout.rows : layout.columns;
      put(column, { left, width: Math.max(0, right - left), top, height });
      if (!arcs) put(this.#headings[side], { left, width: Math.max(0, right - left) });
      else put(this.#headings.query, { left: 0, width });
      put(this.#spacers[side], { height: layout.scrolls ? at.count * pitch : 0 });
      column.classList.toggle("scrolls", layout.scrolls && at.count * pitch > height + 0.5);
      if (layout.scrolls && Math.abs(column.scrollTop - at.from * pitch) > 1)
        column.scrollTop = at.from * pitch;
      put(this.#labels[side].root, { height, width: Math.max(0, right - left) });
      const axis = side === "query" ? rows : columns;
      const cursor = side === "query" ? state.query : state.key;
      const other = side === "query" ? hover?.query : hover?.key;
      if (side === "query" || !arcs)
        this.#labels[side].update(
          axis,
          side === "query" ? names.query : names.key,
          { pixels: pitch, from: at.from, length: height },
          {
            cursor,
            pointed: other,
            chosen: new Set(
              arcs ? [...state.rows, ...state.columns] : side === "query" ? state.rows : state.columns,
            ),
            faded: side === "key" || arcs ? hidden : new Set(),
            named: arcs ? [state.key, ...keys, ...queries] : side === "query" ? queries : keys,
          },
        );
      this.#lists[side].update(this.#listed(side, axis, names[side], [left, right]));
    }
  }

  #listed(
    side: "query" | "key",
    axis: Axis,
    names: readonly string[],
    [left, right]: readonly [number, number],
  ): Listed {
    const { session, describe } = this.host;
    const { state } = session;
    const layout = this.layout!;
    const place = placeOf(axis, nearest(axis, side === "query" ? state.query : state.key)) ?? 0;
    const at = side === "query" ? layout.rows : layout.columns;
    const y = heightOf(layout, at, place);
    const chosen = new Set(side === "query" ? state.rows : state.columns);
    const size = Math.max(16, layout.pitch);
    const box: Box = { x: left, y: y - size / 2, width: right - left, height: size };
    const inside = outside(layout, at, place) === 0;
    return {
      label: `${side === "query" ? "Queries" : "Keys"} of layer ${state.layer} head ${state.head}. Left and right switch between queries and keys.`,
      count: axis.count,
      place,
      active: side === this.side,
      name: (p) => names[indexAt(axis, p) ?? 0] ?? "",
      text:
        side === this.side
          ? describe(state.query, state.key, true)
          : (names[indexAt(axis, place) ?? 0] ?? ""),
      selected: (p) => {
        const index = indexAt(axis, p) ?? -1;
        return chosen.has(index) || (state.held !== null && state.held[side === "query" ? 0 : 1] === index);
      },
      box: inside ? box : { ...box, y: layout.top },
    };
  }
}
