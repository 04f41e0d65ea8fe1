import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { normals } from "../../../tests/support/cases/tensors.ts";
import { openStore } from "../formats/open.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import { type ContrastRow, contrastOf, contrastRows, linkOf, randomContrast } from "./contrast.ts";

const captures = fileURLToPath(new URL("../../../models/captures/", import.meta.url));
const ref = { block: 0, layer: 0, head: 0 };

/** A store with the given weights of one head. */
function storeOf(rows: readonly (readonly number[])[], tokens = rows[0].map((_, n) => `t${n}`)): HeadStore {
  const data = Float32Array.from(rows.flat());
  return storeFrom({
    blocks: [{ tokens, layers: [{ weights: { data, shape: [1, rows.length, rows[0].length] } }] }],
  });
}

async function all(store: HeadStore, options = {}): Promise<ContrastRow[]> {
  const rows: ContrastRow[] = [];
  for await (const row of contrastRows(store, ref, options)) rows.push(row);
  return rows.sort((a, b) => a.i - b.i);
}

/** The definitions of the file's header, in plain loops over the full matrix. */
function plain(store: HeadStore): { others: number[][]; offset: number[][] } {
  const { Nq, Nk, special } = store.blocks[0];
  const w = Array.from({ length: Nq }, (_, i) => store.row(ref, i, "weights"));
  const visible = Array.from({ length: Nq }, (_, i) => store.visible(ref, i));
  const keys = visible.map((row) => row.reduce((n, x) => n + x, 0));
  const mean = (values: number[]) => (values.length ? values.reduce((a, b) => a + b) / values.length : NaN);
  const rows = (i: number) => [...w.keys()].filter((r) => r !== i && !special.query[r]);
  const cells = (value: (i: number, j: number) => number) =>
    w.map((row, i) => [...row.keys()].map((j) => (visible[i][j] ? value(i, j) : NaN)));
  return {
    others: cells((i, j) =>
      mean(
        rows(i)
          .filter((r) => visible[r][j] && 2 * keys[r] >= keys[i])
          .map((r) => w[r][j]),
      ),
    ),
    offset: cells((i, j) =>
      mean(
        rows(i)
          .filter((r) => r + j - i >= 0 && r + j - i < Nk && visible[r][r + j - i])
          .map((r) => w[r][r + j - i]),
      ),
    ),
  };
}

/** A head of random queries and keys. */
function randomHead(N: number, seed: number, isCausal: boolean): HeadStore {
  const make = normals(seed, "float32");
  const data = () => ({ data: make(1, N, 32).data as Float32Array, shape: [1, N, 32] });
  const tokens = Array.from({ length: N }, (_, n) => `w${n}`);
  const recipe = isCausal ? { recipe: { mask: "causal" } } : {};
  return storeFrom({ blocks: [{ tokens, ...recipe, layers: [{ query: data(), key: data() }] }] } as never);
}

describe("contrast", () => {
  it.each([
    ["bidirectional", false],
    ["causal", true],
  ])("has the baselines of its definition in a %s head with special tokens", async (_, isCausal) => {
    for (const N of [1, 2, 3, 9, 17]) {
      const store = randomHead(N, N, isCausal);
      const want = plain(store);
      for (const row of await all(store))
        for (const name of ["others", "offset"] as const)
          want[name][row.i].forEach((value, j) => {
            if (Number.isNaN(value)) expect(row[name][j]).toBeNaN();
            else expect(row[name][j]).toBeCloseTo(value, 12);
          });
    }
  });

  it("leaves rows of special tokens out, and rows with NaN", async () => {
    const tokens = ["[CLS]", "a", "b", "c"];
    const rows = [
      [0, 1, 0, 0],
      [0.1, 0.2, 0.3, 0.4],
      [0.4, 0.3, 0.2, 0.1],
      [Number.NaN, 0, 0, 1],
    ];
    const [, row] = await all(storeOf(rows, tokens));
    expect([...row.others]).toEqual([...Float32Array.from([0.4, 0.3, 0.2, 0.1])]);
  });

  it("a stripe, a position head, a link and even attention have the verdicts of these names", async () => {
    const N = 12;
    const fill = (pick: (i: number) => number, weight = 0.8) =>
      Array.from({ length: N }, (_, i) =>
        Array.from({ length: N }, (_, j) => (j === pick(i) ? weight : (1 - weight) / (N - 1))),
      );
    expect((await contrastOf(storeOf(fill(() => 3)), ref, 7, 3)).verdict).toBe("stripe");
    expect((await contrastOf(storeOf(fill((i) => Math.max(0, i - 1))), ref, 7, 6)).verdict).toBe("offset");
    const link = fill((i) => i, 1 / N);
    link[7] = link[7].map((_, j) => (j === 2 ? 0.8 : 0.2 / (N - 1)));
    expect((await contrastOf(storeOf(link), ref, 7, 2)).verdict).toBe("link");
    expect((await contrastOf(storeOf(link), ref, 5, 2)).verdict).toBe("spread");
  });

  it.each([
    ["time-flies", 0, 4, "flies", "time", "link"],
    ["fruit-flies", 0, 4, "flies", "fruit", "link"],
    ["river-bank", 0, 4, "bank", "river", "link"],
    ["bank-of-the-river", 0, 4, "bank", "river", "link"],
    ["savings-bank", 0, 4, "bank", "savings", "link"],
    ["bank-of-the-table", 0, 4, "bank", "table", "spread"],
    ["time-flies", 5, 11, "flies", "arrow", "stripe"],
    ["tired-cat", 5, 11, "it", "cat", "stripe"],
    ["soft-cat", 5, 11, "it", "cat", "stripe"],
    ["tired-cat", 3, 1, "it", "cat", "spread"],
    ["soft-cat", 3, 1, "it", "cat", "spread"],
    ["river-bank", 2, 11, "bank", "river", "offset"],
    ["time-flies", 2, 11, "flies", "time", "offset"],
  ] as const)("%s, layer %i, head %i: the verdict on %s → %s is %s", async (...link) => {
    const [file, layer, head, from, to, verdict] = link;
    const store = await openStore(`${captures}${file}.safetensors`);
    const tokens = store.blocks[0].keyTokens;
    const cell = [tokens.indexOf(from), tokens.indexOf(to)] as const;
    expect((await contrastOf(store, { block: 0, layer, head }, ...cell)).verdict).toBe(verdict);
    store.dispose();
  });

  it("one link in a hundred of random heads is above the limit, and no more", async () => {
    for (const [N, isCausal, heads] of [
      [5, false, 60],
      [8, false, 40],
      [16, false, 12],
      [40, false, 4],
      [12, true, 30],
      [40, true, 4],
    ] as const) {
      let [links, above] = [0, 0];
      for (let seed = 1; seed <= heads; seed++)
        for (const row of await all(randomHead(N, 100 * N + seed, isCausal)))
          for (let j = 0; j < N; j++)
            if (row.visible[j]) {
              links++;
              if (linkOf(row, j).verdict === "link") above++;
            }
      // Three standard errors of a share of one in a hundred.
      expect(above / links, `${N} ${isCausal}`).toBeLessThan(0.01 + 3 * Math.sqrt(0.0099 / links) + 0.002);
    }
    expect(randomContrast(1)).toBe(1);
    for (let n = 5; n < 300; n++) expect(randomContrast(n + 1)).toBeLessThanOrEqual(randomContrast(n));
  });

  it("other tasks of the thread run between the rows, so that a page stays responsive", async () => {
    const store = randomHead(12, 1, false);
    let [time, tasks] = [0, 0];
    // Each look at the clock takes longer than a slice.
    const clock = vi.spyOn(Date, "now").mockImplementation(() => (time += 20));
    const other = setInterval(() => tasks++, 0);
    const before: number[] = [];
    for await (const { i } of contrastRows(store, ref)) before[i] = tasks;
    clearInterval(other);
    clock.mockRestore();
    expect(Math.max(...before)).toBeGreaterThan(Math.min(...before));
  });

  it("visits one row where one is asked for, in a part of the rows where there are many", async () => {
    const store = randomHead(64, 5, false);
    const [full] = await all(store, { query: 9 });
    const [part] = await all(store, { query: 9, maxCells: 64 * 16 });
    expect(full.i).toBe(9);
    expect(part.weights).toEqual(full.weights);
    expect(part.others).not.toEqual(full.others);
    expect(Math.abs(part.others[3] - full.others[3])).toBeLessThan(0.02);
  });
});

describe("the stage contrast", () => {
  const heads = (N: number): [string, HeadStore][] => {
    const special = storeOf(
      Array.from({ length: N }, (_, i) => {
        const row = Array.from({ length: N }, (_, j) => 1 + ((i * 7 + j * 3) % 5));
        return row.map((x) => x / row.reduce((a, b) => a + b, 0));
      }),
      Array.from({ length: N }, (_, n) => (n === 0 ? "[CLS]" : n === N - 1 ? "[SEP]" : `t${n}`)),
    );
    return [
      ["bidirectional", randomHead(N, N, false)],
      ["causal", randomHead(N, N, true)],
      ["weights of a file", special],
    ];
  };

  it("is the weight minus what the other rows give the same key, in rows, columns and tiles", async () => {
    for (const N of [1, 2, 3, 17, 130])
      for (const [name, store] of heads(N)) {
        const { others } = plain(store);
        const rows = Array.from({ length: N }, (_, i) => ({
          visible: store.visible(ref, i),
          weights: store.row(ref, i, "weights"),
        }));
        const want = (i: number, j: number) => {
          if (!rows[i].visible[j]) return 0;
          return Number.isNaN(others[i][j]) ? 0 : rows[i].weights[j] - others[i][j];
        };
        // Not in the order of the rows: rows leave the sums and come back.
        for (const i of [N - 1, 0, N >> 1, N - 1])
          store
            .row(ref, i, "contrast")
            .forEach((value, j) => void expect(value, `${name} ${N} ${i} ${j}`).toBeCloseTo(want(i, j), 12));
        for (const j of [0, N - 1]) {
          const column = await store.column(ref, j, "contrast");
          column.forEach(
            (value, i) => void expect(value, `${name} ${N} ${i} ${j}`).toBeCloseTo(want(i, j), 12),
          );
        }
        const tile = await store.tile(ref, { stage: "contrast", transfer: "linear", level: 0, i: 0, j: 0 });
        expect([tile.signed, tile.domain]).toEqual([true, 1]);
        // One comparison a tile: 16,900 calls of `expect` take longer than the tile.
        let off = 0;
        for (let i = 0; i < tile.rows; i++)
          for (let j = 0; j < tile.columns; j++)
            if (tile.marks[i * 128 + j] === 0)
              off = Math.max(off, Math.abs(tile.codes[i * 128 + j] - (128 + 127 * want(i, j))));
        expect(off, `${name} ${N}`).toBeLessThan(0.51);
      }
  });

  it("of an edited row compares it with the others as they are", () => {
    const store = randomHead(9, 4, false);
    const edits = { scale: 1 };
    const [weights, before] = [store.row(ref, 3, "weights"), store.row(ref, 3, "contrast")];
    const edited = store.row(ref, 3, "weights", edits);
    store
      .row(ref, 3, "contrast", edits)
      .forEach((x, j) => void expect(x).toBeCloseTo(edited[j] - (weights[j] - before[j]), 12));
  });

  it("lights flies → time in layer 0, head 4, and leaves the stripe flies → arrow of layer 5, head 11 pale", async () => {
    const store = await openStore(`${captures}time-flies.safetensors`);
    const tokens = store.blocks[0].keyTokens;
    const at = async (layer: number, head: number, key: string) => {
      await store.load({ block: 0, layer, head });
      return store.cell({ block: 0, layer, head }, tokens.indexOf("flies"), tokens.indexOf(key), "contrast");
    };
    expect(await at(0, 4, "time")).toBeCloseTo(0.802 - 0.043, 2);
    expect(await at(5, 11, "arrow")).toBeLessThan(0.05);
    store.dispose();
  });
});

it("stops where it was canceled while it counts the visible keys, before it has read the rows", async () => {
  const N = 400;
  const store = randomHead(N, 1, false);
  const { visible } = store;
  let reads = 0;
  // A millisecond for each row, as in a head of thousands of keys.
  store.visible = (...args) => {
    reads++;
    for (const begin = performance.now(); performance.now() - begin < 1; );
    return visible.apply(store, args);
  };
  const controller = new AbortController();
  setTimeout(() => controller.abort());
  await expect(contrastOf(store, ref, 3, 2, { signal: controller.signal })).rejects.toThrow(/abort/);
  expect(reads).toBeLessThan(N);
});
