import { describe, expect, it } from "vitest";
import { random } from "../../tests/support/cases/random.ts";
import { randomInput } from "../../tests/support/cases/store/draw.ts";
import type { HeadRef, Stage } from "./block.ts";
import { type Kernel, plainKernel } from "./compute/row-source.ts";
import type { HeadStore } from "./head-store.ts";
import { storeFrom } from "./layout/from.ts";
import { TILE } from "./measures/tile.ts";
import type { TileTransfer } from "./measures/transfer.ts";
import { codeOf, isSigned, signedCodeOf } from "./measures/transfer.ts";

const ref: HeadRef = { block: 0, layer: 0, head: 0 };

/** Rows of a stage, all of them: heads of tests are small. */
const matrix = (store: HeadStore, head: HeadRef, stage: Stage) =>
  Array.from({ length: store.blocks[0].Nq }, (_, i) => store.row(head, i, stage));

/** What a pooled cell must hold. */
function pooled(
  rows: Float64Array[],
  visible: Uint8Array[],
  signed: boolean,
  top: number,
  left: number,
  bottom: number,
  right: number,
) {
  let [peak, any, odd] = [0, false, false];
  for (let i = top; i < bottom; i++)
    for (let j = left; j < right; j++) {
      if (!visible[i][j]) continue;
      any = true;
      const x = rows[i][j];
      if (!Number.isFinite(x)) odd = true;
      else if (signed ? Math.abs(x) > Math.abs(peak) : x > peak) peak = x;
    }
  return { peak, mark: odd ? 2 : any ? 0 : 1 };
}

describe("given weights below 0", () => {
  it("are marked in tiles and overviews, and come as they are in rows", async () => {
    const weights = { data: Float32Array.of(1.4, -0.4, 0.5, 0.5), shape: [1, 2, 2] };
    const store = storeFrom({ blocks: [{ tokens: ["a", "b"], layers: [{ weights }] }] });
    const tile = await store.tile(ref, { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0 });
    expect([tile.marks[0], tile.marks[1], tile.marks[TILE], tile.marks[TILE + 1]]).toEqual([0, 2, 0, 0]);
    expect([...(await store.overview(ref, 2)).marks]).toEqual([0, 2, 0, 0]);
    expect(store.cell(ref, 0, 1, "weights")).toBeCloseTo(-0.4, 6);
    store.dispose();
  });
});

describe("tiles", () => {
  it("hold the code of each cell's exact value, at every stage, level and transfer", async () => {
    for (let seed = 0; seed < 25; seed++) {
      const r = random(seed + 77);
      const input = randomInput(seed, { Nq: r.int(1, 150), Nk: r.int(1, 150), d: 5 });
      const store = storeFrom(input);
      const { Nq, Nk, heads } = store.blocks[0];
      const head = { ...ref, head: r.int(0, heads - 1) };
      const visible = Array.from({ length: Nq }, (_, i) => store.visible(head, i));
      const all = visible.map((row) => row.map(() => 1));
      for (const stage of store.blocks[0].stages) {
        const transfer: TileTransfer = r.pick(["sqrt", "linear", "log"]);
        const level = r.int(0, 3);
        const span = TILE * 2 ** level;
        const [ti, tj] = [r.int(0, Math.ceil(Nq / span) - 1), r.int(0, Math.ceil(Nk / span) - 1)];
        const tile = await store.tile(head, { stage, transfer, level, i: ti, j: tj });
        const rows = matrix(store, head, stage);
        const signed = isSigned(stage);
        const shown = stage === "scores" || stage === "scaled" ? all : visible;
        const wrong: string[] = [];
        for (let y = 0; y < tile.rows; y++)
          for (let x = 0; x < tile.columns; x++) {
            const [top, left] = [(ti * TILE + y) * 2 ** level, (tj * TILE + x) * 2 ** level];
            const want = pooled(
              rows,
              shown,
              signed,
              top,
              left,
              Math.min(Nq, top + 2 ** level),
              Math.min(Nk, left + 2 ** level),
            );
            const code =
              want.mark === 1
                ? 0
                : signed
                  ? signedCodeOf(want.peak, tile.domain)
                  : codeOf(want.peak, transfer, tile.domain);
            const at = y * TILE + x;
            // Of two rows that alone attend to a key, one has the contrast x and the other −x: either may be the largest.
            const isTie = stage === "contrast" && level > 0 && tile.codes[at] === 256 - code;
            if (isTie && tile.marks[at] === want.mark) continue;
            if (tile.marks[at] !== want.mark || tile.codes[at] !== code)
              wrong.push(`${y}, ${x}: ${tile.codes[at]} (${tile.marks[at]}), want ${code} (${want.mark})`);
          }
        expect(wrong, `seed ${seed}, ${stage}, ${transfer}, level ${level}`).toEqual([]);
        expect(tile.rows).toBe(Math.min(TILE, Math.ceil(Nq / 2 ** level) - ti * TILE));
        expect(tile.signed).toBe(signed);
      }
      store.dispose();
    }
  });

  it("of a long head are cut from one pooled map, with the same codes", async () => {
    const store = storeFrom(
      randomInput(5, { Nq: 1100, Nk: 1100, heads: 1, keyHeads: 1, d: 3, dv: 2, recipe: { mask: "causal" } }),
    );
    const visible = Array.from({ length: 1100 }, (_, i) => store.visible(ref, i));
    for (const stage of ["weights", "masked", "contribution"] as const) {
      const tile = await store.tile(ref, { stage, transfer: "sqrt", level: 4, i: 0, j: 0 });
      const rows = matrix(store, ref, stage);
      expect([tile.rows, tile.columns]).toEqual([69, 69]);
      let wrong = 0;
      for (let y = 0; y < 69; y++)
        for (let x = 0; x < 69; x++) {
          const want = pooled(
            rows,
            visible,
            tile.signed,
            16 * y,
            16 * x,
            Math.min(1100, 16 * y + 16),
            Math.min(1100, 16 * x + 16),
          );
          const code =
            want.mark === 1
              ? 0
              : tile.signed
                ? signedCodeOf(want.peak, tile.domain)
                : codeOf(want.peak, "sqrt", tile.domain);
          if (tile.codes[y * TILE + x] !== code || tile.marks[y * TILE + x] !== want.mark) wrong++;
        }
      expect(wrong, stage).toBe(0);
    }
    store.dispose();
  });

  it("of a domain that is given are drawn on it, and signed ones are even around code 128", async () => {
    const store = storeFrom(randomInput(8, { Nq: 4, Nk: 4, heads: 1, keyHeads: 1, recipe: {} }));
    const tile = await store.tile(ref, {
      stage: "weights",
      transfer: "linear",
      level: 0,
      i: 0,
      j: 0,
      domain: 0.5,
    });
    expect(tile.domain).toBe(0.5);
    expect(tile.codes[0]).toBe(Math.round(255 * Math.min(1, store.cell(ref, 0, 0, "weights") / 0.5)));
    expect([
      signedCodeOf(0, 2),
      signedCodeOf(2, 2),
      signedCodeOf(-2, 2),
      signedCodeOf(9, 2),
      signedCodeOf(1, 0),
    ]).toEqual([128, 255, 1, 255, 128]);
    expect([2, 1, 1e-2, 1e-3, 1e-6, 0, -1].map((share) => codeOf(3 * share, "log", 3))).toEqual([
      255, 255, 170, 128, 0, 0, 0,
    ]);
    expect([1, 0.25, 0.04].map((share) => codeOf(share, "sqrt", 1))).toEqual([255, 128, 51]);
    await expect(
      store.tile(ref, { stage: "weights", transfer: "sqrt", level: -1, i: 0, j: 0 }),
    ).rejects.toThrow(/level must be an integer from 0, got -1/);
    await expect(
      store.tile(ref, { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0, domain: 0 }),
    ).rejects.toThrow(/domain must be a number above 0/);
    store.dispose();
  });
});

describe("overviews", () => {
  it("keep the largest and the mean weight of every range, and say what is masked", async () => {
    for (let seed = 0; seed < 16; seed++) {
      const r = random(seed + 300);
      const store = storeFrom(
        randomInput(seed, { Nq: r.int(1, 90), Nk: r.int(1, 90), heads: 1, keyHeads: 1, d: 4 }),
      );
      const { Nq, Nk } = store.blocks[0];
      const size = r.int(1, 64);
      const overview = await store.overview(ref, size);
      const rows = matrix(store, ref, "weights");
      const visible = Array.from({ length: Nq }, (_, i) => store.visible(ref, i));
      expect([overview.rows, overview.columns, overview.done]).toEqual([
        Math.min(Nq, size),
        Math.min(Nk, size),
        1,
      ]);
      const cells = overview.rows * overview.columns;
      const [peak, sum, count] = [new Float64Array(cells), new Float64Array(cells), new Float64Array(cells)];
      for (let i = 0; i < Nq; i++)
        for (let j = 0; j < Nk; j++) {
          if (!visible[i][j]) continue;
          const at =
            Math.floor((i * overview.rows) / Nq) * overview.columns + Math.floor((j * overview.columns) / Nk);
          peak[at] = Math.max(peak[at], rows[i][j]);
          sum[at] += rows[i][j];
          count[at]++;
        }
      const code = (w: number) => Math.round(255 * Math.sqrt(Math.min(1, w)));
      expect([...overview.max], `seed ${seed}`).toEqual([...peak].map(code));
      expect([...overview.marks]).toEqual([...count].map((n) => (n === 0 ? 1 : 0)));
      const mean = [...sum].map((x, at) => (count[at] === 0 ? 0 : code(x / count[at])));
      expect(Math.max(...mean.map((x, at) => Math.abs(x - overview.mean[at])))).toBeLessThanOrEqual(1);
      store.dispose();
    }
  });

  it("of a thumbnail's size come with the measures, in one pass over the head", async () => {
    let rows = 0;
    const kernel: Kernel = {
      ...plainKernel,
      run(head, from, to, visit) {
        rows += to - from;
        plainKernel.run(head, from, to, visit);
      },
    };
    const store = storeFrom(randomInput(3, { Nq: 40, Nk: 40, d: 4 }), { kernel });
    const [measures, overview] = await Promise.all([store.measures(ref), store.overview(ref, 128)]);
    expect([measures.rows > 0, overview.done, rows]).toEqual([true, 1, 40]);
    await store.measures(ref);
    expect(rows).toBe(40);
    store.dispose();
  });

  it("of 512 tokens still show a pattern one cell wide at 48 pixels, where every tenth cell shows nothing", async () => {
    const N = 512;
    const previous = new Float32Array(N * N);
    for (let i = 0; i < N; i++) previous[i * N + Math.max(0, i - 1)] = 1;
    const sink = Float32Array.from({ length: N * N }, (_, n) => (n % N === 0 ? 1 : 0));
    const block = Float32Array.from({ length: N * N }, (_, n) =>
      Math.floor(n / N / 64) === Math.floor((n % N) / 64) ? 1 / 64 : 0,
    );
    const layers = [previous, sink, block].map((data) => ({ weights: { data, shape: [1, N, N] } }));
    const store = storeFrom({ blocks: [{ layers }] });
    const dark = async (layer: number) => {
      const { max } = await store.overview({ block: 0, layer, head: 0 }, 48);
      return max.reduce((n, code) => n + (code > 25 ? 1 : 0), 0);
    };
    // A diagonal crosses each of 48 rows, and at their borders the cell before it.
    expect(await dark(0)).toBe(95);
    expect(await dark(1)).toBe(48);
    // Eight blocks of 6 × 6.
    expect(await dark(2)).toBe(8 * 36);
    let nearest = 0;
    for (let y = 0; y < 48; y++)
      for (let x = 0; x < 48; x++)
        if (previous[Math.floor(((y + 0.5) * N) / 48) * N + Math.floor(((x + 0.5) * N) / 48)] > 0) nearest++;
    expect(nearest).toBe(0);
    store.dispose();
  });
});

describe("columns, sums and ranges", () => {
  it("a column is the rows' values at that key", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const store = storeFrom(randomInput(seed + 900, { heads: 1, keyHeads: 1 }));
      const { Nk, stages } = store.blocks[0];
      const j = random(seed).int(0, Nk - 1);
      for (const stage of stages) {
        const column = await store.column(ref, j, stage);
        matrix(store, ref, stage).forEach((row, i) => {
          if (row[j] === -Infinity) expect(column[i]).toBe(-Infinity);
          else
            expect(Math.abs(column[i] - row[j])).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(row[j])));
        });
      }
      store.dispose();
    }
  });

  it("any weight is exp(score − lse), and a range is that of the finite visible cells", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const store = storeFrom(randomInput(seed + 950, { heads: 1, keyHeads: 1 }));
      const lse = await store.lse(ref);
      const masked = matrix(store, ref, "masked");
      matrix(store, ref, "weights").forEach((row, i) => {
        row.forEach((w, j) =>
          expect(w).toBeCloseTo(masked[i][j] === -Infinity ? 0 : Math.exp(masked[i][j] - lse[i]), 12),
        );
      });
      for (const stage of ["scores", "scaled", "masked"] as const) {
        const values = matrix(store, ref, stage).flatMap((row) => [...row].filter(Number.isFinite));
        const [low, high] = await store.range(ref, stage);
        expect([low, high]).toEqual(values.length ? [Math.min(...values), Math.max(...values)] : [0, 0]);
      }
      expect(await store.range(ref, "weights")).toEqual([0, 1]);
      store.dispose();
    }
  });

  it("an output is Σ weight·v over what the row sees", () => {
    const store = storeFrom(randomInput(42, { heads: 2, keyHeads: 1, recipe: { mask: "causal" } }));
    const { Nq, Nk, dv } = store.blocks[0];
    for (let i = 0; i < Nq; i++) {
      const row = store.row(ref, i, "weights");
      const want = new Float64Array(dv!);
      for (let j = 0; j < Nk; j++) store.vector(ref, "value", j).forEach((x, e) => (want[e] += row[j] * x));
      store.output(ref, i).forEach((x, e) => expect(x).toBeCloseTo(want[e], 12));
    }
    store.dispose();
  });
});

describe("what is not a number", () => {
  const weights = Float32Array.of(Number.NaN, 0.5, 0.5, 0.25, Infinity, 0.5, 0.2, 0.3, 0.5);
  const store = storeFrom({ blocks: [{ layers: [{ weights: { data: weights, shape: [1, 3, 3] } }] }] });

  it("in given weights is kept, counted and marked", async () => {
    expect([...store.row(ref, 0, "weights")]).toEqual([Number.NaN, 0.5, 0.5]);
    expect(store.cell(ref, 1, 1, "weights")).toBe(Infinity);
    expect((await store.measures(ref)).notNumbers).toBe(2);
    // Rows that hold them are in no mean.
    expect((await store.measures(ref)).rows).toBe(1);
    const tile = await store.tile(ref, { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0 });
    expect([tile.marks[0], tile.marks[1], tile.marks[TILE + 1]]).toEqual([2, 0, 2]);
    const { marks } = await store.overview(ref, 8);
    expect([...marks]).toEqual([2, 0, 0, 0, 2, 0, 0, 0, 0]);
  });

  it("in a masked key changes nothing; in a visible one the whole row is NaN, as the formula says", async () => {
    const causal = (...keys: number[]) =>
      storeFrom({
        blocks: [
          {
            recipe: { mask: "causal" },
            layers: [
              {
                query: { data: Float32Array.of(1, 1, 1), shape: [1, 3, 1] },
                key: { data: Float32Array.from(keys), shape: [1, 3, 1] },
              },
            ],
          },
        ],
      });
    const store = causal(1, 2, Number.NaN);
    expect(store.row(ref, 1, "weights").reduce((a, b) => a + b)).toBeCloseTo(1, 12);
    expect([...store.row(ref, 2, "weights")]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect(store.cell(ref, 0, 2, "scores")).toBeNaN();
    expect((await store.measures(ref)).notNumbers).toBe(3);
    store.dispose();
    const first = causal(Number.NaN, 2, 1);
    expect([...first.row(ref, 0, "weights")]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    first.dispose();
  });
});

describe("a store", () => {
  it("answers for one token, and for queries that are fully masked", async () => {
    const one = storeFrom(randomInput(1, { Nq: 1, Nk: 1, heads: 1, keyHeads: 1, recipe: {} }));
    expect([...one.row(ref, 0, "weights")]).toEqual([1]);
    expect((await one.overview(ref, 64)).max).toEqual(Uint8Array.of(255));
    const none = storeFrom(
      randomInput(1, { Nq: 3, Nk: 4, heads: 1, keyHeads: 1, recipe: { keyLengths: 0 } }),
    );
    expect([...none.row(ref, 1, "weights")]).toEqual([0, 0, 0, 0]);
    expect([...none.output(ref, 1)].every((x) => x === 0)).toBe(true);
    expect([...(await none.lse(ref))]).toEqual([-Infinity, -Infinity, -Infinity]);
    expect((await none.measures(ref)).rows).toBe(0);
    expect(none.ledger(ref, 1, 1).emptyRow).toBe(true);
    for (const store of [one, none]) store.dispose();
  });

  it("hands out copies, so that nothing a caller does changes the next answer", () => {
    const store = storeFrom(randomInput(2, { Nq: 3, Nk: 3 }));
    const before = store.row(ref, 2, "weights");
    store.row(ref, 2, "weights").fill(9);
    expect(store.row(ref, 2, "weights")).toEqual(before);
    store.dispose();
  });

  it("refuses heads, cells and stages that are not there, by name", async () => {
    const store = storeFrom({
      blocks: [
        { name: "enc", layers: [{ layer: 3, weights: { data: Float32Array.of(1), shape: [1, 1, 1] } }] },
      ],
    });
    const head = { block: 0, layer: 3, head: 0 };
    expect(() => store.row({ ...head, block: 1 }, 0, "weights")).toThrow(
      /block must be an integer from 0 to 0, got 1/,
    );
    expect(() => store.row({ ...head, layer: 0 }, 0, "weights")).toThrow(
      /layer must be one of 3 in `enc`, got 0/,
    );
    expect(() => store.row({ ...head, head: 1 }, 0, "weights")).toThrow(
      /head must be an integer from 0 to 0, got 1/,
    );
    expect(() => store.row(head, 1, "weights")).toThrow(/i must be an integer from 0 to 0, got 1/);
    expect(() => store.row(head, 0, "scores")).toThrow(
      /`enc` has the stages weights, contrast, got "scores"/,
    );
    expect(() => store.output(head, 0)).toThrow(/`enc` has no values/);
    expect(() => store.vector(head, "query", 0)).toThrow(/`enc` has no query vectors/);
    await expect(store.overview(head, 0)).rejects.toThrow(/size must be an integer from 1 to 1024, got 0/);
    store.dispose();
    expect(() => store.row(head, 0, "weights")).toThrow(/disposed/);
    await expect(store.measures(head)).rejects.toThrow(/disposed/);
  });
});
