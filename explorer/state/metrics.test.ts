/** The grid of heads, the edits of a cell, and what a click selects, as functions of the state. */
import { describe, expect, it } from "vitest";
import type { Session } from "../app/session.ts";
import { arrange, METRICS } from "./metrics.ts";
import { clickCell, clickToken } from "./select.ts";
import { BY_PATTERN, DEFAULT, METRIC_NAMES, type State } from "./state.ts";
import { edit, editsOf } from "./whatif.ts";

/** Two layers of three heads, whose measures are those of a list, one layer after the other. */
function gridOf(measures: readonly (object | undefined)[], change: Partial<State>, perRow?: number) {
  const block = {
    name: "self",
    layers: [4, 5],
    heads: 3,
    keyHeads: 3,
    Nq: 9,
    Nk: 9,
    recipe: { mask: "causal" },
  };
  const session = {
    block,
    state: { ...DEFAULT, ...change },
    measures: ({ layer, head }: { layer: number; head: number }) => measures[3 * (layer - 4) + head],
  };
  return arrange(session as unknown as Session, undefined, perRow);
}
const names = ({ placed }: ReturnType<typeof gridOf>) => placed.map(({ layer, head }) => `${layer}.${head}`);

it("each measure by which heads are sorted has its texts", () => {
  expect(METRICS.map(({ name }) => name)).toEqual(METRIC_NAMES);
});

describe("the grid of heads", () => {
  const entropies = [3, undefined, 1, Number.NaN, 2, 0].map((entropy) => ({ entropy }));

  it("sorts by a metric in both directions; heads that do not have it come last", () => {
    expect(names(gridOf(entropies, { sort: "entropy", descending: false }))).toEqual([
      "5.2",
      "4.2",
      "5.1",
      "4.0",
      "4.1",
      "5.0",
    ]);
    expect(names(gridOf(entropies, { sort: "entropy" }))).toEqual(["4.0", "5.1", "4.2", "5.2", "4.1", "5.0"]);
    const layers = gridOf(entropies, { sort: "entropy", sortHow: "layers", descending: false });
    expect(layers.rowNames).toEqual(["5", "4"]);
  });

  it("names the layers over several rows, and flips both", () => {
    const { placed, rowNames } = gridOf([], { flipped: true }, 2);
    expect(rowNames).toEqual(["5", "5", "4", "4"]);
    expect(placed.map(({ layer, row, column }) => [layer, row, column])).toEqual([
      [5, 0, 0],
      [5, 0, 1],
      [5, 1, 0],
      [4, 2, 0],
      [4, 2, 1],
      [4, 3, 0],
    ]);
  });

  it("groups by pattern; the rows of a causal head are even over half of the keys", () => {
    const measures = [
      { previous: 0.5, effectiveKeys: 1 },
      { effectiveKeys: 3.6 },
      { effectiveKeys: 3.4 },
      undefined,
      undefined,
      undefined,
    ];
    const { titles } = gridOf(measures, { sort: BY_PATTERN });
    expect([...titles!.values()]).toEqual([
      "previous token · 1",
      "nearly even · 1",
      "other links · 1",
      "not measured yet · 3",
    ]);
  });

  it("fades what a filter excludes, and not its ends", () => {
    const { placed } = gridOf(entropies, { filters: [{ metric: "entropy", low: 1, high: 2 }] });
    expect(placed.map(({ faded }) => faded)).toEqual([true, false, false, false, false, true]);
  });
});

describe("an edit", () => {
  const session = (change: Partial<State>) => {
    const it = {
      state: { ...DEFAULT, ...change },
      shown: { query: 1, key: 2 },
      edits: {},
      store: { ledger: () => ({ scale: 0.5 }) },
      isEditable: () => true,
      set: (next: Partial<State>) => void Object.assign(it.state, next),
    };
    return it as unknown as Session;
  };

  it("replaces that of the same number and those of other keys, and leaves the rest", () => {
    const edits = [
      { what: "query", index: 0, value: 1 },
      { what: "key", token: 2, index: 3, value: 2 },
      { what: "key", token: 7, index: 1, value: 3 },
      { what: "scale", value: 4 },
    ] as const;
    const one = session({ edits });
    expect(edit(one, "key", 0, "9")).toBe(true);
    expect(one.state.edits).toEqual([
      edits[0],
      edits[1],
      edits[3],
      { what: "key", token: 2, index: 0, value: 9 },
    ]);
    edit(one, "query", 0, "8");
    expect(one.state.edits.filter(({ what }) => what === "query")).toEqual([
      { what: "query", index: 0, value: 8 },
    ]);
    expect(edit(one, "scale", 0, "x")).toBe(false);
  });

  it("a temperature divides the scale", () => {
    expect(editsOf(session({ temperature: 2 }))).toEqual({ scale: 0.25 });
    expect(editsOf(session({}))).toEqual({});
  });
});

describe("a click", () => {
  const state = { ...DEFAULT, query: 2, key: 5 };

  it("with Shift selects from the cursor to the cell, in either direction", () => {
    expect(clickCell(state, 4, 3, { add: false, range: true })).toEqual({
      rows: [2, 3, 4],
      columns: [3, 4, 5],
    });
    expect(clickToken(state, "columns", 7, { add: false, range: true })).toEqual({ columns: [5, 6, 7] });
  });

  it("with Ctrl adds to the selection, or to the cursor where there is none", () => {
    expect(clickCell(state, 0, 1, { add: true, range: false })).toEqual({
      rows: [0, 2],
      columns: [1, 5],
      query: 0,
      key: 1,
    });
    expect(clickToken({ ...state, rows: [2, 4] }, "rows", 4, { add: true, range: false })).toEqual({
      query: 4,
      rows: [2],
    });
  });
});
