/** Pointer and keys of the text view: hovering previews, a click pins, arrow keys move along and between lines. */
import { moveOf } from "../../app/input/moves.ts";
import type { Cell } from "../../app/session.ts";
import { largest } from "../../state/facts.ts";
import { span } from "../../state/select.ts";
import { indexSet, type State } from "../../state/state.ts";
import type { Unit } from "./flow.ts";
import type { Reading, Side, TextPane } from "./pane.ts";

/** The cell of a unit: with the chosen token, or with the unit's strongest key. */
function cellOf(pane: TextPane, reading: Reading, side: Side, unit: number): Cell {
  const { session } = pane.host;
  const { state } = session;
  const { units, chosen, pinned, chooser } = reading;
  const index = units[side][unit].start;
  const chosenToken = units[chooser][chosen[0]]?.start ?? 0;
  if (side !== chooser || (reading.single && pinned))
    return chooser === "query" ? { query: chosenToken, key: index } : { query: index, key: chosenToken };
  if (chooser === "key") return { query: state.query, key: index };
  const [best] = largest(session.row(index, state.stage), 1);
  return { query: index, key: best ?? state.key };
}

/** The tokens of several units. */
const tokensOf = (units: readonly Unit[], which: readonly number[]) =>
  which.flatMap((unit) => span(units[unit].start, units[unit].end - 1));

/** The selection after a click: only this unit, one unit added or removed, or a range from the last unit. */
function choose(
  state: State,
  { units, chooser, chosen, pinned }: Reading,
  unit: number,
  add: boolean,
  range: boolean,
) {
  const side = chooser === "query" ? "rows" : "columns";
  const own = units[chooser];
  if (range) return { [side]: tokensOf(own, span(chosen[chosen.length - 1] ?? unit, unit)) };
  const tokens = tokensOf(own, [unit]);
  const before = state[side];
  const was = pinned && chosen.includes(unit);
  if (add)
    return {
      [side]: was ? before.filter((token) => !tokens.includes(token)) : indexSet([...before, ...tokens]),
    };
  return { [side]: was && chosen.length === 1 ? [] : tokens };
}

/** Selects a unit. If queries and keys are the same text, the cursor moves to it on both axes. */
function pin(pane: TextPane, reading: Reading, unit: number, add: boolean, range: boolean): void {
  const { session } = pane.host;
  const { state } = session;
  const index = reading.units[reading.chooser][unit].start;
  const cell = reading.chooser === "query" ? { query: index } : { key: index };
  const cursor = reading.single ? { query: index, key: index } : cell;
  session.set({ ...choose(state, reading, unit, add, range), ...cursor, pinned: null });
}

export function pointOver(pane: TextPane, signal: AbortSignal): void {
  const { session } = pane.host;
  const pointTo = (pointed: TextPane["pointed"]) => {
    const { reading } = pane;
    if (reading === undefined) return;
    const same = pointed?.unit === pane.pointed?.unit && pointed?.side === pane.pointed?.side;
    if (same && (pointed !== undefined || session.hover === null)) return;
    pane.pointed = pointed;
    const side =
      pointed && (reading.single ? (reading.pinned ? reading.target : reading.chooser) : pointed.side);
    const cell = pointed && side ? cellOf(pane, reading, side, pointed.unit) : null;
    if (session.hover?.query !== cell?.query || session.hover?.key !== cell?.key) {
      session.hover = cell;
      session.changed();
    }
    pane.schedule();
  };
  for (const side of ["query", "key"] as const) {
    const passage = pane.passages[side];
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      listener: (event: HTMLElementEventMap[K]) => void,
    ) => passage.root.addEventListener(name, listener, { signal, passive: true });
    on("pointermove", (event) => {
      const unit = passage.unitAt(event);
      // Between two tokens, the last one stays hovered.
      if (unit !== undefined) pointTo({ side, unit });
    });
    on("pointerleave", () => pointTo(undefined));
    on("click", (event) => {
      const unit = passage.unitAt(event);
      const { reading } = pane;
      if (unit === undefined || reading === undefined) return;
      const add = event.ctrlKey || event.metaKey;
      const touch = (event as PointerEvent).pointerType === "touch";
      const active =
        pane.activeUnit(reading) === unit && (reading.single || pane.activeSide(reading) === side);
      pane.side = side;
      if (!reading.single && side !== reading.chooser) session.set(cellOf(pane, reading, side, unit));
      // Touch has no hover: the first tap previews, the second pins.
      else if (touch && !active && !reading.pinned)
        session.set(cellOf(pane, reading, reading.chooser, unit), "replace");
      else pin(pane, reading, unit, add, event.shiftKey);
      pane.focus();
    });
  }
}

/** Handles keys inside the text; other keys bubble to the element. */
export function keyOver(pane: TextPane, event: KeyboardEvent): void {
  const { session } = pane.host;
  const { reading } = pane;
  if (reading === undefined || event.altKey) return;
  const { units, single, chooser } = reading;
  // Keys apply to the text that has the focus.
  if (!single) pane.side = pane.passages.key.focused ? "key" : "query";
  const side = pane.activeSide(reading);
  const passage = pane.passages[single ? "query" : side];
  const unit = pane.activeUnit(reading);
  const control = event.ctrlKey || event.metaKey;
  if (event.key === "Enter" || event.key === " ") {
    if (!single && side !== chooser) return;
    event.preventDefault();
    pin(pane, reading, unit, control, event.shiftKey);
    return;
  }
  const move = moveOf(event);
  if (move === undefined) return;
  event.preventDefault();
  const [rows, columns] = move;
  const last = units[side].length - 1;
  const ltr = passage.root.dir !== "rtl";
  const next = (() => {
    if (event.key === "Home") return control ? 0 : passage.ends(unit)[0];
    if (event.key === "End") return control ? last : passage.ends(unit)[1];
    if (rows !== 0) return passage.across(unit, rows);
    return unit + (ltr ? columns : -columns);
  })();
  const to = Math.max(0, Math.min(last, next));
  pane.pointed = undefined;
  session.hover = null;
  const index = units[side][to].start;
  // While a range grows, the cursor stays at its end.
  const cell = event.shiftKey && single ? { query: index, key: index } : cellOf(pane, reading, side, to);
  const range =
    event.shiftKey && (single || side === chooser)
      ? {
          [chooser === "query" ? "rows" : "columns"]: tokensOf(
            units[chooser],
            span(anchorOf(reading, unit), to),
          ),
        }
      : {};
  session.set({ ...cell, ...range }, "replace");
  pane.follow();
}

/** The fixed end of the selected range. */
function anchorOf({ chosen, pinned }: Reading, unit: number): number {
  if (!pinned) return unit;
  return chosen[0] === unit ? (chosen[chosen.length - 1] ?? unit) : chosen[0];
}
