/** Partial results over disjoint keys, merged two at a time: lse = log(e^a + e^b), output = e^(a − lse)·x + e^(b − lse)·y. */
import type { MergeStatesOperation } from "../../backend/array.ts";
import type { Tensor } from "../../core/tensor.ts";
import { float32, gpuStorage } from "../device.ts";
import { KernelParams, runEach } from "../kernel.ts";
import type { GpuSession } from "../session.ts";
import { convertView } from "./copy.ts";
import { indexFunction } from "./views.ts";

/** Enqueues the merge of states. */
export function mergeStates(session: GpuSession, { states, output, lse }: MergeStatesOperation): void {
  let [x, a]: [Tensor, Tensor] = [states[0].output, states[0].lse];
  let isOurs = false;
  for (const { output: y, lse: b } of states.slice(1)) {
    const [z, c] = [float32(output.shape), float32(lse.shape)];
    mergeTwo(session, { x, a, y, b, z, c });
    if (isOurs) for (const t of [x, a]) t.dispose();
    [x, a] = [z, c];
    isOurs = true;
  }
  convertView(session, gpuStorage(x.storage), x, gpuStorage(output.storage));
  convertView(session, gpuStorage(a.storage), a, gpuStorage(lse.storage));
  if (isOurs) for (const t of [x, a]) t.dispose();
}

/** z, c = the state over the keys of x, a and of y, b. */
function mergeTwo(
  session: GpuSession,
  { x, a, y, b, z, c }: Readonly<Record<"x" | "a" | "y" | "b" | "z" | "c", Tensor>>,
): void {
  const params = new KernelParams();
  const width = z.shape[1];
  const views = Object.entries({ x, a, y, b });
  const negative = `bitcast<f32>(${params.u32(0xff800000)})`;
  const columns = params.i32(width + 1);
  const dv = params.i32(width);
  runEach(session, {
    inputs: Object.fromEntries(views.map(([name, t]) => [name, gpuStorage(t.storage)])),
    outputs: { z: gpuStorage(z.storage), c: gpuStorage(c.storage) },
    params,
    functions: views.map(([name, t]) => indexFunction(params, `${name}_of`, t)).join("\n"),
    // The last thread of a row writes its lse.
    body: `let row = n / ${columns};
  let e = n % ${columns};
  let p = load_a(a_of(row));
  let q = load_b(b_of(row));
  let isEmptyP = bitcast<u32>(p) == 0xff800000u;
  let isEmptyQ = bitcast<u32>(q) == 0xff800000u;
  let m = select(select(max(p, q), p, isEmptyQ), q, isEmptyP);
  let u = select(exp(p - m), 0.0, isEmptyP);
  let v = select(exp(q - m), 0.0, isEmptyQ);
  let isEmpty = isEmptyP && isEmptyQ;
  if (e == ${dv}) { store_c(row, select(m + log(u + v), ${negative}, isEmpty)); return; }
  let first = select(u / (u + v) * load_x(x_of(row * ${dv} + e)), 0.0, isEmptyP);
  let second = select(v / (u + v) * load_y(y_of(row * ${dv} + e)), 0.0, isEmptyQ);
  store_z(row * ${dv} + e, first + second);`,
    count: z.shape[0] * (width + 1),
  });
}
