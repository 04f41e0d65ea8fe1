/** Tensors in the engine's memory: read in place, also after it grew; freed when unreachable. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, it } from "vitest";
import { scaledDotProductAttention } from "../../api/attention.ts";
import { configure } from "../../backend/settings.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { discardEngine, getEngine } from "./engine.ts";
import { empty } from "./resident.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;
const settings = { ...configure() };
configure({ threads: 1 });
afterAll(() => {
  configure(settings);
});

const engine = () => getEngine() as NonNullable<ReturnType<typeof getEngine>>;

/** Collects until bytes in use are back at `bytes`, or long enough. */
async function collected(bytes: number): Promise<number> {
  for (let n = 0; n < 25 && engine().memory.resetPeak() > bytes; n++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return engine().memory.resetPeak();
}

const wave = (shape: number[], salt: number) => {
  const size = shape.reduce((a, b) => a * b, 1);
  return new Tensor(
    Float32Array.from({ length: size }, (_, n) => Math.sin(n * 0.37 + salt)),
    shape,
    "float32",
  );
};

it("a call reads keys and values in place: almost no additional memory, and the same bits", () => {
  const [N, d] = [4000, 64];
  const [q, k, v] = [wave([1, d], 1), wave([N, d], 2), wave([N, d], 3)];
  const want = scaledDotProductAttention(q, k, v);
  const [K, V] = [empty([N, d]), empty([N, d])];
  expect([...K.data].every((x) => x === 0)).toBe(true);
  K.data.set(k.data as Float32Array);
  V.data.set(v.data as Float32Array);
  const before = engine().memory.resetPeak();
  const got = scaledDotProductAttention(q, K, V);
  expect(engine().memory.peak - before).toBeLessThan(64 * 1024);
  expect(got.output.data).toEqual(want.output.data);
  // Also after the memory grew and has another buffer object.
  const filler = engine().memory.alloc(64 * 2 ** 20);
  const again = engine().memory.resetPeak();
  expect(scaledDotProductAttention(q, K, V).output.data).toEqual(want.output.data);
  expect(engine().memory.peak - again).toBeLessThan(64 * 1024);
  engine().memory.free(filler);
  // After the engine was discarded, the tensor is copied like any other.
  discardEngine();
  expect(scaledDotProductAttention(q, K, V).output.data).toEqual(want.output.data);
});

it("views with gaps or reversed, of every dtype, are read in place", () => {
  for (const dtype of ["float32", "float16", "bfloat16"] as const) {
    const resident = empty([2, 50, 24], dtype);
    const data = resident.data as Float32Array | Uint16Array;
    for (let n = 0; n < data.length; n++)
      data[n] = dtype === "float32" ? Math.cos(n) : 0x3c00 + ((n * 37) % 100);
    const copy = new Tensor(data.slice(), resident.shape, dtype);
    for (const view of [
      (t: Tensor) => t,
      (t: Tensor) => new Tensor(t.data, [2, 25, 24], dtype, [1200, 48, 1], 24),
      (t: Tensor) => new Tensor(t.data, [2, 50, 24], dtype, [1200, -24, 1], 49 * 24),
      (t: Tensor) => new Tensor(t.data, [2, 50, 12], dtype, [1200, 24, 2]),
      (t: Tensor) => new Tensor(t.data, [2, 24, 50], dtype, [1200, 1, 24]),
    ]) {
      const run = (t: Tensor) => scaledDotProductAttention(view(t), view(t), view(t)).output.data;
      expect(run(resident)).toEqual(run(copy));
    }
  }
});

it("memory is freed when a tensor is collected, and not while a view of its data is reachable", async () => {
  engine();
  await collected(0);
  const before = engine().memory.resetPeak();
  const view = (() => {
    const t = empty([1000, 100]);
    t.data.fill(3);
    return t.data.subarray(5000, 5010);
  })();
  expect(engine().memory.resetPeak()).toBeGreaterThan(before + 400_000);
  for (let n = 0; n < 10; n++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
    empty([1000, 100]).data.fill(7);
  }
  expect([...view]).toEqual(new Array(10).fill(3));
  const one = await collected(before + 500_000);
  expect(one).toBeLessThan(before + 500_000);
  expect(view[0]).toBe(3);
});

it("a tensor that does not fit is a typed error, and the engine continues", () => {
  expect(() => empty([2 ** 31])).toThrow(UnsupportedError);
  expect(() => empty([2 ** 52])).toThrow(UnsupportedError);
  const t = empty([3, 4]);
  expect(scaledDotProductAttention(t, t, t).output.data).toEqual(new Float32Array(12));
});

it("empty tensors are valid", () => {
  for (const shape of [[0, 4], [3, 0], [0]]) expect(empty(shape).size).toBe(0);
  const none = empty([0, 8]);
  expect(scaledDotProductAttention(wave([2, 8], 1), none, none).output.data).toEqual(new Float32Array(16));
});
