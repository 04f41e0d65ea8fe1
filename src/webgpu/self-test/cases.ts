/**
 * The problems of the self-test: a small one for each kernel, which crosses the edges of its tiles and workgroups. A problem runs twice, on
 * the GPU and by the formula in float64 on the CPU, from the same numbers; only `Maker` differs.
 */
import type { ArrayOperation } from "../../backend/array.ts";
import type {
  AttentionOperation,
  Backend,
  BackwardTensors,
  Extra,
  MapCells,
  Operation,
} from "../../backend/contract.ts";
import { type Problem, resolve } from "../../backend/problem.ts";
import type { RowwiseOperation } from "../../backend/rowwise.ts";
import type { DType } from "../../core/dtype.ts";
import type { State } from "../../core/state.ts";
import type { Tensor } from "../../core/tensor.ts";
import { forwardShape, splitsOf } from "../attention/forward.ts";
import { type ForwardShape, forwardName } from "../levels.ts";
import type { GpuSession } from "../session.ts";
import { type InputMaker, smaller } from "./smaller.ts";

/** What a self-test is for: an operation of the contract, a map, or the copy of a view. */
export type TestedOperation =
  | Exclude<Operation, AttentionOperation>
  | { readonly kind: "forward" | "weights" | "map"; readonly problem: Problem }
  | {
      readonly kind: "backward";
      readonly problem: Problem;
      readonly tensors: BackwardTensors;
      readonly wanted: readonly Extra[];
    }
  | { readonly kind: "copy"; readonly bytes: number };

/** Makes tensors and runs operations, on the GPU or on the CPU. */
export interface Maker
  extends InputMaker,
    Pick<Backend, "weights" | "backward" | "matmul" | "rowwise" | "array"> {
  forward(problem: Problem, shape?: ForwardShape): State;
  map(problem: Problem, lse: Tensor, cells: MapCells): Tensor;
  /** A tensor to be written. */
  result(shape: readonly number[], dtype?: DType): Tensor;
  /** A copy of a view in row-major order. */
  copy(view: Tensor): Tensor;
  /** The state of a forward pass on the CPU, its output in a dtype: a test of other kernels does not depend on that of the forward pass. */
  exactState(problemOf: (m: Maker) => Problem, dtype?: DType): State;
}

/** Results by name. */
export type TestResults = Readonly<Record<string, Tensor | undefined>>;

/** A self-test: the name of what it tests, whether its problem is that of a call made small, or always the same; and how it runs. */
export interface TestCase {
  readonly kernel: string;
  readonly isOfCall?: boolean;
  readonly run: (m: Maker) => TestResults;
}

type Rowwise<N extends RowwiseOperation["name"]> = Extract<RowwiseOperation, { name: N }>;
type ArrayOf<N extends ArrayOperation["name"]> = Extract<ArrayOperation, { name: N }>;

/** The forward pass over two chunks of columns, in more rows than a tile has. */
export const forwardCase = (shape: ForwardShape): TestCase => ({
  kernel: forwardName(shape),
  run(m) {
    const M = shape.tile.rows + 1;
    const { storage } = shape;
    const dtype = storage === "matrices" ? "float16" : storage;
    const inputs = [[1, 2, M, 36], [1, 1, 73, 36], [1, 1, 73, 34]].map((size, n) => m.input(n + 1, size, undefined, dtype)); // biome-ignore format: a row
    const problem = resolve("webgpu", inputs[0], inputs[1], inputs[2], { isCausal: "lower-right" });
    return { ...m.forward(problem, shape) };
  },
});

/** What a kernel of attention is printed for, in words. */
function printedFor({ mask, score, tensors, sinks, deviceSinks, dropoutP, dtype }: Problem): string {
  const parts = [mask && "a mask", tensors.length > 0 && `${tensors.length} mask tensors`, score && "score mods", (sinks ?? deviceSinks) && "sinks", dropoutP > 0 && "dropout", dtype !== "float32" && dtype]; // biome-ignore format: a row
  const words = parts.filter(Boolean).join(", ");
  return words && ` with ${words}`;
}

/** The test of a call of attention on a small problem of its kind. */
function attentionCase(
  session: GpuSession,
  tested: Extract<TestedOperation, { problem: Problem }>,
): TestCase {
  const { kind, problem } = tested;
  const isSplit = kind === "forward" && splitsOf(problem) > 1;
  const shape = forwardShape(session, problem);
  const name = kind !== "forward" ? kind : isSplit ? "forward of split keys" : forwardName(shape);
  // A table has a kernel that visits each cell for each of its entries.
  const [M, N] = isSplit ? [3, 600] : kind === "forward" ? [shape.tile.rows + 1, 73] : problem.score ? [9, 13] : [33, 41]; // biome-ignore format: a row
  const problemOf = (m: Maker) => smaller(m, problem, M, N);
  const run = (m: Maker): TestResults => {
    const small = problemOf(m);
    if (kind === "forward") return { ...m.forward(small, isSplit ? undefined : shape) };
    const { Hq, Nq, Nk } = small.shape;
    const heads = Array.from({ length: Hq }, (_, h) => Hq - 1 - h);
    if (kind === "backward") {
      const { dOutput, output } = tested.tensors;
      const state = m.exactState(problemOf, output.dtype);
      const tensors = { ...state, dOutput: m.input(4, state.output.shape, undefined, dOutput.dtype) };
      const { masks, tables, ...gradients } = m.backward(small, tensors, tested.wanted);
      return { ...gradients, ...Object.fromEntries([...masks, ...tables.values()].map((t, n) => [`dExtra${n}`, t])) }; // biome-ignore format: a row
    }
    const { lse } = m.exactState(problemOf);
    if (kind === "weights") return { weights: m.weights(small, lse, { heads, rows: [Nq - 1, 0] }) };
    const columns = [...new Set([0, Nk >> 2, Nk >> 1, Nk])];
    return { map: m.map(small, lse, { heads, rows: [...new Set([0, Nq >> 1, Nq])], columns }) };
  };
  return { kernel: name + printedFor(problem), isOfCall: true, run };
}

/** C += Aᵀ·B + bias of two matrices. */
const product = (m: Maker): TestResults => {
  const [batch, M, N, K] = [2, 33, 35, 37];
  const operand = (tensor: Tensor, row: number, column: number, step: number) => ({ tensor, base: Float64Array.of(0, step), head: 0, row, column }); // biome-ignore format: a row
  const a = operand(m.input(1, [batch, K, M]), 1, M, K * M);
  const b = operand(m.input(2, [batch, K, N]), N, 1, K * N);
  const bias = operand(m.input(3, [N]), 0, 1, 0);
  const shape = [batch, M, N];
  const accumulate = m.input(4, shape);
  const dtype = accumulate.dtype as "float32" | "float64";
  return { c: m.matmul({ caller: "self-test", dtype, batch, M, N, K, a, b, bias, shape, accumulate }) };
};

/** Elements [3, 5, 29]: more than a workgroup of 256, and not a multiple. */
const CUBE = [3, 5, 29] as const;
const ROWS = [3, 70] as const;
const positive = (x: number): number => 1.5 + x;
/** Numbers with equals among them. */
const coarse = (x: number): number => Math.round(4 * x) / 4;

const rowwise = (m: Maker, fields: object, tensors: TestResults, results: readonly string[]): TestResults => {
  const storages = Object.entries(tensors).map(([name, t]) => [name, t?.storage]);
  m.rowwise({ ...fields, ...Object.fromEntries(storages) } as RowwiseOperation);
  return Object.fromEntries(results.map((name) => [name, tensors[name]]));
};

/** A norm of rows, and its gradient. */
const norm = (m: Maker, centered: boolean, isBackward: boolean): TestResults => {
  const shape = { C: ROWS[1], centered, eps: 1e-5 };
  const [x, weight, bias] = [m.input(1, ROWS), m.input(2, [ROWS[1]]), m.input(3, [ROWS[1]])];
  const [y, stats] = [m.result(ROWS), m.result([ROWS[0], 4])];
  const forward = rowwise(m, { name: "norm", ...shape }, { x, y, stats, weight, bias }, ["y"]);
  if (!isBackward) return forward;
  const gradients = { dx: m.result(ROWS), dWeight: m.result([ROWS[1]]), dBias: m.result([ROWS[1]]) };
  return rowwise(m, { name: "norm-backward", ...shape }, { x, dy: m.input(4, ROWS), stats, weight, ...gradients }, Object.keys(gradients)); // biome-ignore format: one call
};

const SCALARS = { scale: 0.5, beta1: 0.9, oneMinusBeta1: 0.1, beta2: 0.99, oneMinusBeta2: 0.01, weightDecayFactor: 0.999, rate: 0.01, biasCorrection2: 1.5, eps: 1e-8 }; // biome-ignore format: one row
const TARGETS = Int32Array.of(69, -1, 3);

const ROWWISE: { readonly [N in RowwiseOperation["name"]]: (m: Maker, o: Rowwise<N>) => TestResults } = {
  map: (m, { name, map }) => rowwise(m, { name, map }, { x: m.input(1, [300], (x) => 3 * x), y: m.result([300]) }, ["y"]),
  "map-backward": (m, { name, map }) => {
    const [x, y] = [m.input(1, [300], (n) => 3 * n), m.result([300])];
    m.rowwise({ name: "map", map, x: x.storage, y: y.storage });
    return rowwise(m, { name, map }, { x, y, dy: m.input(2, [300]), dx: m.result([300]) }, ["dx"]);
  },
  norm: (m, { centered }) => norm(m, centered, false),
  "norm-backward": (m, { centered }) => norm(m, centered, true),
  "column-sums": (m, { name }) => rowwise(m, { name }, { x: m.input(1, [70, 5]), sums: m.result([5]) }, ["sums"]),
  "cross-entropy": (m, { name }) => rowwise(m, { name, V: ROWS[1], count: 2, targets: TARGETS }, { logits: m.input(1, ROWS, (x) => 5 * x), dLogits: m.result(ROWS), loss: m.result([1]) }, ["dLogits", "loss"]),
  adamw: (m, { name }) => rowwise(m, { name, scalars: SCALARS }, { w: m.input(1, [300]), g: m.input(2, [300]), m: m.input(3, [300]), v: m.input(4, [300], positive) }, ["w", "m", "v"]),
  add: (m, { name }) => rowwise(m, { name, scale: -0.5 }, { a: m.input(1, [300]), b: m.input(2, [300]), y: m.result([300]) }, ["y"]),
}; // biome-ignore format: a row an operation

const array = (m: Maker, operation: object, results: readonly string[] = ["y"]): TestResults => {
  m.array(operation as ArrayOperation);
  return Object.fromEntries(results.map((name) => [name, (operation as Record<string, Tensor>)[name]]));
};

const IDS = Int32Array.of(4, 0, 4, 2);
const ANGLES = {
  cos: Float64Array.of(1, 0.5, 0.3, 0.2, -1, 0),
  sin: Float64Array.of(0, 0.8, 0.9, 0.1, 0.2, 1),
};
/** Row n has no keys in the first state, in both, in none. */
const partly = (m: Maker, seed: number, emptyRows: readonly number[]): Tensor => {
  let row = 0;
  return m.input(seed, [3], (x) => (emptyRows.includes(row++) ? -Infinity : x));
};

const ARRAY: { readonly [N in ArrayOperation["name"]]: (m: Maker, o: ArrayOf<N>) => TestResults } = {
  binary: (m, { name, function: f }) => array(m, { name, function: f, a: m.input(1, [3, 1, 29]), b: m.input(2, [29, 5], positive).transpose(), y: m.result(CUBE) }),
  "divide-backward": (m, { name }) => array(m, { name, dy: m.input(1, CUBE), y: m.input(2, CUBE), b: m.input(3, [5, 1], positive), db: m.result(CUBE) }, ["db"]),
  cast: (m, { name, y }) => array(m, { name, x: m.input(1, [29, 11]).transpose(), y: m.result([11, 29], y.dtype) }),
  where: (m, { name }) => {
    const [condition, one] = [m.result([5, 1], "bool"), m.input(2, [5, 1])];
    m.array({ name: "compare", function: "lt", a: m.input(1, [5, 1]), b: one, y: condition });
    return array(m, { name, condition, a: m.input(3, [29]), b: m.input(4, CUBE), y: m.result(CUBE) });
  },
  power: (m, { name }) => array(m, { name, a: m.input(1, [4, 1], (x) => 3 * x), b: m.input(2, [5], (x) => Math.round(3 * x)), y: m.result([4, 5]) }),
  compare: (m, { name, function: f }) => array(m, { name, function: f, a: m.input(1, [29, 1], coarse), b: m.input(2, [5], coarse), y: m.result([29, 5], "bool") }),
  cumsum: (m, { name, reverse }) => array(m, { name, reverse, x: m.input(1, [3, 29, 5]), y: m.result([3, 29, 5]) }),
  sort: (m, { name, descending }) => array(m, { name, descending, x: m.input(1, [2, 33, 3], coarse), y: m.result([2, 33, 3]), position: m.result([2, 33, 3], "int32") }, ["y", "position"]),
  scale: (m, { name }) => array(m, { name, x: m.input(1, [29, 11]).transpose(), factor: 0.3, y: m.result([11, 29]) }),
  elementwise: (m, { name, function: f }) => array(m, { name, function: f, x: m.input(1, [29, 11], positive).transpose(), y: m.result([11, 29]) }),
  "elementwise-backward": (m, { name, function: f }) => array(m, { name, function: f, x: m.input(1, [300], positive), y: m.input(2, [300], positive), dy: m.input(3, [300]), dx: m.result([300]) }, ["dx"]),
  sum: (m, { name }) => array(m, { name, x: m.input(1, [3, 7, 31]), y: m.result([7, 1]) }),
  extreme: (m, { name, function: f }) => array(m, { name, function: f, x: m.input(1, [2, 33, 3], coarse), y: m.result([2, 1, 3]), position: m.result([2, 1, 3], "int32") }, ["y", "position"]),
  "extreme-backward": (m, { name }) => {
    const position = m.result([2, 1, 3], "int32");
    m.array({ name: "extreme", function: "max", x: m.input(1, [2, 33, 3]), y: m.result([2, 1, 3]), position });
    return array(m, { name, dy: m.input(2, [2, 1, 3]), position, dx: m.result([2, 33, 3]) }, ["dx"]);
  },
  softmax: (m, { name }) => array(m, { name, x: m.input(1, ROWS, (x) => 5 * x), y: m.result(ROWS) }),
  "softmax-backward": (m, { name }) => array(m, { name, y: m.input(1, ROWS), dy: m.input(2, ROWS), dx: m.result(ROWS) }, ["dx"]),
  assign: (m, { name }) => {
    const full = m.input(9, [11, 29]);
    const operation = { name, x: m.input(1, [11]), y: full.transpose(), full };
    return array(m, operation, ["full"]);
  },
  embedding: (m, { name }) => array(m, { name, table: m.input(1, [71, 5]).transpose(), ids: IDS, y: m.result([4, 71]) }),
  "embedding-backward": (m, { name }) => array(m, { name, dy: m.input(1, [4, 71]), ids: IDS, dTable: m.result([5, 71]) }, ["dTable"]),
  rope: (m, { name, layout }) => array(m, { name, layout, ...ANGLES, N: 3, repeat: 1, R: 4, amplitude: 1.1, sign: -1, x: m.input(1, [2, 3, 5]), y: m.result([2, 3, 5]) }),
  dropout: (m, { name }) => array(m, { name, x: m.input(1, [300]), p: 0.4, seed: 2 ** 40 + 5, y: m.result([300]) }),
  mergeStates: (m, { name }) => {
    const states = [[0, 1], [1], []].map((empty, n) => ({ output: m.input(n + 1, [3, 5]), lse: partly(m, n + 4, empty) }));
    return array(m, { name, states, output: m.result([3, 5]), lse: m.result([3]) }, ["output", "lse"]);
  },
}; // biome-ignore format: a row an operation

/** The self-test of what an operation runs. */
export function caseOf(session: GpuSession, tested: TestedOperation): TestCase {
  switch (tested.kind) {
    case "forward":
    case "weights":
    case "map":
    case "backward":
      return attentionCase(session, tested);
    case "matmul":
      return { kernel: "matmul", run: product };
    case "rowwise": {
      const { operation } = tested;
      const { map, centered } = operation as Partial<Rowwise<"map"> & Rowwise<"norm">>;
      const kernel = [operation.name, map, centered === false && "without means"].filter(Boolean).join(" ");
      return { kernel, run: (m) => (ROWWISE[operation.name] as (m: Maker, o: RowwiseOperation) => TestResults)(m, operation) };
    }
    case "array": {
      const { operation } = tested;
      const { function: f, layout, reverse, descending } = operation as unknown as Record<string, string | boolean | undefined>;
      const dtype = operation.name === "cast" && `to ${operation.y.dtype}`;
      const kernel = [operation.name, f, layout, reverse && "from the end", descending && "descending", dtype].filter(Boolean).join(" ");
      return { kernel, run: (m) => (ARRAY[operation.name] as (m: Maker, o: ArrayOperation) => TestResults)(m, operation) };
    }
    case "copy":
      return {
        kernel: `copy of ${tested.bytes}-byte elements`,
        run: (m) => {
          const x = m.input(1, [29, 11], coarse);
          const dtype = ({ 1: "bool", 2: "float16" } as const)[tested.bytes];
          if (!dtype) return { copy: m.copy(x.transpose()) };
          const small = m.result([29, 11], dtype);
          m.array({ name: "cast", x, y: small });
          return { copy: m.copy(small.transpose()) };
        },
      };
  }
} // biome-ignore format: a case a kernel

/** The share of a number by which it may differ: roundings of float32, or one of a narrow dtype. */
const SHARES: Partial<Record<DType, number>> = { float16: 2 ** -10, bfloat16: 2 ** -7 };

/** True where a value counts as right: within the rounding of its dtype for numbers of this size, and the exact infinity or NaN. */
export const isRight = (got: number, want: number, dtype: DType = "float32"): boolean =>
  Object.is(got, want) ||
  got === want ||
  Math.abs(got - want) <= (SHARES[dtype] ?? 1e-4) * (1 + Math.abs(want));
