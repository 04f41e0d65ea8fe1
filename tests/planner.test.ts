/** What the planner and the dispatcher refuse, and the branches that no other test of theirs reaches. */
import {
  alibi,
  attentionBackward,
  cast,
  configure,
  DTypeError,
  OptionError,
  randn,
  ShapeError,
  scaledDotProductAttention,
  zeros,
} from "heed";
import { registerBackend } from "heed/backend";
import { afterEach, describe, expect, it, vi } from "vitest";
import { backendFor, deviceBackend } from "../src/api/dispatch/rule.ts";
import { matmul } from "../src/api/matmul.ts";
import { bytesText, countText } from "../src/backend/plan/plan.ts";

const q = randn([2, 3, 4], { seed: 1 });
const thrown = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (error) {
    return error;
  }
};

it("registerBackend refuses a missing backend, and one that names another device", () => {
  const device = { name: "mars" } as never;
  expect(() => registerBackend(undefined as never, device)).toThrow(OptionError);
  expect(() => registerBackend({ name: "b", device: "venus" } as never, device)).toThrow(
    /names the device "venus"/,
  );
  expect(() => registerBackend({ name: "b", device: "cpu" } as never, { name: "cpu" } as never)).toThrow(
    /not "cpu"/,
  );
});

describe("the rule", () => {
  const { backend } = configure();
  afterEach(() => configure({ backend }));
  const operation = {
    kind: "matmul",
    product: { caller: "matmul", a: { tensor: q }, b: { tensor: q } },
  } as never;
  const devices = ["matmul", []] as const;
  const kernels = { supports: () => "no kernel" } as never;
  const loops = { supports: () => undefined } as never;

  it("takes the loops with the reason where the kernels do not support an operation", () => {
    configure({ backend: "auto" });
    expect(backendFor(operation, devices, kernels, loops)).toEqual({
      backend: loops,
      fallbackReason: "no kernel",
    });
  });
  it("refuses the operation where the wasm backend was chosen", () => {
    configure({ backend: "wasm" });
    expect(() => backendFor(operation, devices, kernels, loops)).toThrow(
      /matmul: the wasm backend does not support this call: no kernel/,
    );
  });
  it("refuses an operation on a device without a backend, and one that its backend does not support", () => {
    expect(() => deviceBackend("pluto", "matmul", operation)).toThrow(/no backend is registered for it/);
    registerBackend(
      { name: "b", device: "ceres", supports: () => "not yet" } as never,
      { name: "ceres" } as never,
    );
    expect(() => deviceBackend("ceres", "matmul", operation)).toThrow(/on the device "ceres": not yet/);
  });
});

describe("sizes in words", () => {
  it("bytes and counts have a unit from the first threshold to the last", () => {
    expect([0, 1023, 1024, 2 ** 41, 2 ** 60].map(bytesText)).toEqual([
      "0 B",
      "1023 B",
      "1.00 KiB",
      "2.00 TiB",
      "1048576.00 TiB",
    ]);
    expect([0, 999, 1000, 1e12].map(countText)).toEqual(["0", "999", "1.00k", "1.00T"]);
  });
});

it("a mask of another dtype, and one of another shape, are refused with what fits", () => {
  const half = cast(q, "bfloat16");
  expect(
    thrown(() => scaledDotProductAttention(half, half, half, { attnMask: zeros([3, 3], "float64") })),
  ).toMatchObject({
    name: "DTypeError",
    message: expect.stringContaining("must be bool, bfloat16 or float32"),
  });
  expect(thrown(() => scaledDotProductAttention(q, q, q, { attnMask: zeros([5, 3], "bool") }))).toMatchObject(
    {
      name: "ShapeError",
      message: expect.not.stringContaining("for padding"),
    },
  );
});

it("a call without queries checks no table", () => {
  const none = zeros([2, 0, 4]);
  expect(scaledDotProductAttention(none, q, q, { scoreMod: alibi([1, 2, 3]) }).output.shape).toEqual([
    2, 0, 4,
  ]);
});

it("matmul says that shapes are those after transposing", () => {
  const [a, b] = [zeros([2, 3]), zeros([2, 3])];
  expect(matmul(a, b, { transposeA: true }).shape).toEqual([3, 3]);
  expect(() => matmul(a, zeros([4, 5]), { transposeA: true })).toThrow(
    /columns and b 4 rows after transposing/,
  );
});

it("matmul accumulates into a tensor of the result's shape and dtype only", () => {
  const a = zeros([2, 2]);
  expect(() => matmul(a, a, { accumulate: [[1, 2]] as never })).toThrow(ShapeError);
  expect(() => matmul(a, a, { accumulate: zeros([2, 2], "float64") as never })).toThrow(DTypeError);
  expect(() => matmul(a, a, { accumulate: zeros([2, 3]) })).toThrow(ShapeError);
});

it("a gradient of the output has its shape, and float64 where the call is float64", () => {
  const state = scaledDotProductAttention(q, q, q);
  expect(() => attentionBackward(zeros([2, 3, 5]), q, q, q, state)).toThrow(
    /dOutput must have the shape of the output/,
  );
  expect(() => attentionBackward(zeros([2, 3, 4], "float64"), q, q, q, state)).toThrow(
    /dOutput must be float32, float16 or bfloat16/,
  );
  const wide = cast(q, "float64");
  expect(() => attentionBackward(q, wide, wide, wide, scaledDotProductAttention(wide, wide, wide))).toThrow(
    /dOutput must be float64/,
  );
});

it("gradients of [B, N, H, d] and of broadcast inputs have the shapes of the inputs", () => {
  const x = randn([2, 3, 2, 4], { seed: 2 });
  const one = randn([1, 3, 2, 4], { seed: 3 });
  const options = { layout: "bshd" } as const;
  const state = scaledDotProductAttention(x, one, one, options);
  const { dQuery, dKey } = attentionBackward(x, x, one, one, state, options);
  expect([dQuery.shape, dKey.shape]).toEqual([x.shape, one.shape]);
});

describe("settings from the environment", () => {
  const names = ["HEED_BACKEND", "HEED_SIMD", "HEED_THREADS"] as const;
  const saved = names.map((name) => process.env[name]);
  afterEach(() => {
    vi.unstubAllGlobals();
    for (const [n, name] of names.entries()) {
      const value = saved[n];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const fresh = async (env: Partial<Record<(typeof names)[number], string>>) => {
    for (const name of names) delete process.env[name];
    Object.assign(process.env, env);
    vi.resetModules();
    return import("../src/backend/settings.ts");
  };

  it("are those of HEED_BACKEND, HEED_SIMD and HEED_THREADS", async () => {
    const { settings } = await fresh({
      HEED_BACKEND: "reference",
      HEED_SIMD: "strict",
      HEED_THREADS: "3",
    });
    expect(settings()).toMatchObject({ backend: "reference", simd: "strict", threads: 3 });
  });
  it("are refused by the name of the variable", async () => {
    const wrong = await fresh({ HEED_SIMD: "reference" });
    expect(() => wrong.settings()).toThrow(/HEED_SIMD: .* set HEED_BACKEND=reference/);
  });
  it("are the defaults where the environment cannot be read, and one thread where the cores are unknown", async () => {
    vi.stubGlobal("navigator", {});
    vi.stubGlobal("process", {
      get env() {
        throw new Error("no permission");
      },
    });
    vi.resetModules();
    const { settings } = await import("../src/backend/settings.ts");
    expect(settings()).toMatchObject({ backend: "auto", simd: "relaxed", threads: 1 });
  });
});
