/**
 * The conformance suite of backends, for the contract in src/backend/contract.ts: attention with every option, its weights and
 * gradients, products, each row-wise and array operation, reading, writing and disposing. Results are compared with float64.
 *
 * The test of a backend passes the backend, a function that places tensors on its device, and the unsupported cases: `skip`
 * maps names of cases to reasons, and `supports` must return that reason.
 */

import {
  type AttentionOptions,
  type AttentionResult,
  alibi,
  causal,
  keyLengths,
  relativeBias,
  Tensor,
} from "heed";
import {
  type ArrayOperation,
  arrayFor,
  type Backend,
  type Operation,
  type RowwiseOperation,
  viewOf,
} from "heed/backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolve } from "../../src/backend/problem.ts";
import { resolveProduct } from "../../src/backend/product.ts";
import { reference } from "../../src/reference/backend.ts";
import { normal } from "../support/cases/call.ts";
import { checkResult } from "../support/oracles/oracle.ts";
import { CASES } from "./cases.ts";

/** A backend under test. */
export interface Target {
  readonly backend: Backend;
  /** A tensor of the CPU on the backend's device, with its strides and offset: a copy. */
  readonly place: (t: Tensor) => Tensor;
  /** Chooses level and threads before the tests. */
  readonly before?: () => void | Promise<void>;
  readonly after?: () => void;
  /** Cases that the backend does not support, by name or by feature, with the reason that `supports` gives. */
  readonly skip?: Readonly<Record<string, string | RegExp>>;
}

/** One case: the operation on placed tensors, a function that runs it, and the tolerance of its results. */
interface DeviceCase {
  readonly name: string;
  readonly features?: readonly string[];
  readonly operation: (place: Place) => Operation;
  /** Runs the operation and returns its results by name. */
  readonly run: (backend: Backend, operation: Operation) => Readonly<Record<string, Tensor | undefined>>;
  /** Maximum error relative to 1 + |want|: a few units of float32 for sums of some hundred terms. */
  readonly tolerance?: number;
}

type Place = (t: Tensor) => Tensor;

const wide = (t: Tensor): Tensor =>
  t.dtype === "float32" ? new Tensor(t.toFloat64(), t.shape, "float64") : t;

/** A call of attention on placed tensors. */
const problemOf = (place: Place, options: (place: Place) => AttentionOptions, Hkv = 2) =>
  resolve(
    "conformance",
    place(normal(1, [2, 4, 9, 8])),
    place(normal(2, [2, Hkv, 13, 8])),
    place(normal(3, [2, Hkv, 13, 6])),
    options(place),
  );

/** Options in addition to those of cases.ts; some take tensors of the device. */
const OPTIONS: Readonly<Record<string, (place: Place) => AttentionOptions>> = {
  plain: () => ({}),
  "bool mask": (place) => ({ attnMask: place(new Tensor(Uint8Array.from({ length: 117 }, (_, n) => +(n % 3 > 0)), [9, 13], "bool")) }),
  "float mask": (place) => ({ attnMask: place(normal(4, [4, 9, 13])) }),
  "mask in nested arrays": () => ({ attnMask: [[true, ...new Array<boolean>(12).fill(false)]] }),
  "sinks as a list": () => ({ sinks: [0.5, -1, 2, 0] }),
  "sinks as a tensor": (place) => ({ sinks: place(normal(5, [4])) }),
  "slopes as a tensor": (place) => ({ scoreMod: alibi(place(normal(6, [4]))) }),
  "a relative table": (place) => ({ scoreMod: relativeBias(place(normal(7, [8, 4]))) }),
  "ragged lengths": () => ({ attnMask: [keyLengths([5, 13]), causal()] }),
  dropout: () => ({ dropoutP: 0.3, seed: 11 }),
  "scale and offset": () => ({ scale: 0.2, isCausal: true, queryOffset: [4, 0] }),
}; // biome-ignore format: a row an option

const attentionCases: DeviceCase[] = Object.entries(OPTIONS).flatMap(([name, options]) => {
  const problem = (place: Place) => problemOf(place, options);
  type Attention = Extract<Operation, { problem: unknown }>;
  return [
    {
      name: `forward: ${name}`,
      operation: (place): Operation => ({ kind: "forward", problem: problem(place) }),
      run: (backend, operation) => ({ ...backend.forward((operation as Attention).problem) }),
    },
    {
      name: `weights: ${name}`,
      operation: (place): Operation => ({ kind: "weights", problem: problem(place) }),
      run(backend, operation) {
        const { problem: own } = operation as Attention;
        const { lse } = backend.forward(own);
        return { weights: backend.weights(own, lse, { heads: [3, 0], rows: [8, 1, 2] }) };
      },
    },
    {
      name: `backward: ${name}`,
      operation: (place): Operation => ({ kind: "backward", problem: problem(place) }),
      run(backend, operation) {
        const { problem: own } = operation as Attention;
        const { output, lse } = backend.forward(own);
        const tensors = { dOutput: output, output, lse };
        const { tables, masks, ...rest } = backend.backward(own, tensors, ["mask", "sinks", "tables"]);
        const [byMask, byTable] = [masks, [...tables.values()]].map((list, n) => Object.fromEntries(list.map((t, i) => [`${["mask", "table"][n]} ${i}`, t])));
        return { ...rest, ...byMask, ...byTable };
      },
      tolerance: 2e-5,
    },
  ] satisfies DeviceCase[];
}); // biome-ignore format: the gradients in a row

const productCase = (
  name: string,
  a: readonly number[],
  b: readonly number[],
  options: (place: Place) => Parameters<typeof resolveProduct>[3] = () => ({}),
): DeviceCase => ({
  name: `matmul: ${name}`,
  operation: (place) => ({
    kind: "matmul",
    product: resolveProduct("conformance", place(normal(1, a)), place(normal(2, b)), options(place)),
  }),
  run: (backend, operation) => ({
    c: backend.matmul((operation as Extract<Operation, { kind: "matmul" }>).product),
  }),
});

const productCases: DeviceCase[] = [
  productCase("[7, 5]·[5, 9]", [7, 5], [5, 9]),
  productCase("transposed", [5, 7], [9, 5], () => ({ transposeA: true, transposeB: true })),
  productCase("batched", [3, 7, 5], [3, 5, 9]),
  productCase("one b for all", [3, 7, 5], [5, 9]),
  productCase("with a bias", [7, 5], [5, 9], (place) => ({ bias: place(normal(3, [9])) })),
  productCase("added to a tensor", [7, 5], [5, 9], (place) => ({ accumulate: place(normal(4, [7, 9])) })),
  productCase("an empty sum", [3, 0], [0, 4]),
];

/** A row-wise operation over named storages, and the names of its results. */
function rowwiseCase(
  name: string,
  tensors: Readonly<Record<string, Tensor>>,
  rest: object,
  results: readonly string[],
): DeviceCase {
  return {
    name: `rowwise: ${name}`,
    operation(place) {
      const placed = Object.entries(tensors).map(([field, t]) => [field, place(t)] as const);
      const storages = Object.fromEntries(placed.map(([field, t]) => [field, t.storage]));
      const operation = { name: name.split(" ")[0], ...rest, ...storages } as unknown as RowwiseOperation;
      outputs.set(operation, Object.fromEntries(placed.filter(([field]) => results.includes(field))));
      return { kind: "rowwise", operation };
    },
    run(backend, { operation }: Extract<Operation, { kind: "rowwise" }>) {
      backend.rowwise(operation);
      return outputs.get(operation) as Record<string, Tensor>;
    },
  } as DeviceCase;
}

/** The tensors over the storages that an operation writes. */
const outputs = new WeakMap<object, Readonly<Record<string, Tensor>>>();
const x = normal(1, [2400]);
const empty = (n = 2400) => normal(9, [n]);
const row = (seed: number) => normal(seed, [10]);
const rowwiseCases: DeviceCase[] = [
  ...(["relu", "gelu", "gelu-tanh", "silu", "sigmoid", "tanh", "elu1"] as const).flatMap((map) => [
    rowwiseCase(`map ${map}`, { x, y: empty() }, { map }, ["y"]),
    rowwiseCase(
      `map-backward ${map}`,
      { x, y: activated(map), dy: normal(3, [2400]), dx: empty() },
      { map },
      ["dx"],
    ),
  ]),
  ...[true, false].flatMap((centered) => {
    const shape = { C: 10, centered, eps: 1e-5 };
    const fields = { x, stats: statsOf(centered), weight: row(4) };
    return [
      rowwiseCase(
        `norm ${centered}`,
        { x, y: empty(), stats: empty(960), weight: row(4), bias: row(5) },
        shape,
        ["y"],
      ),
      rowwiseCase(
        `norm-backward ${centered}`,
        { ...fields, dy: normal(6, [2400]), dx: empty(), dWeight: row(7), dBias: row(8) },
        shape,
        ["dx", "dWeight", "dBias"],
      ),
    ];
  }),
  rowwiseCase("column-sums", { x, sums: empty(10) }, {}, ["sums"]),
  rowwiseCase(
    "cross-entropy",
    { logits: x, dLogits: empty(), loss: empty(1) },
    { V: 10, count: 239, targets: Int32Array.from({ length: 240 }, (_, n) => (n === 7 ? -1 : n % 10)) },
    ["dLogits", "loss"],
  ),
  rowwiseCase(
    "adamw",
    { w: x, g: normal(2, [2400]), m: normal(3, [2400]), v: activated("sigmoid") },
    {
      scalars: {
        scale: 0.5, beta1: 0.9, oneMinusBeta1: 0.1, beta2: 0.99, oneMinusBeta2: 0.01, weightDecayFactor: 0.999, rate: 0.01, biasCorrection2: 1.5, eps: 1e-8,
      },
    },
    ["w", "m", "v"],
  ),
  rowwiseCase("add", { a: x, b: normal(2, [2400]), y: empty() }, { scale: -0.5 }, ["y"]),
]; // biome-ignore format: the scalars in a row

/** f(x), by the reference. */
function activated(map: "relu" | "gelu" | "gelu-tanh" | "silu" | "sigmoid" | "tanh" | "elu1"): Tensor {
  const y = new Float32Array(2400);
  reference.rowwise({ name: "map", map, x: x.data, y });
  return new Tensor(y, [2400], "float32");
}

/** The stats of a norm of x for its gradient, by the reference. */
function statsOf(centered: boolean): Tensor {
  const stats = new Float32Array(960);
  reference.rowwise({
    name: "norm",
    x: x.data,
    y: new Float32Array(2400),
    stats,
    C: 10,
    centered,
    eps: 1e-5,
  });
  return new Tensor(stats, [960], "float32");
}

/** An array operation, and the names of its results. */
function arrayCase(name: string, fields: (place: Place) => object, results: readonly string[]): DeviceCase {
  return {
    name: `array: ${name}`,
    operation: (place) => ({
      kind: "array",
      operation: { name: name.split(" ")[0], ...fields(place) } as unknown as ArrayOperation,
    }),
    run(backend, { operation }: Extract<Operation, { kind: "array" }>) {
      backend.array(operation);
      const all = operation as unknown as Record<string, Tensor>;
      return Object.fromEntries(results.map((result) => [result, all[result]]));
    },
  } as DeviceCase;
}

const t = (seed: number, ...shape: number[]) => normal(seed, shape);
const positions = () => new Tensor(Int32Array.of(0, 4, 2, 1, 3, 3), [2, 1, 3], "int32");
const ids = Int32Array.of(4, 0, 4, 2);
const pairs = { N: 3, repeat: 1, R: 4, amplitude: 1.1, cos: Float64Array.of(1, 0.5, 0.3, 0.2, -1, 0), sin: Float64Array.of(0, 0.8, 0.9, 0.1, 0.2, 1) }; // biome-ignore format: one row
const arrayCases: DeviceCase[] = [
  ...(["add", "sub", "multiply", "divide"] as const).map((f) =>
    arrayCase(`binary ${f}`, (place) => ({ function: f, a: place(t(1, 2, 1, 4)), b: place(t(2, 4, 3).transpose()), y: place(t(9, 2, 3, 4)) }), ["y"])),
  arrayCase("divide-backward", (place) => ({ dy: place(t(1, 2, 3, 4)), y: place(t(2, 2, 3, 4)), b: place(t(3, 3, 1)), db: place(t(9, 2, 3, 4)) }), ["db"]),
  ...(["float64", "float16", "bfloat16", "bool"] as const).map((dtype) =>
    arrayCase(`cast to ${dtype}`, (place) => ({ x: place(t(1, 3, 4).transpose()), y: place(new Tensor(arrayFor(dtype, 12), [4, 3], dtype)) }), ["y"])),
  arrayCase("where", (place) => ({ condition: place(new Tensor(Uint8Array.of(1, 0, 1), [3, 1], "bool")), a: place(t(1, 4)), b: place(t(2, 2, 3, 4)), y: place(t(9, 2, 3, 4)) }), ["y"]),
  arrayCase("scale", (place) => ({ x: place(t(1, 3, 4).transpose()), factor: 0.3, y: place(t(9, 4, 3)) }), ["y"]),
  ...(["exp", "square", "abs"] as const).flatMap((f) => [
    arrayCase(`elementwise ${f}`, (place) => ({ function: f, x: place(t(1, 3, 4)), y: place(t(9, 3, 4)) }), ["y"]),
    arrayCase(`elementwise-backward ${f}`, (place) => ({ function: f, x: place(t(1, 3, 4)), y: place(t(2, 3, 4)), dy: place(t(3, 3, 4)), dx: place(t(9, 3, 4)) }), ["dx"]),
  ]),
  arrayCase("sum", (place) => ({ x: place(t(1, 2, 3, 4)), y: place(t(9, 3, 1)) }), ["y"]),
  ...(["max", "min"] as const).map((f) =>
    arrayCase(`extreme ${f}`, (place) => ({ function: f, x: place(t(1, 2, 5, 3)), y: place(t(9, 2, 1, 3)), position: place(positions()) }), ["y", "position"])),
  arrayCase("extreme-backward", (place) => ({ dy: place(t(1, 2, 1, 3)), position: place(positions()), dx: place(t(9, 2, 5, 3)) }), ["dx"]),
  arrayCase("softmax", (place) => ({ x: place(t(1, 3, 5)), y: place(t(9, 3, 5)) }), ["y"]),
  arrayCase("softmax-backward", (place) => ({ y: place(t(1, 3, 5)), dy: place(t(2, 3, 5)), dx: place(t(9, 3, 5)) }), ["dx"]),
  arrayCase("assign", (place) => {
    const y = place(t(9, 3, 4));
    return { x: place(t(1, 2)), y: part(y), whole: y };
  }, ["whole"]),
  arrayCase("embedding", (place) => ({ table: place(t(1, 5, 3)), ids, y: place(t(9, 4, 3)) }), ["y"]),
  arrayCase("embedding-backward", (place) => ({ dy: place(t(1, 4, 3)), ids, dTable: place(t(9, 5, 3)) }), ["dTable"]),
  ...(["half", "interleaved"] as const).map((layout) =>
    arrayCase(`rope ${layout}`, (place) => ({ x: place(t(1, 2, 3, 5)), ...pairs, layout, sign: layout === "half" ? 1 : -1, y: place(t(9, 2, 3, 5)) }), ["y"])),
  arrayCase("dropout", (place) => ({ x: place(t(1, 30, 10)), p: 0.4, seed: 2 ** 40 + 5, y: place(t(9, 30, 10)) }), ["y"]),
  arrayCase("mergeStates", (place) => ({ states: [1, 2, 3].map((n) => ({ output: place(t(n, 6, 4)), lse: place(t(n + 3, 6)) })), output: place(t(9, 6, 4)), lse: place(t(9, 6)) }), ["output", "lse"]),
]; // biome-ignore format: a row an operation

/** Rows 1 and 2, columns 0 and 2 of a matrix [3, 4]. */
const part = (y: Tensor): Tensor => viewOf(y, [2, 2], [4, 2], 4);

/** Runs the suite for a backend. */
export function deviceConformance(name: string, { backend, place, before, after, skip = {} }: Target): void {
  /** The reason why a case is skipped. */
  const reasonOf = ({ name, features = [] }: { name: string; features?: readonly string[] }) =>
    Object.entries(skip).find(
      ([key]) => name === key || name.startsWith(`${key}:`) || features.includes(key),
    )?.[1];

  describe(`${name}: the contract of backends`, () => {
    if (before) beforeAll(before);
    if (after) afterAll(after);

    describe("the table of cases.ts, forward", () => {
      for (const { name, features, make } of CASES) {
        const reason = reasonOf({ name, features });
        it(reason ? `${name}: not supported` : name, async () => {
          const c = make();
          const moved = (x: unknown) => (x instanceof Tensor ? place(x) : x);
          const { attnMask } = c.options;
          const mask = Array.isArray(attnMask) ? attnMask.map(moved) : moved(attnMask);
          const options = {
            ...c.options,
            ...(attnMask !== undefined && { attnMask: mask as typeof attnMask }),
          };
          const problem = resolve("conformance", place(c.query), place(c.key), place(c.value), options);
          const supported = backend.supports({ kind: "forward", problem });
          if (reason) return expect(supported).toMatch(reason);
          expect(supported).toBeUndefined();
          const { output, lse } = backend.forward(problem);
          checkResult(c, { output: await onCpu(output), lse: await onCpu(lse) } as AttentionResult);
        });
      }
    });

    for (const c of [...attentionCases, ...productCases, ...rowwiseCases, ...arrayCases]) {
      const reason = reasonOf(c);
      it(reason ? `${c.name}: not supported` : c.name, async () => {
        const operation = c.operation(place);
        const supported = backend.supports(operation);
        if (reason) return expect(supported).toMatch(reason);
        expect(supported).toBeUndefined();
        expect(backend.plan(operation).backend).toBe(backend.name);
        const got = c.run(backend, operation);
        const want = c.run(
          reference,
          c.operation((tensor) => wide(copied(tensor))),
        );
        expect(Object.keys(got)).toEqual(Object.keys(want));
        for (const [field, expected] of Object.entries(want)) {
          const result = got[field];
          expect([field, result?.device, result?.shape]).toEqual([
            field,
            result && backend.device,
            expected?.shape,
          ]);
          if (result && expected) near(await onCpu(result), expected, c.tolerance ?? 5e-6, field);
        }
      });
    }

    it("allocates zeros, of every dtype", async () => {
      for (const dtype of ["float32", "float64", "float16", "bfloat16", "int32", "bool"] as const) {
        const zeros = backend.allocate([2, 3], dtype);
        expect([zeros.device, zeros.dtype, zeros.shape]).toEqual([backend.device, dtype, [2, 3]]);
        expect([...(await zeros.read())].map(Number)).toEqual([0, 0, 0, 0, 0, 0]);
      }
    });

    it("reads written data, views in row-major order, and disposes tensors", async () => {
      const dense = place(normal(1, [3, 4]));
      expect(await dense.read()).toEqual(normal(1, [3, 4]).data);
      const across = dense.transpose();
      expect(await across.read()).toEqual(normal(1, [3, 4]).transpose().contiguous().data);
      dense.dispose();
      dense.dispose();
      await expect(dense.read()).rejects.toThrow(/disposed/);
      expect((await across.read()).length).toBe(12);
    });
  });
}

/** A copy of a tensor of the CPU that shares no memory: `place` of the CPU's backends. */
export const copied = (t: Tensor): Tensor => {
  const all = t.data.slice() as typeof t.data;
  return new Tensor(all, t.shape, t.dtype, t.strides, t.offset);
};

/** The numbers of a tensor of any device, as a CPU tensor. */
const onCpu = async (t: Tensor): Promise<Tensor> => new Tensor(await t.read(), t.shape, t.dtype);

function near(got: Tensor, want: Tensor, tolerance: number, field: string): void {
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  for (let n = 0; n < b.length; n++)
    if (!(Object.is(a[n], b[n]) || Math.abs(a[n] - b[n]) <= tolerance * (1 + Math.abs(b[n]))))
      expect.fail(`${field}, element ${n}: ${a[n]}, expected ${b[n]}`);
}
