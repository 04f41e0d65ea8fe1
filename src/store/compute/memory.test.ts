import { afterEach, expect, it } from "vitest";
import { engineKernel } from "../../../tests/support/backends/engine-rows.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { storeFrom } from "../layout/from.ts";
import { edgesOf } from "../measures/aggregate.ts";
import { plainKernel } from "./row-source.ts";

const N = 1024;
const NAMES = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
] as const;
const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
});

/** Records the largest array or buffer that is allocated after this call. Views of existing buffers do not count. */
function watch(): { largest: number } {
  const record = { largest: 0 };
  const globals = globalThis as unknown as Record<string, new (...args: unknown[]) => object>;
  for (const name of [...NAMES, "ArrayBuffer", "SharedArrayBuffer"]) {
    const original = globals[name];
    const buffer = name.endsWith("Buffer");
    globals[name] = new Proxy(original, {
      construct(target, [first, ...rest], newTarget) {
        const length = typeof first === "number" ? first : ((first as ArrayLike<unknown>)?.length ?? 0);
        // Buffers are measured in bytes: 8 for a float64 number.
        record.largest = Math.max(record.largest, buffer ? length / 8 : length);
        return Reflect.construct(target, [first, ...rest], newTarget);
      },
    });
    restore.push(() => {
      globals[name] = original;
    });
  }
  return record;
}

it("the wrapped constructors record an array of N² numbers", () => {
  const record = watch();
  new Float32Array(N * N);
  expect(record.largest).toBe(N * N);
});

for (const [name, kernel] of [
  ["plain", plainKernel],
  ["engine", engineKernel],
] as const)
  it(`with the ${name} kernel, no request allocates half of N² numbers at N = ${N}`, async () => {
    const input = randomInput(9, {
      Nq: N,
      Nk: N,
      heads: 2,
      keyHeads: 1,
      d: 16,
      dv: 8,
      recipe: { mask: "causal", softcap: 20 },
    });
    const ref = { block: 0, layer: 0, head: 1 };
    const record = watch();
    const store = storeFrom(input, { kernel });
    for (const stage of store.blocks[0].stages) {
      store.row(ref, N - 1, stage);
      store.cell(ref, 7, 3, stage);
      await store.tile(ref, { stage, transfer: "sqrt", level: 0, i: 3, j: 2 });
    }
    // Coarse tiles are cut from a map of the whole head; scores need their range first.
    for (const stage of ["masked", "weights"] as const)
      await store.tile(ref, { stage, transfer: "log", level: 4, i: 0, j: 0 });
    await store.column(ref, 5, "weights");
    await store.lse(ref);
    await store.measures(ref);
    await store.overview(ref, 96);
    store.ledger(ref, 1000, 999);
    store.output(ref, 900);
    edgesOf((i) => store.row(ref, i, "weights"), [0, N / 2, N - 1], { mass: 0.9 });
    await store.bundle({ dtype: "float16" });
    store.dispose();
    expect(record.largest).toBeGreaterThan(0);
    expect(record.largest).toBeLessThan((N * N) / 2);
  });
