/**
 * What the kernels of attention share: where a problem's numbers are, and WGSL functions over the cells (b, h, i, j) of its scores:
 *
 *   element(b, h, i, j)   the score q·k turned into the input of softmax, LOWEST where the cell is masked
 *   dropped(b, h, i, j)   the factor of dropout: 0 or 1/(1 − p)
 *
 * LOWEST, the lowest finite number, marks masked cells because WGSL lets a compiler assume that no number is infinite. Small arrays of
 * the CPU (first elements, tables, runs of keys) are in one storage, `data`, as kernels may bind few.
 */
import type { Problem } from "../../backend/problem.ts";
import { dropoutThreshold, headKey } from "../../core/random/random.ts";
import type { CellStrides, Operand, Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { derivative } from "../../masks/expression/derivative.ts";
import type { Table, VarName } from "../../masks/expression/expr.ts";
import { printWgsl, WGSL_FUNCTIONS } from "../../masks/expression/wgsl.ts";
import { gpuStorage, uninitialized } from "../device.ts";
import { type GpuKernel, KernelParams, MIX } from "../kernel.ts";
import type { GpuStorage } from "../memory.ts";
import { convertView } from "../ops/copy.ts";
import type { GpuSession } from "../session.ts";

/** The text of the lowest finite number. */
export const LOWEST = "-3.4028234663852886e38";

/** Small arrays that become one storage. */
class Data {
  private readonly parts: Int32Array[] = [];
  private readonly copies: { readonly source: Tensor; readonly at: number }[] = [];
  private length = 0;

  /** Adds integers; returns the index of the first. */
  integers(values: ArrayLike<number>): number {
    return this.add(Int32Array.from(values));
  }

  /** Adds floats as their bits. */
  floats(values: ArrayLike<number>): number {
    return this.add(new Int32Array(Float32Array.from(values).buffer));
  }

  /** Adds the elements of a tensor of the device, as float32. */
  tensor(source: Tensor): number {
    const at = this.add(new Int32Array(source.size));
    this.copies.push({ source, at });
    return at;
  }

  /** The storage. */
  storage(session: GpuSession): GpuStorage {
    const words = new Int32Array(Math.max(1, this.length));
    let at = 0;
    for (const part of this.parts) {
      words.set(part, at);
      at += part.length;
    }
    const storage = uninitialized("int32", words.length);
    session.queue.write(storage.buffer, new Uint8Array(words.buffer));
    for (const { source, at: to } of this.copies) {
      const dense = uninitialized("float32", source.size);
      convertView(session, gpuStorage(source.storage), source, dense);
      session.queue.copy(dense.buffer, storage.buffer, 4 * to, 4 * source.size);
      dense.memory.dispose(dense);
    }
    return storage;
  }

  private add(part: Int32Array): number {
    const at = this.length;
    this.parts.push(part);
    this.length += part.length;
    return at;
  }
}

/** A call on its way to kernels: functions append to `text`, inputs to `inputs`. */
export class KernelCall {
  readonly problem: Problem;
  readonly shape: Shape;
  readonly params = new KernelParams();
  readonly data = new Data();
  readonly inputs: Record<string, GpuStorage> = {};
  private readonly functions: string[] = [WGSL_FUNCTIONS];

  constructor(problem: Problem) {
    this.problem = problem;
    this.shape = problem.shape;
    const { B, Hq, Hkv, G, Nq, Nk, dk, dv } = this.shape;
    this.params.lets({ B, Hq, Hkv, G, Nq, Nk, dk, dv });
    const offsets = this.params.i32(this.data.integers(problem.offsets));
    this.define(`fn word(at: i32) -> i32 { return bitcast<i32>(word_data[at]); }
fn number(at: i32) -> f32 { return bitcast<f32>(word_data[at]); }
fn offsetOf(b: i32) -> i32 { return word(${offsets} + b); }`);
  }

  /** Adds a function. */
  define(text: string): void {
    this.functions.push(text);
  }

  /**
   * Adds `NAME_at(b, h)`, the index of row 0 and column 0, and the strides `NAME_row()` and `NAME_column()`; and the tensor as an input if
   * `isInput`.
   */
  operand(name: string, x: Operand, isInput = true): void {
    const { params, data } = this;
    const base = params.i32(data.integers(x.base));
    const head = params.i32(x.head);
    params.lets({ [`${name}_row`]: x.row, [`${name}_column`]: x.column });
    this.define(`fn ${name}_at(b: i32, h: i32) -> i32 { return word(${base} + b) + h * ${head}; }`);
    if (isInput) this.inputs[name] = gpuStorage(x.tensor.storage);
  }

  /** Adds the addresses of an output [..., Hq, Nq, dv] without gaps. */
  denseOutput(): void {
    this.define(`fn o_at(b: i32, h: i32) -> i32 { return (b * Hq() + h) * Nq() * dv(); }
fn o_row() -> i32 { return dv(); }
fn o_column() -> i32 { return 1; }`);
  }

  /** Adds query, key and value. */
  operands(): void {
    const { query, key, value } = this.shape;
    for (const [name, x] of Object.entries({ q: query, k: key, v: value })) this.operand(name, x);
  }

  /** Adds `element(b, h, i, j, dot)`. */
  elements(): void {
    const { problem, params } = this;
    const scale = params.f32(problem.scale);
    // No branches: compilers of GPUs take long over many of them. Cells outside the scores read a cell inside.
    const lines = [
      "let i = min(row, Nq() - 1);",
      "let j = min(key, Nk() - 1);",
      "let position = i + offsetOf(b);",
      "var isVisible = row < Nq() && key < Nk();",
    ];
    if (problem.mask) {
      const { statements, value } = printWgsl(problem.mask, this.leaves(), "m");
      lines.push(statements, `isVisible = isVisible && ${value};`);
    }
    const masks = problem.tensors.map((t, n) => ({ kind: t.kind, load: this.maskLoad(t, t.tensor, n) }));
    for (const { kind, load } of masks)
      if (kind === "bool") lines.push(`isVisible = isVisible && ${load} != 0.0;`);
    lines.push("var score = dot * scaleOf();");
    if (problem.score) {
      const { statements, value } = printWgsl(problem.score, this.leaves(), "c");
      lines.push(statements, `score = ${value};`);
    }
    // −∞ masks, also a score of NaN; the bits are compared, because a compiler may assume finite numbers.
    for (const { kind, load } of masks)
      if (kind === "float")
        lines.push(
          `{ let x = ${load}; isVisible = isVisible && bitcast<u32>(x) != 0xff800000u; score += x; }`,
        );
    lines.push("return select(LOWEST, score, isVisible && bitcast<u32>(score) != 0xff800000u);");
    this.define(`const LOWEST = ${LOWEST};
fn scaleOf() -> f32 { return ${scale}; }
fn element(b: i32, h: i32, row: i32, key: i32, dot: f32) -> f32 {\n${lines.filter(Boolean).join("\n")}\n}`);
  }

  /** Adds `slope(b, h, row, key, dot)`, the derivative of the score after all score mods by the score before. */
  derivative(): void {
    const { score } = this.problem;
    const byScore = score && derivative(score).score;
    const { statements, value } = byScore
      ? printWgsl(byScore, this.leaves(), "d")
      : { statements: "", value: "1.0" };
    this.define(`fn slope(b: i32, h: i32, row: i32, key: i32, dot: f32) -> f32 {
  let i = min(row, Nq() - 1);
  let j = min(key, Nk() - 1);
  let position = i + offsetOf(b);
  let score = dot * scaleOf();
${statements}
return ${value};\n}`);
  }

  /** Adds `dropped(b, h, i, j)`. */
  dropout(): void {
    const { problem, params, data } = this;
    if (problem.dropoutP === 0) return;
    const { seed, dropoutP, positions } = problem;
    const { B, Hq, Nq, Nk } = this.shape;
    const keys = Array.from({ length: B * Hq }, (_, n) => headKey(seed, Math.floor(n / Hq), n % Hq));
    const heads = params.i32(data.integers(keys));
    let [row, key] = ["i + offsetOf(b)", "j"];
    if (!positions.counted) {
      const list = (length: number, at: (b: number, n: number) => number) =>
        params.i32(
          data.integers(Array.from({ length: B * length }, (_, n) => at(Math.floor(n / length), n % length))),
        );
      row = `word(${list(Nq, positions.query)} + b * Nq() + i)`;
      key = `word(${list(Nk, positions.key)} + b * Nk() + j)`;
    }
    this.define(`${MIX}
fn dropped(b: i32, h: i32, i: i32, j: i32) -> f32 {
  let row = mix(bitcast<u32>(word(${heads} + b * Hq() + h)) + bitcast<u32>(${row}) * 0xc2b2ae3du);
  let bits = mix(row + bitcast<u32>(${key}) * 0x27d4eb2fu);
  return select(${params.f32(1 / (1 - dropoutP))}, 0.0, bits < ${params.u32(dropoutThreshold(dropoutP))});
}`);
  }

  /** Adds `sink(h)`, if the call has sinks. */
  sinks(): boolean {
    const { sinks, deviceSinks } = this.problem;
    if (!sinks && !deviceSinks) return false;
    const at = this.params.i32(sinks ? this.data.floats(sinks) : this.data.tensor(deviceSinks as Tensor));
    this.define(`fn sink(h: i32) -> f32 { return number(${at} + h); }`);
    return true;
  }

  /** Enqueues a kernel (`run`, `runRows`) that also binds the storages of the call; `data` is complete then. */
  enqueue<K extends Pick<GpuKernel, "params">>(
    session: GpuSession,
    how: (session: GpuSession, kernel: K) => void,
    kernel: Omit<K, "inputs" | "params"> & Partial<Pick<GpuKernel, "inputs">>,
  ): void {
    const data = this.data.storage(session);
    const { params } = this;
    const parts = { inputs: { ...this.inputs, data, ...kernel.inputs }, params, functions: this.functions.join("\n") }; // biome-ignore format: a row
    how(session, { ...kernel, ...parts } as unknown as K);
    data.memory.dispose(data);
  }

  /** How the leaves of an expression are read in `element`. */
  leaves(): Parameters<typeof printWgsl>[1] {
    const variables: Record<VarName, string> = {
      b: "b",
      h: "h",
      i: "i",
      q: "position",
      k: "j",
      score: "score",
    };
    return {
      constant: (value, type) => (type === "int" ? this.params.i32(value) : this.params.f32(value)),
      variable: (name) => variables[name],
      lookup: (table, index) => {
        const at = this.tableAt(table);
        return table.type === "int" ? `word(${at} + ${index})` : `number(${at} + ${index})`;
      },
    };
  }

  private readonly tables = new Map<Table, string>();

  private tableAt(table: Table): string {
    let at = this.tables.get(table);
    if (at === undefined) {
      const { data } = this;
      const isHere = !this.problem.deviceTables.includes(table);
      const numbers = () => (table.type === "int" ? data.integers(table.data) : data.floats(table.data));
      at = this.params.i32(isHere ? numbers() : data.tensor(table.source));
      this.tables.set(table, at);
    }
    return at;
  }

  private maskLoad({ base, head, row, column }: CellStrides, tensor: Tensor, n: number): string {
    const { params, data } = this;
    const name = `mask${n}`;
    this.inputs[name] = gpuStorage(tensor.storage);
    const from = params.i32(data.integers(base));
    const [byHead, byRow, byColumn] = [head, row, column].map((x) => params.i32(x));
    return `load_${name}(word(${from} + b) + h * ${byHead} + i * ${byRow} + j * ${byColumn})`;
  }
}

/** Why a problem cannot run, by the limits of a device: a kernel binds one storage for each mask tensor, and `others`. */
export function bindingReason(problem: Problem, limit: number, others: number): string | undefined {
  const masks = problem.tensors.length;
  return masks + others <= limit
    ? undefined
    : `a kernel binds ${limit} storages on this adapter, enough for ${limit - others} mask tensors, and the call has ${masks}; add or join them first`;
}
