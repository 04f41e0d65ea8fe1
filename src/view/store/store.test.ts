import { expect, it } from "vitest";
import { mix } from "../../core/random.ts";
import { storeFrom } from "./from.ts";

function noise(n: number, seed: number): Float32Array {
  return Float32Array.from({ length: n }, (_, i) => (mix((seed * 7919 + i) | 0) >>> 0) / 2 ** 31 - 1);
}

it("smoke", async () => {
  const [H, N, d] = [2, 40, 8];
  const store = storeFrom({
    blocks: [
      {
        recipe: { mask: "causal" },
        tokens: Array.from({ length: N }, (_, i) => `t${i % 7}`),
        layers: [
          {
            query: { data: noise(H * N * d, 1), shape: [H, N, d] },
            key: { data: noise(H * N * d, 2), shape: [H, N, d] },
            value: { data: noise(H * N * d, 3), shape: [H, N, d] },
          },
        ],
      },
    ],
  });
  const ref = { block: 0, layer: 0, head: 1 };
  console.log(store.report.sentences);
  const row = store.row(ref, 5, "weights");
  console.log(
    row.slice(0, 8),
    row.reduce((a, b) => a + b),
  );
  console.log(await store.measures(ref));
  const o = await store.overview(ref, 16);
  console.log(o.rows, o.columns, o.done);
  const t = await store.tile(ref, { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0 });
  console.log(t.codes.slice(128 * 5, 128 * 5 + 8));
  const l = store.ledger(ref, 5, 3);
  for (const line of l.lines)
    console.log(
      line.step,
      "|",
      line.name,
      "|",
      line.formula.map((p) => (typeof p === "string" ? p : p.text)).join(""),
      "|",
      line.value.text,
      line.value.source,
    );
  expect(l.weight.value).toBe(row[3]);
  store.dispose();
});
