/** The array operations (backend/array.ts) as kernels; src/reference/array.ts defines each of them. */
import type { ArrayOperation, ElementFunction } from "../../backend/array.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import type { DType } from "../../core/dtype.ts";
import { dropoutThreshold, headKey } from "../../core/random/random.ts";
import type { Tensor } from "../../core/tensor.ts";
import { gpuStorage, uninitialized } from "../device.ts";
import { KernelParams, MIX, runEach } from "../kernel.ts";
import type { GpuStorage } from "../memory.ts";
import { runRows } from "../rows.ts";
import type { GpuSession } from "../session.ts";
import { convertView } from "./copy.ts";
import { mergeStates } from "./merge.ts";
import { broadcast, indexFunction } from "./views.ts";

type Named<N extends ArrayOperation["name"]> = Extract<ArrayOperation, { name: N }>;
type Runner<N extends ArrayOperation["name"]> = (session: GpuSession, operation: Named<N>) => void;

const storageOf = (t: Tensor): GpuStorage => gpuStorage(t.storage);

type Tensors = Readonly<Record<string, Tensor>>;
const storages = (tensors: Tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, storageOf(t)]));

/** What a kernel runs on: tensors by name, and for each input the function `NAME_of(n)`, an index in row-major order, of its view in `shape`. */
const over = (
  params: KernelParams,
  inputs: Tensors,
  outputs: Tensors,
  functions = "",
  shape?: readonly number[],
) => {
  const views = Object.entries(inputs).map(([name, t]) => indexFunction(params, `${name}_of`, shape ? broadcast(t, shape) : t)); // biome-ignore format: a row
  return { inputs: storages(inputs), outputs: storages(outputs), params, functions: [functions, ...views].join("\n") }; // biome-ignore format: a row
};

/** y = an expression of the elements of tensors broadcast to the shape of y: their names in the text are those in `tensors`. */
function elementwise(
  session: GpuSession,
  y: Tensor,
  tensors: Tensors,
  expression: (params: KernelParams) => string,
  define: (params: KernelParams) => string = () => "",
): void {
  const params = new KernelParams();
  const functions = define(params);
  const values = Object.keys(tensors).map((name) => `let ${name} = load_${name}(${name}_of(n));`);
  runEach(session, {
    ...over(params, tensors, { result: y }, functions, y.shape),
    body: `${values.join("\n")}\nstore_result(n, ${expression(params)});`,
    count: y.size,
  });
}

const BINARY = { add: "a + b", sub: "a - b", multiply: "a * b", divide: "a / b" } as const;

/** Functions, and their derivatives by x and y = f(x). */
const FUNCTIONS: Readonly<Record<ElementFunction, readonly [string, string]>> = {
  exp: ["exp(x)", "y"],
  log: ["log(x)", "1.0 / x"],
  sqrt: ["sqrt(x)", "0.5 / y"],
  square: ["x * x", "2.0 * x"],
  abs: ["abs(x)", "sign(x)"],
};

/** Integers of the CPU as a storage for one kernel. */
export function upload(session: GpuSession, values: Int32Array): GpuStorage {
  const storage = uninitialized("int32", values.length);
  session.queue.write(storage.buffer, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return storage;
}

const release = (storage: GpuStorage): void => storage.memory.dispose(storage);

/** A tensor in a dtype: itself, or a converted copy after which it is released unless `isKept`. */
export function inDtype(session: GpuSession, t: Tensor, dtype: DType, isKept = false): Tensor {
  if (t.dtype === dtype) return t;
  const converted = uninitialized(dtype, t.size);
  convertView(session, gpuStorage(t.storage), t, converted);
  if (!isKept) t.dispose();
  return tensorOver(converted, t.shape, dtype);
}

/** |a|^b with the sign of a power of a negative number: NaN where b has a fraction. */
const POWER = (nan: string) => `
fn power(a: f32, b: f32) -> f32 {
  let size = pow(abs(a), b);
  let isOdd = abs(b) % 2.0 == 1.0;
  let signed = select(select(size, -size, isOdd), ${nan}, b != trunc(b));
  return select(select(size, signed, a < 0.0), 1.0, b == 0.0);
}`;

const IS_NAN = "fn isNaN(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }";
const COMPARISONS = { lt: "a < b", le: "a <= b", eq: "a == b", ne: "a != b" } as const;

/** Indices of the elements of [outer, length, inner] along the middle axis: `first(n)` is that of element 0 in the row of n. */
const ROWS = (params: KernelParams, [, length, inner]: readonly number[]) => {
  const [long, width] = [params.i32(length), params.i32(inner)];
  return `fn step() -> i32 { return ${width}; }
fn long() -> i32 { return ${long}; }
fn first(n: i32) -> i32 { return n / (${long} * ${width}) * ${long} * ${width} + n % ${width}; }`;
};

const RUNNERS: { readonly [N in ArrayOperation["name"]]: Runner<N> } = {
  binary: (session, { function: f, a, b, y }) => elementwise(session, y, { a, b }, () => BINARY[f]),
  "divide-backward": (session, { dy, y, b, db }) =>
    elementwise(session, db, { dy, y, b }, () => "-dy * y / b"),
  cast: (session, { x, y }) => convertView(session, storageOf(x), x, storageOf(y)),
  where: (session, { condition, a, b, y }) =>
    elementwise(session, y, { condition, a, b }, () => "select(a, b, condition == 0.0)"),
  scale: (session, { x, factor, y }) =>
    elementwise(session, y, { x }, (params) => `x * ${params.f32(factor)}`),
  elementwise: (session, { function: f, x, y }) => elementwise(session, y, { x }, () => FUNCTIONS[f][0]),
  "elementwise-backward": (session, { function: f, x, y, dy, dx }) =>
    elementwise(session, dx, { x, y, dy }, () => `select(dy * (${FUNCTIONS[f][1]}), 0.0, dy == 0.0)`),
  mergeStates,
  sum: (session, { x, y }) => {
    const params = new KernelParams();
    const axes = x.shape.map((length, axis) => {
      const at = axis - x.shape.length + y.shape.length;
      return { length, stride: x.strides[axis], isKept: at >= 0 && y.shape[at] === length };
    });
    const part = (isKept: boolean, offset: number) => {
      const chosen = axes.filter((axis) => axis.isKept === isKept);
      return { shape: chosen.map((a) => a.length), strides: chosen.map((a) => a.stride), offset };
    };
    const inner = part(false, 0);
    const count = inner.shape.reduce((a, b) => a * b, 1);
    runRows(session, {
      inputs: { x: storageOf(x) },
      outputs: { y: storageOf(y) },
      params,
      functions: indexFunction(params, "outer", part(true, x.offset)) + indexFunction(params, "inner", inner),
      body: `var sum = 0.0;
  let at = outer(row);
  EACH(c, ${params.i32(count)}) { sum += load_x(at + inner(c)); }
  let all = total(thread, sum);
  if (thread == 0) { store_y(row, all); }`,
      rows: y.size,
    });
  },
  extreme: (session, { function: f, x, y, position }) => {
    const params = new KernelParams();
    const [, length, inner] = x.shape;
    const [outerStep, step, innerStep] = x.strides.map((s) => params.i32(s));
    const width = params.i32(inner);
    const bits = (v: string) => `((bitcast<u32>(${v}) & 0x7fffffffu) > 0x7f800000u)`;
    runEach(session, {
      inputs: { x: storageOf(x) },
      outputs: { y: storageOf(y), position: storageOf(position) },
      params,
      body: `let at = ${params.i32(x.offset)} + (n / ${width}) * ${outerStep} + (n % ${width}) * ${innerStep};
  var best = 0;
  var found = load_x(at);
  for (var i = 1; i < ${params.i32(length)}; i++) {
    let v = load_x(at + i * ${step});
    if (v ${f === "max" ? ">" : "<"} found || (${bits("v")} && !${bits("found")})) { best = i; found = v; }
  }
  store_y(n, found);
  word_position[n] = u32(best);`,
      count: y.size,
    });
  },
  /** An element of dx looks for its index among the positions of its row. */
  "extreme-backward": (session, { dy, position, dx }) => {
    const params = new KernelParams();
    const [, length, inner] = dx.shape;
    const [long, width, places] = [length, inner, dy.shape[1]].map((x) => params.i32(x));
    runEach(session, {
      ...over(params, { dy, position }, { dx }),
      body: `var x = 0.0;
  for (var p = 0; p < ${places}; p++) {
    let m = (n / (${long} * ${width}) * ${places} + p) * ${width} + n % ${width};
    if (bitcast<i32>(word_position[position_of(m)]) == n / ${width} % ${long}) { x = load_dy(dy_of(m)); }
  }
  store_dx(n, x);`,
      count: dx.size,
    });
  },
  power: (session, { a, b, y }) =>
    elementwise(
      session,
      y,
      { a, b },
      () => "power(a, b)",
      (params) => POWER(`bitcast<f32>(${params.u32(0x7fc00000)})`),
    ),
  /** A thread compares the four pairs of a word of truth values. */
  compare: (session, { function: f, a, b, y }) => {
    const params = new KernelParams();
    const isInteger = a.dtype === "int32";
    const read = (name: string) =>
      isInteger ? `bitcast<i32>(word_${name}[${name}_of(m)])` : `load_${name}(${name}_of(m))`;
    const isOrdered = isInteger ? "true" : "!isNaN(a) && !isNaN(b)";
    const holds = f === "ne" ? `!(${isOrdered}) || ${COMPARISONS.ne}` : `${isOrdered} && ${COMPARISONS[f]}`;
    runEach(session, {
      ...over(params, { a, b }, { y }, IS_NAN, y.shape),
      body: `var word = 0u;
  for (var e = 0; e < 4; e++) {
    let m = n * 4 + e;
    if (m < ${params.i32(y.size)}) {
      let a = ${read("a")};
      let b = ${read("b")};
      word |= select(0u, 1u, ${holds}) << (u32(e) * 8u);
    }
  }
  word_y[n] = word;`,
      count: Math.ceil(y.size / 4),
    });
  },
  cumsum: (session, { x, reverse, y }) => {
    const params = new KernelParams();
    const [outer, length, inner] = x.shape;
    const width = params.i32(inner);
    runEach(session, {
      ...over(params, { x }, { y }, ROWS(params, x.shape)),
      // The error of each sum is added to the next (Kahan 1965).
      body: `let start = n / ${width} * long() * step() + n % ${width};
  var sum = 0.0;
  var lost = 0.0;
  for (var i = 0; i < long(); i++) {
    let at = start + ${reverse ? "(long() - 1 - i)" : "i"} * step();
    let v = load_x(x_of(at)) - lost;
    let next = sum + v;
    lost = (next - sum) - v;
    sum = next;
    store_y(at, sum);
  }`,
      count: length === 0 ? 0 : outer * inner,
    });
  },
  /** A thread for each element counts those before it: its place. */
  sort: (session, { x, descending, y, position }) => {
    const params = new KernelParams();
    const functions = `${IS_NAN}${ROWS(params, x.shape)}
fn less(a: f32, b: f32) -> bool { return !isNaN(a) && (isNaN(b) || a < b); }
fn precedes(a: f32, b: f32) -> bool { return ${descending ? "less(b, a)" : "less(a, b)"}; }`;
    runEach(session, {
      ...over(params, { x }, { y, position }, functions),
      body: `let start = first(n);
  let i = (n - start) / step();
  let v = load_x(x_of(n));
  var place = 0;
  for (var j = 0; j < long(); j++) {
    let w = load_x(x_of(start + j * step()));
    if (precedes(w, v) || (!precedes(v, w) && j < i)) { place++; }
  }
  store_y(start + place * step(), v);
  word_position[start + place * step()] = u32(i);`,
      count: x.size,
    });
  },
  softmax: (session, { x, y }) => {
    const params = new KernelParams();
    const C = x.shape[x.shape.length - 1];
    const columns = params.i32(C);
    runRows(session, {
      ...over(params, { x }, { y }),
      body: `var top = -3.4028234663852886e38;
  EACH(c, ${columns}) { top = max(top, load_x(x_of(row * ${columns} + c))); }
  let m = largest(thread, top);
  var sum = 0.0;
  EACH(c, ${columns}) { sum += exp(load_x(x_of(row * ${columns} + c)) - m); }
  let l = total(thread, sum);
  EACH(c, ${columns}) {
    let at = row * ${columns} + c;
    let p = exp(load_x(x_of(at)) - m);
    store_y(at, select(p / l, 0.0, l == 0.0));
  }`,
      rows: C === 0 ? 0 : x.size / C,
    });
  },
  "softmax-backward": (session, { y, dy, dx }) => {
    const params = new KernelParams();
    const C = y.shape[y.shape.length - 1];
    const columns = params.i32(C);
    runRows(session, {
      ...over(params, { y, dy }, { dx }),
      body: `var sum = 0.0;
  EACH(c, ${columns}) { sum += load_y(y_of(row * ${columns} + c)) * load_dy(dy_of(row * ${columns} + c)); }
  let dot = total(thread, sum);
  EACH(c, ${columns}) {
    let at = row * ${columns} + c;
    let p = load_y(y_of(at));
    store_dx(at, select(p * (load_dy(dy_of(at)) - dot), 0.0, p == 0.0));
  }`,
      rows: C === 0 ? 0 : y.size / C,
    });
  },
  assign: (session, { x, y }) => {
    const params = new KernelParams();
    runEach(session, {
      ...over(params, { x }, { y }, indexFunction(params, "y_of", y), y.shape),
      body: "word_y[y_of(n)] = word_x[x_of(n)];",
      count: y.size,
    });
  },
  embedding: (session, { table, ids, y }) => {
    const params = new KernelParams();
    const places = upload(session, ids);
    const D = params.i32(table.shape[1]);
    const kernel = over(params, { table }, { y });
    runEach(session, {
      ...kernel,
      inputs: { ...kernel.inputs, ids: places },
      body: `store_y(n, load_table(table_of(bitcast<i32>(word_ids[n / ${D}]) * ${D} + n % ${D})));`,
      count: y.size,
    });
    release(places);
  },
  /** A thread for each number of the table adds the rows of dy with its id, whose places the CPU sorts: no atomics, the same order always. */
  "embedding-backward": (session, { dy, ids, dTable }) => {
    const params = new KernelParams();
    const [V, width] = dTable.shape;
    const order = new Int32Array(V + 1 + ids.length);
    for (const id of ids) order[id + 1]++;
    for (let v = 0; v < V; v++) order[v + 1] += order[v];
    const next = order.slice(0, V);
    ids.forEach((id, n) => {
      order[V + 1 + next[id]++] = n;
    });
    const places = upload(session, order);
    const [D, rows] = [params.i32(width), params.i32(V)];
    const kernel = over(
      params,
      { dy },
      { dTable },
      "fn place(i: i32) -> i32 { return bitcast<i32>(word_order[i]); }",
    );
    runEach(session, {
      ...kernel,
      inputs: { ...kernel.inputs, order: places },
      body: `var sum = 0.0;
  for (var i = place(n / ${D}); i < place(n / ${D} + 1); i++) {
    sum += load_dy(dy_of(place(${rows} + 1 + i) * ${D} + n % ${D}));
  }
  store_dTable(n, sum);`,
      count: dTable.size,
    });
    release(places);
  },
  rope: (session, { x, y, cos, sin, N, repeat, R, layout, amplitude, sign }) => {
    const params = new KernelParams();
    const [D, half, rotated] = [x.shape[x.shape.length - 1], R / 2, R].map((v) => params.i32(v));
    const isHalf = layout === "half";
    const [kernel, tables] = [over(params, { x }, { y }), { cos: session.table(cos, uninitialized), sin: session.table(sin, uninitialized) }]; // biome-ignore format: a row
    runEach(session, {
      ...kernel,
      inputs: { ...kernel.inputs, ...tables },
      body: `let row = n / ${D};
  let c = n % ${D};
  let own = load_x(x_of(n));
  if (c >= ${rotated}) { store_y(n, own); return; }
  let pair = ${isHalf ? `c % ${half}` : "c / 2"};
  let isFirst = ${isHalf ? `c < ${half}` : "c % 2 == 0"};
  let other = load_x(x_of(n + ${isHalf ? `select(-${half}, ${half}, isFirst)` : "select(-1, 1, isFirst)"}));
  let angle = row / ${params.i32(repeat)} % ${params.i32(N)} * ${half} + pair;
  let a = ${params.f32(amplitude)} * load_cos(angle);
  let b = ${params.f32(sign * amplitude)} * load_sin(angle);
  store_y(n, select(own * a + other * b, own * a - other * b, isFirst));`,
      count: x.size,
    });
  },
  dropout: (session, { x, p, seed, y }) =>
    elementwise(
      session,
      y,
      { x },
      (params) => {
        const row = `mix(${params.u32(headKey(seed, 0, 0) >>> 0)} + u32(n >> 16u) * 0xc2b2ae3du)`;
        const bits = `mix(${row} + u32(n & 65535) * 0x27d4eb2fu)`;
        return `select(0.0, x * ${params.f32(1 / (1 - p))}, ${bits} >= ${params.u32(dropoutThreshold(p))})`;
      },
      () => MIX,
    ),
};

/** Enqueues an array operation. */
export const runArrayOperation = (session: GpuSession, operation: ArrayOperation): void =>
  (RUNNERS[operation.name] as (session: GpuSession, operation: ArrayOperation) => void)(session, operation);
