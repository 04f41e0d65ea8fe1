/**
 * The conformance suite of backends, for the contract in src/backend/contract.ts: attention with every option, its weights and
 * gradients, products, each row-wise and array operation, reading, writing and disposing. Results are compared with float64.
 *
 * The test of a backend passes the backend, its device, and the unsupported cases: `skip` maps cases to reasons, and `supports` must
 * return that reason for each of them.
 */

import type { AttentionOptions, AttentionResult } from "heed";
import { alibi, cast, causal, keyLengths, queryLengths, relativeBias, Tensor } from "heed";
import type { ArrayOperation, Backend, Device, Operation, Problem, RowwiseOperation } from "heed/backend";
import { arrayFor, viewOf } from "heed/backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolve } from "../../src/backend/problem.ts";
import { resolveProduct } from "../../src/backend/product.ts";
import { reference } from "../../src/reference/backend.ts";
import { placeOn } from "../support/backends/place.ts";
import { normal } from "../support/cases/call.ts";
import { checkResult } from "../support/oracles/oracle.ts";
import { CASES } from "./cases.ts";

/** A backend under test. */
export interface Target {
  readonly backend: Backend;
  /** The device of the backend; undefined for a backend of the CPU. */
  readonly device?: Device;
  /** Chooses level and threads before the tests. */
  readonly before?: () => void | Promise<void>;
  readonly after?: () => void;
  /**
   * Cases that the backend does not support, with the reason that `supports` gives. A key is the name of a case
   * ("array: dropout"), all names before a colon ("array"), a feature (a dtype, an option such as "dropout", "score mod", "sinks", or a
   * mask or score mod of cases.ts), or a pass and a feature ("backward: sinks"). A key without a case fails.
   */
  readonly skip?: Readonly<Record<string, string | RegExp>>;
  /** Which cases run, by name; by default all. Where a driver takes seconds to compile a kernel, a part of them is a first check. */
  readonly only?: (name: string) => boolean;
}

/** One case: the operation on placed tensors, a function that runs it, and the tolerance of its results. */
interface DeviceCase {
  readonly name: string;
  readonly features?: readonly string[];
  readonly operation: (place: Place) => Operation;
  /** Runs the operation and returns its results by name. `place` is that of `operation`. */
  readonly run: (backend: Backend, operation: Operation, place: Place) => Results | Promise<Results>;
  /** Maximum error relative to 1 + |want|: a few units of float32 for sums of some hundred terms. */
  readonly tolerance?: number;
}

type Place = (t: Tensor) => Tensor;
type Results = Readonly<Record<string, Tensor | undefined>>;

const wide = (t: Tensor): Tensor =>
  t.dtype === "float32" ? new Tensor(t.toFloat64(), t.shape, "float64") : t;

/** A call of attention in addition to those of cases.ts; some options take tensors of the device. */
interface Variant {
  readonly options?: (place: Place) => AttentionOptions;
  readonly features?: readonly string[];
  /** Query, key and value; by default [2, 4, 9, 8], [2, 2, 13, 8] and [2, 2, 13, 6]. */
  readonly inputs?: readonly [Tensor, Tensor, Tensor];
  /** Added to the lse of the forward pass, as if the state had been merged with that of other keys. */
  readonly otherKeys?: number;
  /** Passes dOutput, output and lse as views with an offset; dOutput and output also with other strides. */
  readonly views?: boolean;
  readonly tolerance?: number;
}

const inputs = (q: readonly number[], k: readonly number[], v: readonly number[]) =>
  [q, k, v].map((shape, n) => normal(n + 1, shape)) as [Tensor, Tensor, Tensor];
const PLAIN = inputs([2, 4, 9, 8], [2, 2, 13, 8], [2, 2, 13, 6]);
const masked = PLAIN.map((t, n) =>
  // Rows 5 … 12 of keys and values.
  n === 0
    ? t
    : new Tensor(
        (t.data as Float32Array).map((x, at) => (Math.floor(at / t.shape[3]) % 13 < 5 ? x : Number.NaN)),
        t.shape,
        "float32",
      ),
) as [Tensor, Tensor, Tensor];
const halves = PLAIN.map((t) => cast(t, "float16")) as Tensor[] as [Tensor, Tensor, Tensor];

/** The same elements with an offset and, for more than one axis, the strides of another order of axes. */
function scattered(t: Tensor, reorder = true): Tensor {
  const rank = t.shape.length;
  const source = reorder && rank > 1 ? t.transpose().contiguous() : t.contiguous();
  const data = new Float32Array(source.size + 3).fill(Number.NaN);
  data.set(source.data as Float32Array, 3);
  const view = new Tensor(data, source.shape, "float32", source.strides, 3);
  return reorder && rank > 1 ? view.transpose() : view;
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  plain: {},
  "bool mask": { options: (place) => ({ attnMask: place(new Tensor(Uint8Array.from({ length: 117 }, (_, n) => +(n % 3 > 0)), [9, 13], "bool")) }) },
  "float mask": { options: (place) => ({ attnMask: place(normal(4, [4, 9, 13])) }) },
  "float mask that broadcasts, as a view": { options: (place) => ({ attnMask: place(scattered(normal(4, [9, 1]))) }) },
  "two masks": { options: (place) => ({ attnMask: [place(new Tensor(Uint8Array.from({ length: 13 }, (_, n) => +(n % 4 > 0)), [13], "bool")), place(normal(4, [9, 13]))] }) },
  "mask in nested arrays": { options: () => ({ attnMask: [[true, ...new Array<boolean>(12).fill(false)]] }) },
  "sinks as a list": { features: ["sinks"], options: () => ({ sinks: [0.5, -1, 2, 0] }) },
  "sinks as a tensor": { features: ["sinks"], options: (place) => ({ sinks: place(normal(5, [4])) }) },
  "sinks as a view": { features: ["sinks"], options: (place) => ({ sinks: place(scattered(normal(5, [4]))) }) },
  "slopes as a tensor": { features: ["score mod"], options: (place) => ({ scoreMod: alibi(place(normal(6, [4]))) }) },
  "a relative table": { features: ["score mod"], options: (place) => ({ scoreMod: relativeBias(place(normal(7, [8, 4]))) }) },
  "ragged lengths": { options: () => ({ attnMask: [keyLengths([5, 13]), causal()] }) },
  "fully masked rows": { options: () => ({ attnMask: [keyLengths([0, 13]), queryLengths([9, 4])] }) },
  "NaN in masked keys and values": { inputs: masked, options: () => ({ attnMask: keyLengths(5) }) },
  "NaN in masked keys and values, by a float mask": { inputs: masked, options: (place) => ({ attnMask: place(new Tensor(Float32Array.from({ length: 13 }, (_, j) => (j < 5 ? j : -Infinity)), [13], "float32")) }) },
  dropout: { options: () => ({ dropoutP: 0.3, seed: 11 }) },
  "scale and offset": { options: () => ({ scale: 0.2, isCausal: true, queryOffset: [4, 0] }) },
  "layout bshd": { inputs: inputs([2, 9, 4, 8], [2, 13, 2, 8], [2, 13, 2, 6]), options: () => ({ layout: "bshd" }) },
  "keys and values for all batch entries": { inputs: inputs([2, 4, 9, 8], [1, 2, 13, 8], [2, 13, 6]) },
  "no axis of heads": { inputs: inputs([9, 8], [13, 8], [13, 6]) },
  "no keys": { inputs: inputs([2, 4, 9, 8], [2, 2, 0, 8], [2, 2, 0, 6]) },
  views: { views: true, inputs: PLAIN.map((t) => scattered(t)) as [Tensor, Tensor, Tensor] },
  "a state merged with that of other keys": { otherKeys: 0.7 },
  "float16 tensors": { features: ["float16"], inputs: halves, tolerance: 2e-3 },
}; // biome-ignore format: a row a variant

const attentionCases: DeviceCase[] = Object.entries(VARIANTS).flatMap(([name, variant]) => {
  const { options = () => ({}), features = [], tolerance } = variant;
  const problem = (place: Place) => {
    const [query, key, value] = (variant.inputs ?? PLAIN).map(place);
    return resolve("conformance", query, key, value, options(place));
  };
  type Attention = Extract<Operation, { problem: unknown }>;
  /** The state of the forward pass, as the variant passes it on. */
  const stateOf = async (backend: Backend, local: Problem, place: Place) => {
    const { output, lse } = backend.forward(local);
    if (variant.otherKeys === undefined && !variant.views) return { output, lse };
    const [o, l] = [await onCpu(output), await onCpu(lse)];
    const added = new Tensor((l.data as Float32Array).map((x) => x + (variant.otherKeys ?? 0)), l.shape, l.dtype);
    return variant.views && o.dtype === "float32"
      ? { output: place(scattered(o)), lse: place(scattered(added, false)) }
      : { output, lse: place(added) };
  };
  const heads = (local: Problem) => (local.shape.Hq > 1 ? [3, 0] : [0]);
  return [
    {
      features,
      tolerance,
      name: `forward: ${name}`,
      operation: (place): Operation => ({ kind: "forward", problem: problem(place) }),
      run: (backend, operation) => ({ ...backend.forward((operation as Attention).problem) }),
    },
    {
      features,
      tolerance,
      name: `weights: ${name}`,
      operation: (place): Operation => ({ kind: "weights", problem: problem(place) }),
      async run(backend, operation, place) {
        const { problem: local } = operation as Attention;
        const { lse } = await stateOf(backend, local, place);
        return { weights: backend.weights(local, lse, { heads: heads(local), rows: [8, 1, 2] }) };
      },
    },
    {
      features,
      name: `backward: ${name}`,
      operation: (place): Operation => ({ kind: "backward", problem: problem(place) }),
      async run(backend, operation, place) {
        const { problem: local } = operation as Attention;
        const { output, lse } = await stateOf(backend, local, place);
        const tensors = { dOutput: output, output, lse };
        const { tables, masks, ...rest } = backend.backward(local, tensors, ["mask", "sinks", "tables"]);
        const [byMask, byTable] = [masks, [...tables.values()]].map((list, n) => Object.fromEntries(list.map((t, i) => [`${["mask", "table"][n]} ${i}`, t])));
        return { ...rest, ...byMask, ...byTable };
      },
      tolerance: tolerance ?? 2e-5,
    },
  ] satisfies DeviceCase[];
}); // biome-ignore format: the gradients in a row

const productCase = (
  name: string,
  a: readonly number[] | Tensor,
  b: readonly number[] | Tensor,
  options: (place: Place) => Parameters<typeof resolveProduct>[3] = () => ({}),
): DeviceCase => ({
  name: `matmul: ${name}`,
  operation(place) {
    const [left, right] = [a, b].map((x, n) => place(x instanceof Tensor ? x : normal(n + 1, x)));
    return { kind: "matmul", product: resolveProduct("conformance", left, right, options(place)) };
  },
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
  productCase("views", scattered(normal(1, [3, 7, 5])), scattered(normal(2, [5, 9])), (place) => ({
    bias: place(scattered(normal(3, [9]))),
    accumulate: place(scattered(normal(4, [3, 7, 9]), false)),
  })),
  productCase("an empty sum", [3, 0], [0, 4]),
];

/** A row-wise operation over named storages, and the names of its results. `same`: the inputs that outputs overwrite. */
function rowwiseCase(
  name: string,
  tensors: Readonly<Record<string, Tensor>>,
  rest: object,
  results: readonly string[],
  same: Readonly<Record<string, string>> = {},
): DeviceCase {
  return {
    name: `rowwise: ${name}`,
    operation(place) {
      const each = Object.fromEntries(Object.entries(tensors).map(([field, t]) => [field, place(t)]));
      const placed = Object.entries(each).map(([field, t]) => [field, each[same[field]] ?? t] as const);
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
  rowwiseCase("add equal parts", { a: normal(4, [4801]), b: normal(5, [4801]), y: empty(4801) }, { scale: 1 }, ["y"]),
  rowwiseCase("add equal parts in place", { a: normal(4, [4801]), b: normal(5, [4801]), y: normal(5, [4801]) }, { scale: 1 }, ["y"], { y: "b" }),
  rowwiseCase("map silu in place", { x, y: x }, { map: "silu" }, ["y"], { y: "x" }),
  rowwiseCase("map-backward silu in place", { x, y: activated("silu"), dy: normal(3, [2400]), dx: x }, { map: "silu" }, ["dx"], { dx: "dy" }),
  rowwiseCase("add in place", { a: x, b: normal(2, [2400]), y: x }, { scale: 2 }, ["y"], { y: "a" }),
  rowwiseCase(
    "cross-entropy in place",
    { logits: x, dLogits: x, loss: empty(1) },
    { V: 10, count: 240, targets: Int32Array.from({ length: 240 }, (_, n) => n % 10) },
    ["dLogits", "loss"],
    { dLogits: "logits" },
  ),
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
/** The lse of state n of three, which are empty in each combination in 8 rows. */
const emptyIn = (n: number) => {
  const lse = t(n + 3, 8);
  lse.data.forEach((_, row) => void ((row >> n) & 1 && (lse.data[row] = -Infinity)));
  return lse;
};
const arrayCases: DeviceCase[] = [
  ...(["add", "sub", "multiply", "divide"] as const).map((f) =>
    arrayCase(`binary ${f}`, (place) => ({ function: f, a: place(t(1, 2, 1, 4)), b: place(t(2, 4, 3).transpose()), y: place(t(9, 2, 3, 4)) }), ["y"])),
  arrayCase("divide-backward", (place) => ({ dy: place(t(1, 2, 3, 4)), y: place(t(2, 2, 3, 4)), b: place(t(3, 3, 1)), db: place(t(9, 2, 3, 4)) }), ["db"]),
  ...(["float64", "float16", "bfloat16", "bool"] as const).map((dtype) =>
    arrayCase(`cast to ${dtype}`, (place) => ({ x: place(t(1, 3, 4).transpose()), y: place(new Tensor(arrayFor(dtype, 12), [4, 3], dtype)) }), ["y"])),
  arrayCase("where", (place) => ({ condition: place(new Tensor(Uint8Array.of(1, 0, 1), [3, 1], "bool")), a: place(t(1, 4)), b: place(t(2, 2, 3, 4)), y: place(t(9, 2, 3, 4)) }), ["y"]),
  arrayCase("power", (place) => ({ a: place(t(1, 1, 4)), b: place(t(2, 3, 1)), y: place(t(9, 3, 4)) }), ["y"]),
  arrayCase("power of negative numbers", (place) => ({ a: place(new Tensor(Float32Array.of(-2, -0.5, 1.5, 3), [4], "float32")), b: place(new Tensor(Float32Array.of(2, 3, 0, -1), [4, 1], "float32")), y: place(t(9, 4, 4)) }), ["y"]),
  ...(["lt", "le", "eq", "ne"] as const).map((f) =>
    arrayCase(`compare ${f}`, (place) => ({ function: f, a: place(new Tensor(Float32Array.of(0, 1, 2, NaN), [4], "float32")), b: place(new Tensor(Float32Array.of(1, NaN, 1), [3, 1], "float32")), y: place(new Tensor(new Uint8Array(12), [3, 4], "bool")) }), ["y"])),
  ...([false, true] as const).flatMap((flag) => [
    arrayCase(`cumsum ${flag ? "from the end" : "from the start"}`, (place) => ({ x: place(t(1, 2, 5, 3)), reverse: flag, y: place(t(9, 2, 5, 3)) }), ["y"]),
    arrayCase(`sort ${flag ? "descending" : "ascending"}`, (place) => ({ x: place(t(1, 2, 5, 3)), descending: flag, y: place(t(9, 2, 5, 3)), position: place(new Tensor(new Int32Array(30), [2, 5, 3], "int32")) }), ["y", "position"]),
  ]),
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
    return { x: place(t(1, 2)), y: part(y), full: y };
  }, ["whole"]),
  arrayCase("embedding", (place) => ({ table: place(t(1, 5, 3)), ids, y: place(t(9, 4, 3)) }), ["y"]),
  arrayCase("embedding-backward", (place) => ({ dy: place(t(1, 4, 3)), ids, dTable: place(t(9, 5, 3)) }), ["dTable"]),
  ...(["half", "interleaved"] as const).map((layout) =>
    arrayCase(`rope ${layout}`, (place) => ({ x: place(t(1, 2, 3, 5)), ...pairs, layout, sign: layout === "half" ? 1 : -1, y: place(t(9, 2, 3, 5)) }), ["y"])),
  arrayCase("dropout", (place) => ({ x: place(t(1, 30, 10)), p: 0.4, seed: 2 ** 40 + 5, y: place(t(9, 30, 10)) }), ["y"]),
  arrayCase("mergeStates", (place) => ({ states: [1, 2, 3].map((n) => ({ output: place(t(n, 6, 4)), lse: place(t(n + 3, 6)) })), output: place(t(9, 6, 4)), lse: place(t(9, 6)) }), ["output", "lse"]),
  arrayCase("mergeStates with empty parts", (place) => ({ states: [0, 1, 2].map((n) => ({ output: place(t(n, 8, 4)), lse: place(emptyIn(n)) })), output: place(t(9, 8, 4)), lse: place(t(9, 8)) }), ["output", "lse"]),
]; // biome-ignore format: a row an operation

/** Rows 1 and 2, columns 0 and 2 of a matrix [3, 4]. */
const part = (y: Tensor): Tensor => viewOf(y, [2, 2], [4, 2], 4);

/** Runs the suite for a backend. */
export function deviceConformance(
  name: string,
  { backend, device, before, after, skip = {}, only }: Target,
): void {
  const place = device ? placeOn(device) : copied;
  const used = new Set<string>();
  /** The reason why a case is skipped. */
  const reasonOf = ({ name, features = [] }: { name: string; features?: readonly string[] }) => {
    const [kind] = name.split(":");
    const names = [
      name,
      kind,
      name.slice(kind.length + 2),
      ...features,
      ...features.map((f) => `${kind}: ${f}`),
    ];
    const keys = Object.keys(skip).filter((key) => names.includes(key));
    for (const key of keys) used.add(key);
    return skip[keys[0]];
  };

  describe(`${name}: the contract of backends`, () => {
    if (before) beforeAll(before);
    if (after) afterAll(after);

    describe("the table of cases.ts, forward", () => {
      for (const { name, features, make } of CASES) {
        if (only?.(`forward: ${name}`) === false) continue;
        const reason = reasonOf({ name: `forward: ${name}`, features });
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
      if (only?.(c.name) === false) continue;
      const reason = reasonOf(c);
      it(reason ? `${c.name}: not supported` : c.name, async () => {
        const operation = c.operation(place);
        const supported = backend.supports(operation);
        if (reason) return expect(supported).toMatch(reason);
        expect(supported).toBeUndefined();
        const plan = backend.plan(operation);
        expect(plan.backend).toBe(backend.name);
        for (const n of [plan.operations, plan.bytes, plan.tasks, plan.threads])
          expect(Number.isInteger(n) && n >= 0, JSON.stringify(plan)).toBe(true);
        const got = await c.run(backend, operation, place);
        const exact = (tensor: Tensor) => wide(copied(tensor));
        const want = await c.run(reference, c.operation(exact), exact);
        expect(Object.keys(got)).toEqual(Object.keys(want));
        for (const [field, expected] of Object.entries(want)) {
          const result = got[field];
          const dtype =
            expected?.dtype === "float64" && !c.name.includes("float64") ? "float32" : expected?.dtype;
          expect([field, result?.device, result?.shape, result?.dtype]).toEqual([
            field,
            expected && backend.device,
            expected?.shape,
            dtype,
          ]);
          if (result && expected) near(await onCpu(result), expected, c.tolerance ?? 5e-6, field);
        }
      });
    }

    it.skipIf(only)("each entry of skip names a case", () => {
      expect([...used].sort()).toEqual(Object.keys(skip).sort());
    });

    it("computes only the gradients that are wanted", () => {
      const [query, key, value] = PLAIN.map(place);
      for (const options of [
        { attnMask: place(normal(4, [9, 13])) },
        { sinks: [0, 1, 2, 3] },
        { scoreMod: alibi([1, 2, 3, 4]) },
      ]) {
        const problem = resolve("conformance", query, key, value, options);
        if (backend.supports({ kind: "backward", problem }) !== undefined) continue;
        const { output, lse } = backend.forward(problem);
        const { masks, sinks, tables } = backend.backward(problem, { dOutput: output, output, lse }, []);
        expect([masks.filter(Boolean), sinks, tables.size]).toEqual([[], undefined, 0]);
      }
    });

    it("computes with the numbers at the time of the call", async () => {
      const [a, b] = [normal(1, [2, 3]), normal(2, [3, 2])];
      const operation = {
        kind: "matmul",
        product: resolveProduct("conformance", place(a), place(b), {}),
      } as const;
      const { product } = operation;
      if (backend.supports(operation) !== undefined) return;
      // Now the numbers are on the device, and an early release would be noticed.
      for (const t of [product.a.tensor, product.b.tensor]) await t.read();
      const result = backend.matmul(product);
      for (const t of [product.a.tensor, product.b.tensor]) t.dispose();
      near(await onCpu(result), reference.matmul(resolveProduct("conformance", a, b, {})), 5e-6, "c");
      if (!device) return;
      const numbers = Float32Array.of(1, 2, 3);
      const storage = device.allocate("float32", 3);
      device.write(storage, numbers);
      numbers.fill(0);
      expect([...(await device.read(storage))].map(Number)).toEqual([1, 2, 3]);
    });

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
      expect(await part(dense).read()).toEqual(part(normal(1, [3, 4])).contiguous().data);
      dense.dispose();
      dense.dispose();
      await expect(dense.read()).rejects.toThrow(/disposed/);
      expect((await across.read()).length).toBe(12);
    });
  });
}

/** A copy of a tensor of the CPU that shares no memory. */
const copied = (t: Tensor): Tensor => {
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
