/** Copies of views in row-major order, and conversions to other dtypes. */
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/tensor.ts";
import { bitsFunction, perWord } from "../elements.ts";
import { KernelParams, runEach } from "../kernel.ts";
import type { GpuStorage } from "../memory.ts";
import type { GpuSession } from "../session.ts";
import { indexFunction, type StridedView } from "./views.ts";

/** target = the elements of a view of `source`, of any dtype, in row-major order. */
export function copyView(
  session: GpuSession,
  source: GpuStorage,
  view: StridedView,
  target: GpuStorage,
): void {
  const { bytes } = DTYPES[source.dtype];
  const params = new KernelParams();
  const count = sizeOf(view.shape);
  if (count === 0) return;
  if (bytes >= 4) {
    const words = bytes / 4;
    const { shape, strides, offset } = view;
    const asWords =
      words === 1
        ? view
        : {
            shape: [...shape, words],
            strides: [...strides.map((s) => s * words), 1],
            offset: offset * words,
          };
    runEach(session, {
      inputs: { x: source },
      outputs: { y: target },
      params,
      functions: indexFunction(params, "at", asWords),
      body: "word_y[n] = word_x[at(n)];",
      count: count * words,
    });
    return;
  }
  // Elements of 1 and 2 bytes: a thread fills a word.
  const each = 4 / bytes;
  const [shift, mask] = [params.i32(Math.log2(each)), params.i32(each - 1)];
  runEach(session, {
    inputs: { x: source },
    outputs: { y: target },
    params,
    functions: indexFunction(params, "at", view),
    body: `var word = 0u;
  for (var e = 0; e < ${each}; e++) {
    let m = n * ${each} + e;
    if (m >= ${params.i32(count)}) { break; }
    let i = at(m);
    let x = (word_x[i >> u32(${shift})] >> (u32(i & ${mask}) * ${8 * bytes}u)) & ${bytes === 2 ? "0xffffu" : "0xffu"};
    word |= x << (u32(e) * ${8 * bytes}u);
  }
  word_y[n] = word;`,
    count: Math.ceil(count / each),
  });
}

/** target = the elements of a view of `source` in the dtype of `target`, rounded once to nearest even. */
export function convertView(
  session: GpuSession,
  source: GpuStorage,
  view: StridedView,
  target: GpuStorage,
): void {
  const count = sizeOf(view.shape);
  if (count === 0) return;
  const { dtype } = target;
  // Integers that are read as integers lose no digits.
  const exact = dtype === "float64" ? widenView : dtype === "int32" && source.dtype === "int32" && copyView;
  if (exact) {
    exact(session, source, view, target);
    return;
  }
  const params = new KernelParams();
  const each = perWord(dtype);
  runEach(session, {
    inputs: { x: source },
    outputs: { y: target },
    params,
    functions: [indexFunction(params, "at", view), bitsFunction(dtype)].join("\n"),
    body: `var word = 0u;
  for (var e = 0; e < ${each}; e++) {
    let m = n * ${each} + e;
    if (m < ${params.i32(count)}) { word |= bitsOf(load_x(at(m))) << (u32(e) * ${(32 / each) % 32}u); }
  }
  word_y[n] = ${dtype === "float32" ? "bitcast<f32>(word)" : "word"};`,
    count: Math.ceil(count / each),
  });
}

/** target = a view of float32 numbers as float64: their bits in two words, low word first. */
function widenView(session: GpuSession, source: GpuStorage, view: StridedView, target: GpuStorage): void {
  const params = new KernelParams();
  runEach(session, {
    inputs: { x: source },
    outputs: { y: target },
    params,
    functions: indexFunction(params, "at", view),
    body: `let b = bitcast<u32>(load_x(at(n)));
  let e = (b >> 23u) & 255u;
  let wide = select(select(e + 896u, 2047u, e == 255u), 0u, e == 0u);
  let f = select(b & 0x7fffffu, 0u, e == 0u);
  word_y[2 * n] = f << 29u;
  word_y[2 * n + 1] = (b & 0x80000000u) | (wide << 20u) | (f >> 3u);`,
    count: sizeOf(view.shape),
  });
}
