/** Pointer and keys of the text view: hovering previews, a click pins, arrow keys move along and between lines. */
import { moveOf } from "../../app/input/moves.ts";
import type { TokenPair, TokenRole } from "../../app/session.ts";
import { on } from "../../canvas/dom.ts";
import { largest } from "../../state/facts.ts";
import { span } from "../../state/select.ts";
import { indexSet, type State } from "../../state/state.ts";
import type { Reading, Unit } from "./flow.ts";
import { type TextHost, TextPane } from "./pane.ts";

/** The cell of a unit: with the chosen token, or with the unit's strongest key. */
function cellOf(pane: TextPane, reading: Reading, role: TokenRole, unit: number): TokenPair {
  const { session } = pane.host;
  const { state } = session;
  const { units, chosen, pinned, chooser } = reading;
  const index = units[role][unit].start;
  const chosenToken = units[chooser][chosen[0]]?.start ?? 0;
  if (role !== chooser || (reading.single && pinned))
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
  const axis = chooser === "query" ? "rows" : "columns";
  const texts = units[chooser];
  if (range) return { [axis]: tokensOf(texts, span(chosen[chosen.length - 1] ?? unit, unit)) };
  const tokens = tokensOf(texts, [unit]);
  const before = state[axis];
  const was = pinned && chosen.includes(unit);
  if (add)
    return {
      [axis]: was ? before.filter((token) => !tokens.includes(token)) : indexSet([...before, ...tokens]),
    };
  return { [axis]: was && chosen.length === 1 ? [] : tokens };
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

/** Creates the text with its pointer and keys. */
export const createText = (host: TextHost): TextPane => withInput(new TextPane(host));

/** The pane with listeners for its pointer and keys. */
export function withInput<Pane extends TextPane>(pane: Pane): Pane {
  const { signal } = pane.listening;
  pointOver(pane, signal);
  on(pane.root, signal, "keydown", (event) => keyOver(pane, event), false);
  return pane;
}

function pointOver(pane: TextPane, signal: AbortSignal): void {
  const { session } = pane.host;
  const pointTo = (pointed: TextPane["pointed"]) => {
    const { reading } = pane;
    if (reading === undefined) return;
    const same = pointed?.unit === pane.pointed?.unit && pointed?.role === pane.pointed?.role;
    if (same && (pointed !== undefined || session.hover === null)) return;
    pane.pointed = pointed;
    const role =
      pointed && (reading.single ? (reading.pinned ? reading.target : reading.chooser) : pointed.role);
    session.point(pointed && role ? cellOf(pane, reading, role, pointed.unit) : null);
    pane.schedule();
  };
  for (const role of ["query", "key"] as const) {
    const passage = pane.passages[role];
    on(passage.root, signal, "pointermove", (event) => {
      const unit = passage.unitAt(event);
      // Between two tokens, the last one stays hovered.
      if (unit !== undefined) pointTo({ role, unit });
    });
    on(passage.root, signal, "pointerleave", () => pointTo(undefined));
    on(passage.root, signal, "click", (event) => {
      const unit = passage.unitAt(event);
      const { reading } = pane;
      if (unit === undefined || reading === undefined) return;
      const add = event.ctrlKey || event.metaKey;
      const touch = (event as PointerEvent).pointerType === "touch";
      const active =
        pane.activeUnit(reading) === unit && (reading.single || pane.activeSide(reading) === role);
      pane.role = role;
      if (!reading.single && role !== reading.chooser) session.set(cellOf(pane, reading, role, unit));
      // Touch has no hover: the first tap previews, the second pins.
      else if (touch && !active && !reading.pinned)
        session.set(cellOf(pane, reading, reading.chooser, unit), "replace");
      else pin(pane, reading, unit, add, event.shiftKey);
      pane.focus();
    });
  }
}

/** Handles keys inside the text; other keys bubble to the element. */
function keyOver(pane: TextPane, event: KeyboardEvent): void {
  const { session } = pane.host;
  const { reading } = pane;
  if (reading === undefined || event.altKey) return;
  const { units, single, chooser } = reading;
  // Keys apply to the text that has the focus.
  if (!single) pane.role = pane.passages.key.focused ? "key" : "query";
  const role = pane.activeSide(reading);
  const passage = pane.passages[single ? "query" : role];
  const unit = pane.activeUnit(reading);
  const control = event.ctrlKey || event.metaKey;
  if (event.key === "Enter" || event.key === " ") {
    if (!single && role !== chooser) return;
    event.preventDefault();
    pin(pane, reading, unit, control, event.shiftKey);
    return;
  }
  const move = moveOf(event);
  if (move === undefined) return;
  event.preventDefault();
  const [rows, columns] = move;
  const last = units[role].length - 1;
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
  const index = units[role][to].start;
  // While a range grows, the cursor stays at its end.
  const cell = event.shiftKey && single ? { query: index, key: index } : cellOf(pane, reading, role, to);
  const range =
    event.shiftKey && (single || role === chooser)
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
