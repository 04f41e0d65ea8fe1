import { expect, test } from "vitest";
import { storeFrom } from "../../../src/store/layout/from.ts";
import { makeInput } from "../../../tests/explorer/support/heads.mjs";
import type { Session } from "../../app/session.ts";
import { DEFAULT } from "../../state/state.ts";
import { differenceStore } from "./difference.ts";

const N = 60;

/** A head of a text; each row takes a millisecond, as one of thousands of keys. */
function selectionOf(head: number, reads: { count: number }) {
  const store = storeFrom(makeInput({ Nq: N, heads: 2, layers: 1 }));
  const ref = { block: 0, layer: 0, head };
  const [block] = store.blocks;
  const { row } = store;
  store.row = (...args) => {
    reads.count++;
    for (const begin = performance.now(); performance.now() - begin < 1; );
    return row.apply(store, args);
  };
  const labels = () => ({ query: block.queryTokens, key: block.keyTokens, lang: {} });
  const state = { ...DEFAULT, stage: "scores" };
  const session = { store, block, state, ref, labels, ready: true } as unknown as Session;
  const all = Array.from({ length: N }, (_, n) => n);
  return { store, ref, selection: { session, rows: all, columns: all } };
}

test("the difference of two long heads lets the page go on, has exact numbers, and stops when it is disposed of", async () => {
  const reads = { count: 0 };
  const [a, b] = [selectionOf(0, reads), selectionOf(1, reads)];
  await Promise.all([a, b].map(({ store, ref }) => store.load(ref)));
  const difference = differenceStore(a.selection, b.selection, "scores");
  let [turns, isDone] = [0, false];
  const turn = () => {
    turns++;
    if (!isDone) setTimeout(turn);
  };
  setTimeout(turn);
  const [low, high] = await difference.range({ block: 0, layer: 0, head: 0 }, "scores");
  isDone = true;
  // 120 ms of work.
  expect(turns).toBeGreaterThan(3);
  let largest = 0;
  for (let i = 0; i < N; i++) {
    const other = b.store.row(b.ref, i, "scores");
    a.store
      .row(a.ref, i, "scores")
      .forEach((x, j) => void (largest = Math.max(largest, Math.abs(x - other[j]))));
  }
  expect([low, high]).toEqual([-largest, largest]);

  const stopped = differenceStore(a.selection, b.selection, "scores");
  const before = reads.count;
  const range = stopped.range({ block: 0, layer: 0, head: 0 }, "scores");
  stopped.dispose();
  await range;
  expect(reads.count - before).toBeLessThan(2 * N);
});
