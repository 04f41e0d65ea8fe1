/**
 * No sentence claims a link that contrast does not support: heads of random queries and keys, and heads made to deceive (stripes, heads
 * of a position, one row alone). The baselines are computed here in plain loops over the whole matrix.
 */
import { describe, expect, test } from "vitest";
import { normals } from "../../../tests/support/cases/tensors.ts";
import { explainLink } from "../../view/terminal/text.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import { contrastRows, linkOf, randomContrast } from "../measures/contrast.ts";
import { distinctLabels } from "../text/label.ts";
import { formatNumber } from "../text/number.ts";
import { evidenceText } from "./evidence.ts";
import { tellingLink } from "./telling.ts";

const REF = { block: 0, layer: 0, head: 0 };
const words = (count: number) => Array.from({ length: count }, (_, n) => `noun${n}`);

/** A head of weights; each row is divided by its sum. */
function headOf(rows: readonly (readonly number[])[], special: readonly number[] = []): HeadStore {
  const data = Float64Array.from(
    rows.flatMap((row) => row.map((w) => w / row.reduce((sum, x) => sum + x, 0))),
  );
  const [Nq, Nk] = [rows.length, rows[0].length];
  const names = words(Nk).map((word, n) => (special.includes(n) ? "[CLS]" : word));
  const sides = Nq === Nk ? { tokens: names } : { queryTokens: words(Nq), keyTokens: names, kind: "cross" };
  return storeFrom({ blocks: [{ ...sides, layers: [{ weights: { data, shape: [1, Nq, Nk] } }] }] } as never);
}

function randomHead(N: number, seed: number, isCausal: boolean): HeadStore {
  const make = normals(seed, "float32");
  const data = () => ({ data: make(1, N, 16).data as Float32Array, shape: [1, N, 16] });
  const recipe = isCausal ? { recipe: { mask: "causal" } } : {};
  return storeFrom({
    blocks: [{ tokens: words(N), ...recipe, layers: [{ query: data(), key: data() }] }],
  } as never);
}

/** Heads by what deceives; numbers in [0, 1) are drawn by `next`. */
const DECEIVING: Readonly<Record<string, (N: number, next: () => number) => HeadStore>> = {
  stripe: (N, next) => headOf(square(N, (_, j) => (j === 2 ? 0.5 + 2 * N * next() : next()))),
  "stripe of half of the tokens": (N, next) =>
    headOf(square(N, (i, j) => (j === 2 && i % 2 === 0 ? 9 * N : next()))),
  "two stripes": (N, next) => headOf(square(N, (_, j) => (j === 1 || j === 3 ? N * (1 + next()) : next()))),
  "previous token": (N, next) => headOf(square(N, (i, j) => (j === i - 1 ? N * (1 + next()) : next()))),
  "previous token of half": (N, next) => headOf(square(N, (i, j) => (j === i - 1 && i % 2 ? 9 * N : next()))),
  "three tokens later": (N, next) =>
    headOf(
      square(N, (i, j) => (j === i + 3 ? N : next())),
      [0, N - 1],
    ),
  "stripe and next token": (N, next) =>
    headOf(
      square(N, (i, j) => (j === 2 || j === i + 1 ? N : next())),
      [0],
    ),
  "one word among special tokens": (_, next) =>
    headOf(
      square(3, (_, j) => (j === 0 ? 90 : next())),
      [0, 2],
    ),
  "one row of cross-attention": (N, next) => headOf([words(N).map((_, j) => (j === 2 ? 90 : next()))]),
  "stripe of cross-attention": (N, next) =>
    headOf(Array.from({ length: 4 }, () => words(N).map((_, j) => (j === 2 ? 9 : next())))),
  "one link": (N, next) => headOf(square(N, (i, j) => (i === 3 && j === 1 ? 9 * N : next()))),
};
const square = (N: number, weight: (i: number, j: number) => number) =>
  Array.from({ length: N }, (_, i) => Array.from({ length: N }, (_, j) => weight(i, j)));

/** Every cell that may be seen, with its baselines by the definition of docs/08-explorer.md. */
function cellsOf(store: HeadStore) {
  const { Nq, kind, special } = store.blocks[0];
  const w = Array.from({ length: Nq }, (_, i) => store.row(REF, i, "weights"));
  const visible = w.map((_, i) => store.visible(REF, i));
  const keys = visible.map((row) => row.reduce((sum, x) => sum + x, 0));
  const inner = [...w.keys()].filter((i) => !special.query[i]);
  const mean = (values: readonly { w: number }[]) =>
    values.reduce((sum, one) => sum + one.w, 0) / values.length;
  return w.flatMap((row, i) =>
    [...row.keys()]
      .filter((j) => visible[i][j])
      .map((j) => {
        const rows = inner.filter((r) => r !== i);
        const column = rows
          .filter((r) => visible[r][j] && 2 * keys[r] >= keys[i])
          .map((r) => ({ w: w[r][j], even: 1 / keys[r] }));
        const diagonal =
          kind === "cross"
            ? []
            : rows
                .filter((r) => visible[r][r + j - i])
                .map((r) => ({ w: w[r][r + j - i], even: 1 / keys[r] }));
        const [others, offset] = [mean(column), mean(diagonal)];
        const isOffset = !(others >= offset) && !Number.isNaN(offset);
        const baseline = isOffset ? offset : others;
        return { i, j, weight: row[j], keys: keys[i], baseline, rows: isOffset ? diagonal : column };
      }),
  );
}

/** Checks every sentence about a head, and the link that is shown first. */
async function check(store: HeadStore, name: string): Promise<void> {
  const [block] = store.blocks;
  const names = distinctLabels(block.keyTokens);
  const shown = new Map<string, ReturnType<typeof linkOf>>();
  for await (const row of contrastRows(store, REF))
    for (let j = 0; j < row.weights.length; j++) shown.set(`${row.i} ${j}`, linkOf(row, j));
  const cells = cellsOf(store);
  const supported = cells.filter(
    ({ weight, baseline, keys }) => weight - Math.max(baseline, 1 / keys) >= randomContrast(keys),
  );
  for (const cell of cells) {
    const { i, j, weight, baseline, rows, keys } = cell;
    const link = shown.get(`${i} ${j}`)!;
    const where = `${name}: ${i} → ${j}`;
    const text = evidenceText(block, { query: i, key: j, ...link }, `“${names[j]}”`);
    expect(link.verdict === "link", where).toBe(supported.includes(cell));
    if (rows.length === 0) {
      expect(text, where).toBe("");
      continue;
    }
    expect(link.contrast, where).toBeCloseTo(weight - baseline, 12);
    const [, many] = /^(every|most|some) tokens? looks? at /.exec(text) ?? [];
    const above = rows.filter((one) => one.w > one.even).length / rows.length;
    if (many === "every") expect(above, where).toBe(1);
    if (many === "most") expect(above > 0.5 && above < 1, where).toBe(true);
    if (many) expect(Math.min(weight, baseline), where).toBeGreaterThan(2.4 / keys);
    // What is neither a link nor a habit of the head is within chance, and the sentence says so where it is more than the others give.
    expect(/random heads have such links$/.test(text), where).toBe(
      link.verdict === "spread" && link.contrast > 0,
    );
    // The larger baseline is in the sentence: of a link, where it is clearly above even attention.
    if (link.verdict !== "link" || baseline >= 2.5 / keys)
      expect(text, where).toContain(`${formatNumber(baseline, { style: "percent" })}`);
    expect(explainLink(store, { ...REF, query: i, key: j, ...link }), where).toContain(text.slice(1));
  }
  const first = await tellingLink(store);
  const { queryOffset, kind, special } = block;
  const between = ({ i, j }: { i: number; j: number }) =>
    !special.query[i] && !special.key[j] && (kind === "cross" || (i + queryOffset !== j && j > 0));
  const candidates = supported.some(between) ? supported : cells;
  const contrasts = candidates.filter(between).map(({ weight, baseline }) => weight - baseline);
  const best = Math.max(...contrasts.filter((x) => !Number.isNaN(x)));
  if (best > -Infinity) expect(first!.contrast, name).toBeCloseTo(best, 12);
  else expect(first?.verdict, name).toBe("spread");
}

describe("no sentence claims a link that contrast does not support", () => {
  for (const isCausal of [false, true])
    test(`of ${isCausal ? "causal" : "bidirectional"} heads of random queries and keys`, async () => {
      for (const N of [1, 2, 3, 5, 8, 13])
        for (let seed = 1; seed <= 6; seed++)
          await check(randomHead(N, 50 * N + seed, isCausal), `N ${N}, seed ${seed}`);
    });

  for (const [name, make] of Object.entries(DECEIVING))
    test(`of a head of ${name}`, async () => {
      for (const N of [6, 9, 16])
        for (let seed = 1; seed <= 4; seed++) {
          const draw = normals(97 * N + seed, "float32")(1, 1, 4096).data as Float32Array;
          let n = 0;
          await check(
            make(N, () => Math.abs(draw[n++ % 4096]) % 1),
            `N ${N}, seed ${seed}`,
          );
        }
    });
});
