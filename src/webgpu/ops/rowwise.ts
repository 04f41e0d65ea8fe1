/** The row-wise operations (backend/rowwise.ts) as kernels; src/reference/rowwise.ts defines each of them. */
import type {
  MapName,
  NormBackwardOperation,
  NormOperation,
  RowwiseOperation,
} from "../../backend/rowwise.ts";
import type { TensorStorage } from "../../core/device/device.ts";
import { WGSL_FUNCTIONS } from "../../masks/expression/wgsl.ts";
import { gpuStorage, uninitialized } from "../device.ts";
import { KernelParams, runEach, type Storages } from "../kernel.ts";
import { runRows } from "../rows.ts";
import type { GpuSession } from "../session.ts";
import { upload } from "./array.ts";

type Named<N extends RowwiseOperation["name"]> = Extract<RowwiseOperation, { name: N }>;
type Runner<N extends RowwiseOperation["name"]> = (session: GpuSession, operation: Named<N>) => void;

/** Storages of named fields; those that are undefined are left out. */
type Fields = Readonly<Record<string, TensorStorage | undefined>>;
const storages = (fields: Fields): Storages =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, s]) => (s === undefined ? [] : [[name, gpuStorage(s)]])),
  );

/** What a kernel runs on. */
const over = (inputs: Fields, outputs: Fields, params = new KernelParams()) => ({
  inputs: storages(inputs),
  outputs: storages(outputs),
  params,
});

/** The error function to 1.5e-7 (Abramowitz & Stegun 7.1.26), and what the maps need besides. */
const MAP_FUNCTIONS = `${WGSL_FUNCTIONS}
fn erf(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.3275911 * abs(x));
  let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return sign(x) * (1.0 - p * exp(-x * x));
}
fn cdf(x: f32) -> f32 { return 0.5 * (1.0 + erf(x * 0.70710678)); }
fn density(x: f32) -> f32 { return 0.39894228 * exp(-0.5 * x * x); }
fn sigmoid(x: f32) -> f32 { let e = exp(-abs(x)); return select(e, 1.0, x >= 0.0) / (1.0 + e); }
fn inner(x: f32) -> f32 { return tanhOf(0.79788456 * (x + 0.044715 * x * x * x)); }
`;

/** Functions of x, and their derivatives by x and y = f(x). */
const MAPS: Readonly<Record<MapName, readonly [string, string]>> = {
  relu: ["select(x, 0.0, x <= 0.0)", "select(1.0, 0.0, x <= 0.0)"],
  gelu: ["x * cdf(x)", "cdf(x) + x * density(x)"],
  "gelu-tanh": [
    "0.5 * x * (1.0 + inner(x))",
    "0.5 * (1.0 + inner(x) + x * (1.0 - inner(x) * inner(x)) * 0.79788456 * (1.0 + 0.134145 * x * x))",
  ],
  silu: ["x * sigmoid(x)", "sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))"],
  sigmoid: ["sigmoid(x)", "y * (1.0 - y)"],
  tanh: ["tanhOf(x)", "1.0 - y * y"],
  elu1: ["select(exp(x), x + 1.0, x > 0.0)", "select(y, 1.0, x > 0.0)"],
};

/** Rows of C numbers. */
const rowsOf = ({ x, C }: NormOperation | NormBackwardOperation): number =>
  C === 0 ? 0 : gpuStorage(x).length / C;

/** x̂ of a row and a column, from the stats. */
const HAT = (columns: string) => `
fn hat(row: i32, c: i32) -> f32 {
  return (load_x(row * ${columns} + c) - load_stats(4 * row) - load_stats(4 * row + 1)) * load_stats(4 * row + 2);
}`;

const RUNNERS: { readonly [N in RowwiseOperation["name"]]: Runner<N> } = {
  map: (session, { map: name, x, y }) =>
    runEach(session, {
      ...over({ x }, { y }),
      functions: MAP_FUNCTIONS,
      body: `let x = load_x(n);\nstore_y(n, ${MAPS[name][0]});`,
      count: gpuStorage(y).length,
    }),
  "map-backward": (session, { map: name, x, y, dy, dx }) =>
    runEach(session, {
      ...over({ x, y, dy }, { dx }),
      functions: MAP_FUNCTIONS,
      body: `let x = load_x(n);\nlet y = load_y(n);\nstore_dx(n, load_dy(n) * (${MAPS[name][1]}));`,
      count: gpuStorage(dx).length,
    }),
  norm: (session, operation) => {
    const { x, y, stats, weight, bias, C, centered, eps } = operation;
    const params = new KernelParams();
    const [columns, count] = [params.i32(C), params.f32(C)];
    runRows(session, {
      ...over({ x, weight, bias }, { y, stats }, params),
      body: `${
        centered
          ? `var sum = 0.0;
  EACH(c, ${columns}) { sum += load_x(row * ${columns} + c); }
  let mean = total(thread, sum) / ${count};`
          : "let mean = 0.0;"
      }
  var squares = 0.0;
  EACH(c, ${columns}) { let d = load_x(row * ${columns} + c) - mean; squares += d * d; }
  let r = 1.0 / sqrt(total(thread, squares) / ${count} + ${params.f32(eps)});
  EACH(c, ${columns}) {
    let hat = (load_x(row * ${columns} + c) - mean) * r;
    store_y(row * ${columns} + c, hat${weight ? " * load_weight(c)" : ""}${bias ? " + load_bias(c)" : ""});
  }
  if (thread == 0) { store_stats(4 * row, mean); store_stats(4 * row + 1, 0.0); store_stats(4 * row + 2, r); store_stats(4 * row + 3, 0.0); }`,
      rows: rowsOf(operation),
    });
  },
  "norm-backward": (session, operation) => {
    const { x, dy, stats, weight, dx, dWeight, dBias, C, centered } = operation;
    const rows = rowsOf(operation);
    const sums = new KernelParams();
    const width = sums.i32(C);
    // First the sums over rows, because dx may be dy.
    runRows(session, {
      ...over({ x, dy, stats }, { dWeight, dBias }, sums),
      functions: HAT(width),
      body: `var weights = 0.0;
  var biases = 0.0;
  EACH(i, ${sums.i32(rows)}) {
    let g = load_dy(i * ${width} + row);
    weights += g * hat(i, row);
    biases += g;
  }
  let w = total(thread, weights);
  let b = total(thread, biases);
  if (thread == 0) { store_dWeight(row, w); store_dBias(row, b); }`,
      rows: C,
    });
    const params = new KernelParams();
    const [columns, count] = [params.i32(C), params.f32(C)];
    runRows(session, {
      ...over({ x, dy, stats, weight }, { dx }, params),
      functions: `${HAT(columns)}
fn g(row: i32, c: i32) -> f32 { return load_dy(row * ${columns} + c)${weight ? " * load_weight(c)" : ""}; }`,
      body: `var sum = 0.0;
  var product = 0.0;
  EACH(c, ${columns}) { sum += g(row, c); product += g(row, c) * hat(row, c); }
  let mean = ${centered ? `total(thread, sum) / ${count}` : "0.0"};
  let along = total(thread, product) / ${count};
  EACH(c, ${columns}) {
    let d = g(row, c) - mean - hat(row, c) * along;
    store_dx(row * ${columns} + c, load_stats(4 * row + 2) * d);
  }`,
      rows,
    });
  },
  "column-sums": (session, { x, sums }) => {
    const params = new KernelParams();
    const C = gpuStorage(sums).length;
    const columns = params.i32(C);
    runRows(session, {
      ...over({ x }, { sums }, params),
      body: `var sum = 0.0;
  EACH(i, ${params.i32(C === 0 ? 0 : gpuStorage(x).length / C)}) { sum += load_x(i * ${columns} + row); }
  let all = total(thread, sum);
  if (thread == 0) { store_sums(row, all); }`,
      rows: C,
    });
  },
  "cross-entropy": (session, { logits, targets, V, count, dLogits, loss }) => {
    const params = new KernelParams();
    const [columns, weight] = [params.i32(V), params.f32(1 / count)];
    const places = upload(session, targets);
    const losses = uninitialized("float32", targets.length);
    runRows(session, {
      inputs: { ...storages({ logits }), targets: places },
      outputs: { ...storages({ dLogits }), losses },
      params,
      body: `let label = bitcast<i32>(word_targets[row]);
  let isCounted = label >= 0;
  var top = -3.4028234663852886e38;
  EACH(c, ${columns}) { top = max(top, load_logits(row * ${columns} + c)); }
  let m = largest(thread, top);
  var sum = 0.0;
  EACH(c, ${columns}) { sum += exp(load_logits(row * ${columns} + c) - m); }
  let l = total(thread, sum);
  if (thread == 0) {
    let at = m - load_logits(row * ${columns} + max(label, 0));
    store_losses(row, select(0.0, (log(l) + at) * ${weight}, isCounted));
  }
  workgroupBarrier();
  EACH(c, ${columns}) {
    let at = row * ${columns} + c;
    let p = exp(load_logits(at) - m) / l - select(0.0, 1.0, c == label);
    store_dLogits(at, select(0.0, p * ${weight}, isCounted));
  }`,
      rows: targets.length,
    });
    RUNNERS["column-sums"](session, { name: "column-sums", x: losses, sums: loss });
    for (const s of [places, losses]) s.memory.dispose(s);
  },
  adamw: (session, { w, g, m, v, scalars }) => {
    const params = new KernelParams();
    const s = Object.fromEntries(Object.entries(scalars).map(([name, x]) => [name, params.f32(x)]));
    runEach(session, {
      ...over({ g }, { w, m, v }, params),
      body: `let g = ${s.scale} * load_g(n);
  let m = ${s.beta1} * load_m(n) + ${s.oneMinusBeta1} * g;
  let v = ${s.beta2} * load_v(n) + ${s.oneMinusBeta2} * (g * g);
  store_m(n, m);
  store_v(n, v);
  store_w(n, ${s.weightDecayFactor} * load_w(n) - ${s.rate} * m / (sqrt(v) * ${s.biasCorrection2} + ${s.eps}));`,
      count: gpuStorage(w).length,
    });
  },
  add: (session, { a, b, scale, y }) => {
    const params = new KernelParams();
    runEach(session, {
      ...over({ a, b }, { y }, params),
      body: `store_y(n, load_a(n) + ${params.f32(scale)} * load_b(n));`,
      count: gpuStorage(y).length,
    });
  },
};

/** Enqueues a row-wise operation. */
export const runRowwise = (session: GpuSession, operation: RowwiseOperation): void =>
  (RUNNERS[operation.name] as (session: GpuSession, operation: RowwiseOperation) => void)(session, operation);
