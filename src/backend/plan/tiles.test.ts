/** Runs of keys against the cells: no visible cell is outside the runs and no masked cell is in a full run, for all masks and tile sizes. */
import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { zeros } from "../../core/create/construct.ts";
import { compile } from "../../masks/expression/js.ts";
import {
  and,
  causal,
  dilated,
  documents,
  keyLengths,
  longformer,
  type Mask,
  maskMod,
  not,
  prefixLm,
  slidingWindow,
} from "../../masks/index.ts";
import { type AttentionOptions, resolve } from "../problem.ts";
import { countTiles, TileMap } from "./tiles.ts";

const [B, H, Nq, Nk] = [2, 3, 100, 333];
const problemOf = (attnMask: Mask | undefined, options: AttentionOptions = {}) =>
  resolve("test", zeros([B, H, Nq, 4]), zeros([B, H, Nk, 4]), zeros([B, H, Nk, 4]), { attnMask, ...options });

const masks: Record<string, [Mask | undefined, AttentionOptions?]> = {
  none: [undefined],
  causal: [causal(), { queryOffset: 100 }],
  "causal, an offset each": [causal(), { queryOffset: [0, 233] }],
  "a window": [slidingWindow(40, 3), { queryOffset: 50 }],
  lengths: [keyLengths([17, 300])],
  prefix: [prefixLm([0, 200])],
  documents: [documents(Array.from({ length: 433 }, (_, i) => Math.floor(i / 70))), { queryOffset: 90 }],
  longformer: [longformer(9, [0, 150])],
  "dilated in a window": [and(dilated(3), slidingWindow(30, 30))],
  "one head of three": [maskMod(({ h, q, k }) => h.eq(1).and(k.le(q)))],
  nothing: [not(slidingWindow(-1, -1))],
};

describe("with tiles of 8 to 128 keys and 1 to 48 rows:", () => {
  for (const [name, [mask, options]] of Object.entries(masks))
    it(name, () => {
      const problem = problemOf(mask, options);
      const allowed = problem.mask ? compile(problem.mask) : () => 1;
      for (const [keyTile, panel, rows] of [
        [128, 8, 24],
        [64, 16, 48],
        [8, 8, 1],
        [96, 32, 7],
      ]) {
        const map = new TileMap(problem, keyTile, panel);
        const counts = countTiles(problem, rows, keyTile, panel);
        const visited = { full: 0, partial: 0 };
        for (let b = 0; b < B; b++)
          for (let h = 0; h < H; h++)
            for (let row = 0; row < Nq; row += rows) {
              const last = Math.min(Nq, row + rows);
              const kinds = new Array<"none" | "full" | "partial">(Nk).fill("none");
              let end = 0;
              for (const run of map.runs(b, h, row, last, 0, Nk)) {
                expect(run.from).toBeGreaterThanOrEqual(end);
                expect(run.from % panel).toBe(0);
                expect(run.to).toBeGreaterThan(run.from);
                end = run.to;
                kinds.fill(run.partial ? "partial" : "full", run.from, run.to);
                visited[run.partial ? "partial" : "full"] +=
                  Math.ceil(run.to / keyTile) - Math.floor(run.from / keyTile);
              }
              expect(end).toBeLessThanOrEqual(Nk);
              for (let k = 0; k < Nk; k++) {
                const cells = Array.from({ length: last - row }, (_, n) =>
                  allowed({ b, h, i: row + n, q: row + n + problem.offsets[b], k, score: 0 }),
                );
                if (kinds[k] === "none" && cells.includes(1))
                  expect.fail(`key ${k} is visible, but in no run`);
                if (kinds[k] === "full" && cells.includes(0))
                  expect.fail(`key ${k} is hidden, but called full`);
              }
            }
        expect([counts.full, counts.partial]).toEqual([visited.full, visited.partial]);
        const tiles = B * H * Math.ceil(Nq / rows) * Math.ceil(Nk / keyTile);
        expect(counts.skipped + counts.full + counts.partial).toBe(tiles);
      }
    });
});

it("a causal mask leaves about half of the tiles, a window few, lengths their share", () => {
  const big = (mask: Mask) =>
    resolve("test", zeros([1, 1, 4096, 0]), zeros([1, 1, 4096, 0]), zeros([1, 1, 4096, 0]), {
      attnMask: mask,
    });
  const share = (mask: Mask) => {
    const { skipped, full, partial } = countTiles(big(mask), 48, 128, 8);
    return (full + partial) / (skipped + full + partial);
  };
  expect(share(causal())).toBeLessThan(0.53);
  expect(share(slidingWindow(255, 0))).toBeLessThan(0.12);
  expect(share(keyLengths(1024))).toBe(0.25);
});

it("random masks, tile sizes and ranges of keys: no visible cell outside the runs, no masked cell in a full run", () => {
  const r = random(2026);
  const [M, N] = [37, 150];
  const part = (): Mask => {
    switch (r.int(0, 9)) {
      case 0: return causal();
      case 1: return slidingWindow(r.int(-1, 60), r.int(-1, 20));
      case 2: return keyLengths([r.int(0, N), r.int(0, N)]);
      case 3: return prefixLm([r.int(0, N), r.int(0, N)]);
      case 4: return dilated(r.int(1, 9));
      case 5: return longformer(r.int(0, 20), [r.int(0, 60), r.int(0, N)]);
      case 6: return documents(Array.from({ length: 400 }, (_, n) => Math.floor(n / r.int(20, 40))));
      case 7: return maskMod(({ h, k }) => k.mod(r.int(2, 40)).ge(h.mul(3)));
      case 8: return maskMod(({ b, q, k }) => q.mul(2).sub(k).abs().lt(b.mul(30).add(r.int(0, 50))));
      default: return maskMod(({ i, k }) => k.floorDiv(r.int(1, 30)).eq(i.floorDiv(r.int(1, 30))));
    }
  }; // biome-ignore format: one row a mask
  for (let n = 0; n < 400; n++) {
    const mask = [part(), part(), part()].reduce((a, b) =>
      r.chance(0.3) ? a : r.chance(0.5) ? and(a, b) : r.chance(0.5) ? a.or(b) : and(a, not(b)),
    );
    const t = (length: number) => zeros([B, H, length, 1]);
    const problem = resolve("test", t(M), t(N), t(N), {
      attnMask: mask,
      queryOffset: r.chance(0.5) ? r.int(0, 200) : [r.int(0, 200), r.int(0, 200)],
    });
    const allowed = compile(problem.mask ?? mask);
    const [keyTile, panel] = r.pick([
      [128, 8],
      [128, 16],
      [64, 8],
      [96, 32],
      [8, 8],
      [16, 16],
    ]);
    const map = new TileMap(problem, keyTile, panel);
    const rows = r.int(1, 48);
    const from = keyTile * r.int(0, Math.floor((N - 1) / keyTile));
    const to = r.chance(0.5) ? N : Math.min(N, from + keyTile * r.int(1, 3));
    for (let b = 0; b < B; b++)
      for (let h = 0; h < H; h++)
        for (let row = 0; row < M; row += rows) {
          const last = Math.min(M, row + rows);
          const kinds = new Uint8Array(N);
          let end = from;
          for (const run of map.runs(b, h, row, last, from, to)) {
            if (run.from < end || run.to <= run.from || run.to > to || run.from % panel !== 0)
              expect.fail(`mask ${n}: run ${run.from} … ${run.to} after ${end}, in ${from} … ${to}`);
            end = run.to;
            kinds.fill(run.partial ? 1 : 2, run.from, run.to);
          }
          for (let i = row; i < last; i++)
            for (let k = from; k < to; k++) {
              const isVisible = allowed({ b, h, i, q: i + problem.offsets[b], k, score: 0 }) !== 0;
              if (isVisible && kinds[k] === 0)
                expect.fail(`mask ${n}: (${b}, ${h}, ${i}, ${k}) is visible, but in no run`);
              if (!isVisible && kinds[k] === 2)
                expect.fail(`mask ${n}: (${b}, ${h}, ${i}, ${k}) is hidden, but in a full run`);
            }
        }
  }
});
