/**
 * What a click does: it pins a cell; with Control or Command it adds a token to the selection or removes it; with Shift it
 * selects the range from the cursor. A dragged rectangle selects its queries and keys.
 */
import { indexSet, type State } from "./state.ts";

export interface Clicked {
  readonly add: boolean;
  readonly range: boolean;
}

/** What the keys that are held say about a click. */
export const keysOf = ({ ctrlKey, metaKey, shiftKey }: MouseEvent): Clicked => ({
  add: ctrlKey || metaKey,
  range: shiftKey,
});

/** Clears what refers to the tokens of one text, for a change to another text or block. */
export const WITHOUT_TOKENS = {
  pinned: null,
  rows: [],
  columns: [],
  hidden: [],
  querySegments: [],
  keySegments: [],
  camera: null,
} satisfies Partial<State>;

/** All indices from one to another, both included. */
export function span(from: number, to: number): readonly number[] {
  const low = Math.min(from, to);
  return Array.from({ length: Math.abs(from - to) + 1 }, (_, i) => low + i);
}

/** Adds an index, or removes it if it is in the list. */
export function toggled(values: readonly number[], index: number): readonly number[] {
  return values.includes(index) ? values.filter((one) => one !== index) : indexSet([...values, index]);
}

export function clickCell(state: State, query: number, key: number, { add, range }: Clicked): Partial<State> {
  if (range) return { rows: span(state.query, query), columns: span(state.key, key) };
  if (add) {
    const rows = state.rows.length > 0 ? state.rows : [state.query];
    const columns = state.columns.length > 0 ? state.columns : [state.key];
    return { rows: indexSet([...rows, query]), columns: indexSet([...columns, key]), query, key };
  }
  const { pinned: pinnedCell } = state;
  const again = pinnedCell !== null && pinnedCell[0] === query && pinnedCell[1] === key;
  return { query, key, pinned: again ? null : [query, key], rows: [], columns: [] };
}

export function clickToken(
  state: State,
  axis: "rows" | "columns",
  index: number,
  { add, range }: Clicked,
): Partial<State> {
  const cursor = axis === "rows" ? { query: index } : { key: index };
  const from = axis === "rows" ? state.query : state.key;
  if (range) return { [axis]: span(from, index) };
  const before = state[axis];
  if (add) return { ...cursor, [axis]: toggled(before.length > 0 ? before : [from], index) };
  const again = before.length === 1 && before[0] === index;
  return { ...cursor, [axis]: again ? [] : [index] };
}

/** One press of Escape: unpins the cell, else clears the selection, else closes the table, else goes to the page `up`, if any. */
export function stepBack(state: State, up?: string): Partial<State> | undefined {
  if (state.pinned !== null) return { pinned: null };
  if (state.rows.length > 0 || state.columns.length > 0) return { rows: [], columns: [] };
  if (state.table) return { table: false };
  return up === undefined ? undefined : { view: up };
}
