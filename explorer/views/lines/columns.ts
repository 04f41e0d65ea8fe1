/**
 * The two columns of tokens next to the lines: names, headings, scrolling, and the lists for keyboards and screen readers. The
 * browser scrolls the columns; names and lines are drawn in the same frame, so that they stay aligned.
 */
import { hiddenKeys, type Session, type TokenRole } from "../../app/session.ts";
import { type Axis, indexAt, nearest, placeOf } from "../../canvas/axis.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import { Labels } from "../../canvas/labels.ts";
import type { PixelBox } from "../matrix/frame.ts";
import { stageOf } from "./edges.ts";
import type { LinesPicture, Over } from "./focus.ts";
import { heightOf, type LinesLayout, outside } from "./layout.ts";
import { TokenList } from "./list.ts";

const SIDES = ["query", "key"] as const;

/** The arguments of an update of the columns. */
export interface ColumnsUpdate {
  readonly session: Session;
  readonly layout: LinesLayout;
  readonly picture: LinesPicture;
  readonly width: number;
  /** The column that has the keyboard focus. */
  readonly active: TokenRole;
  readonly over: Over | undefined;
  /** The text of the cursor's token for screen readers. */
  readonly description: string;
}

export class Columns {
  /** The elements that scroll and receive pointer events. */
  readonly scrollers: Readonly<Record<TokenRole, HTMLElement>> = {
    query: make("div", "column queries"),
    key: make("div", "column keys"),
  };
  readonly all: readonly HTMLElement[];
  readonly #labels = { query: new Labels("rows"), key: new Labels("rows") } as const;
  readonly #spacers = { query: make("div", "spacer"), key: make("div", "spacer") } as const;
  readonly #headings = {
    query: make("div", "heading", HIDDEN),
    key: make("div", "heading", HIDDEN),
  } as const;
  readonly #lists = { query: new TokenList(), key: new TokenList() } as const;

  constructor() {
    for (const role of SIDES) {
      const stuck = make("div", "stuck", {}, this.#labels[role].root, this.#lists[role].root);
      this.scrollers[role].append(stuck, this.#spacers[role]);
      this.scrollers[role].tabIndex = -1;
    }
    this.#labels.key.root.classList.add("keys");
    this.all = [this.scrollers, this.#headings].flatMap(({ query, key }) => [query, key]);
  }

  focus(role: TokenRole): void {
    if (!this.#lists[role].root.hidden) this.#lists[role].focus();
  }

  /** Whether this column has a visible keyboard focus. */
  keyed(role: TokenRole): boolean {
    return this.#lists[role].root.matches(":has(:focus-visible)");
  }

  update(change: ColumnsUpdate): void {
    const { layout, picture, width, over } = change;
    const { arcs, top, height, pitch } = layout;
    const column = [layout.left + 6, layout.right - 6] as const;
    const boxes = {
      query: arcs ? column : ([0, layout.left - 6] as const),
      key: arcs ? column : ([layout.right + 6, width] as const),
    };
    const both = layout.left > 0 ? "← ahead · tokens · back →" : "arcs reach back to keys";
    this.#headings.query.textContent = arcs ? both : "queries";
    this.#headings.key.textContent = arcs ? "" : "keys";
    const ends = (over?.links ?? []).slice(0, 64);
    const named = {
      query: ends.map(({ row }) => indexAt(picture.rows, row) ?? 0),
      key: ends.map(({ column }) => indexAt(picture.columns, column) ?? 0),
    };
    for (const role of SIDES) {
      const [left, right] = boxes[role];
      const scroller = this.scrollers[role];
      const { count, from } = role === "query" ? layout.rows : layout.columns;
      const space = Math.max(0, right - left);
      put(scroller, { left, width: space, top, height });
      put(this.#headings[role], arcs ? { left: 0, width } : { left, width: space });
      // With arcs, the column of keys only has its list; it covers the column of queries.
      const bare = arcs && role === "key";
      const scrolls = layout.scrolls && !bare;
      put(this.#spacers[role], { height: scrolls ? count * pitch : 0 });
      scroller.classList.toggle("scrolls", scrolls && count * pitch > height + 0.5);
      scroller.classList.toggle("bare", bare);
      this.#labels[role].root.hidden = bare;
      if (scrolls && Math.abs(scroller.scrollTop - from * pitch) > 1) scroller.scrollTop = from * pitch;
      put(this.#labels[role].root, { height, width: space });
      if (!bare) this.#name(role, change, arcs ? [...named.key, ...named.query] : named[role]);
      this.#list(role, change, space);
    }
  }

  #name(role: TokenRole, { session, layout, picture }: ColumnsUpdate, named: readonly number[]): void {
    const { state, hover } = session;
    const block = session.block!;
    const { arcs, pitch, height } = layout;
    const isQuery = role === "query";
    const chosen = arcs ? [...state.rows, ...state.columns] : isQuery ? state.rows : state.columns;
    const hidden = isQuery && !arcs ? [] : hiddenKeys(block, { ...state, stage: stageOf(state) });
    this.#labels[role].update(
      isQuery ? picture.rows : picture.columns,
      session.labels(block)[role],
      { pixels: pitch, from: (isQuery ? layout.rows : layout.columns).from, length: height },
      {
        cursor: isQuery ? state.query : state.key,
        pointed: isQuery ? hover?.query : hover?.key,
        chosen: new Set(chosen),
        faded: new Set(hidden),
        named: arcs ? [state.key, ...named] : named,
      },
      session.labels(block).lang[role],
    );
  }

  #list(role: TokenRole, update: ColumnsUpdate, width: number): void {
    const { session, layout, picture, active, description } = update;
    const { state } = session;
    const isQuery = role === "query";
    const axis: Axis = isQuery ? picture.rows : picture.columns;
    const names = session.labels(session.block!)[role];
    const nameOf = (place: number) => names[indexAt(axis, place) ?? 0] ?? "";
    const place = placeOf(axis, nearest(axis, isQuery ? state.query : state.key)) ?? 0;
    const at = isQuery ? layout.rows : layout.columns;
    const chosen = new Set(isQuery ? state.rows : state.columns);
    const size = Math.max(16, layout.pitch);
    const isVisible = outside(layout, at, place) === 0;
    const box: PixelBox = {
      x: 0,
      y: isVisible ? heightOf(layout, at, place) - size / 2 - layout.top : 0,
      width,
      height: size,
    };
    this.#lists[role].update({
      label: `${isQuery ? "Queries" : "Keys"} of layer ${state.layer} head ${state.head}. Left and right switch between queries and keys.`,
      count: axis.count,
      place,
      active: role === active,
      name: nameOf,
      lang: session.labels(session.block!).lang[role],
      text: role === active ? description : nameOf(place),
      selected: (p) => {
        const index = indexAt(axis, p) ?? -1;
        return chosen.has(index) || state.pinned?.[isQuery ? 0 : 1] === index;
      },
      box,
    });
  }
}
