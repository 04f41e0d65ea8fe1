/**
 * Pointer and keys of the lines view: hovering a token or a line highlights it, a click pins it, with Control or Shift several.
 * The wheel scrolls the columns, with Control it zooms. Up and down move along a column, left and right switch columns.
 */
import { moveOf } from "../../app/input/moves.ts";
import { nearest, placeOf, step } from "../../canvas/axis.ts";
import { on } from "../../canvas/dom.ts";
import { clickCell, clickToken, keysOf, span } from "../../state/select.ts";
import { cellOf, type Focus } from "./focus.ts";
import { linkAt, outside, placeAt } from "./layout.ts";
import { Lines, type LinesHost } from "./lines.ts";

/** The width in pixels of the area where the pointer selects the tail of a token. */
const TAIL = 44;

const same = (a: Focus | undefined, b: Focus | undefined) =>
  a?.kind === b?.kind &&
  (a?.kind === "link"
    ? b?.kind === "link" && a.link.row === b.link.row && a.link.column === b.link.column
    : b?.kind !== "link" && a?.place === b?.place);

const heightIn = (lines: Lines, event: MouseEvent) => event.clientY - lines.stage.getBoundingClientRect().top;

/** Creates the lines with their pointer and keys. */
export function createLines(host: LinesHost): Lines {
  const lines = new Lines(host);
  const { signal } = lines.listening;
  pointAlong(lines, signal);
  on(lines.root, signal, "keydown", (event) => keyAlong(lines, event), false);
  return lines;
}

function pointAlong(lines: Lines, signal: AbortSignal): void {
  const { session } = lines.host;
  const pointTo = (focus: Focus | undefined) => {
    if (same(focus, lines.focusOn) && (focus !== undefined || session.hover === null)) return;
    lines.focusOn = focus;
    const { picture } = lines;
    session.point(focus && picture ? cellOf(picture, focus, session.state) : null);
    lines.schedule();
  };

  /** The token or line at a point between the columns. */
  const inMiddle = (event: MouseEvent): Focus | undefined => {
    const { layout, picture, inView } = lines;
    if (layout === undefined || picture === undefined || inView === undefined) return undefined;
    const x = event.clientX - lines.stage.getBoundingClientRect().left;
    const y = heightIn(lines, event);
    if (layout.scrolls && !layout.arcs)
      for (const role of ["query", "key"] as const) {
        const [edge, column, other, end, direction] =
          role === "query"
            ? ([x - layout.left, layout.rows, layout.columns, "column", "outgoing"] as const)
            : ([layout.right - x, layout.columns, layout.rows, "row", "incoming"] as const);
        const place = edge < TAIL ? placeAt(layout, column, y) : undefined;
        if (place === undefined) continue;
        const way = y < layout.top + (place + 0.5 - column.from) * layout.pitch ? -1 : 1;
        const out = picture.links[direction](place, picture.keep).filter(
          (link) => outside(layout, other, link[end]) !== 0,
        );
        const tail = out.find((link) => outside(layout, other, link[end]) === way) ?? out[0];
        if (tail) return { kind: "link", link: tail };
      }
    const link = linkAt(layout, inView.links, x, y);
    return link && { kind: "link", link };
  };

  const inColumn = (role: "query" | "key", event: MouseEvent): Focus | undefined => {
    const { layout } = lines;
    if (layout === undefined) return undefined;
    const place = placeAt(layout, role === "query" ? layout.rows : layout.columns, heightIn(lines, event));
    return place === undefined ? undefined : { kind: role, place };
  };

  /** A click pins; on touch screens, which have no hover, the first tap highlights. */
  const click = (focus: Focus | undefined, event: PointerEvent | MouseEvent) => {
    const { picture } = lines;
    if (focus === undefined || picture === undefined) return;
    const { state } = session;
    const cell = cellOf(picture, focus, state);
    const touch = (event as PointerEvent).pointerType === "touch";
    const moved = cell.query !== state.query || cell.key !== state.key;
    if (touch && moved) {
      session.set({ ...cell, pinned: null }, "replace");
      lines.focusOn = focus;
    } else if (focus.kind === "link") session.set(clickCell(state, cell.query, cell.key, keysOf(event)));
    else {
      const axis = focus.kind === "query" ? "rows" : "columns";
      const patch = clickToken(state, axis, focus.kind === "query" ? cell.query : cell.key, keysOf(event));
      session.set(event.shiftKey ? patch : { ...cell, ...patch });
      lines.role = focus.kind;
    }
    lines.focus();
    if (focus.kind === "link") lines.follow();
    else lines.schedule();
  };

  on(lines.area, signal, "pointermove", (event) => pointTo(inMiddle(event)));
  on(lines.area, signal, "pointerleave", () => pointTo(undefined));
  on(lines.area, signal, "click", (event) => click(inMiddle(event), event));
  for (const role of ["query", "key"] as const) {
    const column = lines.columns.scrollers[role];
    on(column, signal, "pointermove", (event) => pointTo(inColumn(role, event)));
    on(column, signal, "pointerleave", () => pointTo(undefined));
    on(column, signal, "click", (event) => click(inColumn(role, event), event));
    on(column, signal, "scroll", () => {
      const { layout } = lines;
      if (!layout?.scrolls) return;
      const from = (role === "query" ? layout.rows : layout.columns).from;
      if (Math.abs(column.scrollTop - from * layout.pitch) <= 1) return;
      const place = column.scrollTop / layout.pitch;
      lines.scrollTo(role === "query" ? place : undefined, role === "key" ? place : undefined);
    });
  }
  on(lines.stage, signal, "wheel", (event) => turnWheel(lines, event), false);
}

/** The wheel scrolls both columns; with Control it zooms. At the ends of the columns it scrolls the page. */
function turnWheel(lines: Lines, event: WheelEvent): void {
  const { layout } = lines;
  if (layout === undefined) return;
  const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    lines.zoomAt(
      Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * 0.004),
      heightIn(lines, event),
    );
  } else if (layout.scrolls && event.target === lines.area) {
    // Between the columns, the wheel scrolls both. At their ends it scrolls the page.
    const before = [layout.rows.from, layout.columns.from];
    const by = (event.deltaY * unit) / layout.pitch;
    const space = (count: number) => Math.max(0, count - layout.height / layout.pitch);
    const next = [
      Math.max(0, Math.min(space(layout.rows.count), before[0] + by)),
      Math.max(0, Math.min(space(layout.columns.count), before[1] + by)),
    ];
    if (next[0] === before[0] && next[1] === before[1]) return;
    event.preventDefault();
    lines.scrollTo(next[0], next[1]);
  }
}

/** Handles keys inside the lines; other keys bubble to the element. */
function keyAlong(lines: Lines, event: KeyboardEvent): void {
  const { session } = lines.host;
  const { picture } = lines;
  const { block, state } = session;
  if (block === undefined || picture === undefined || event.altKey) return;
  const { role } = lines;
  const axis = role === "query" ? picture.rows : picture.columns;
  const index = role === "query" ? state.query : state.key;
  const control = event.ctrlKey || event.metaKey;
  if (control && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    session.set(clickToken(state, role === "query" ? "rows" : "columns", index, { add: true, range: false }));
    return;
  }
  const move = moveOf(event);
  if (move === undefined) return;
  event.preventDefault();
  const [rows, columns] = move;
  lines.focusOn = undefined;
  session.hover = null;
  if (Math.abs(columns) === 1) {
    lines.role = columns < 0 ? "query" : "key";
    lines.schedule();
    lines.follow();
    requestAnimationFrame(() => lines.focus());
    return;
  }
  // Home and End go to the ends of the column.
  const next = step(axis, nearest(axis, index), rows === 0 ? columns : rows);
  const cell =
    role === "key"
      ? { key: next }
      : cellOf(picture, { kind: "query", place: placeOf(picture.rows, next) ?? 0 }, state);
  const chosen = role === "query" ? state.rows : state.columns;
  const anchor = chosen.length === 0 ? index : chosen[0] === index ? (chosen.at(-1) ?? index) : chosen[0];
  session.set(
    event.shiftKey ? { ...cell, [role === "query" ? "rows" : "columns"]: span(anchor, next) } : cell,
    "replace",
  );
  lines.follow();
}
