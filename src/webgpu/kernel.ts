/**
 * A kernel and what it runs on: its storages, its parameters and its text. A storage that has two names, as in an operation in
 * place, is bound once. Parameters are read from a uniform buffer by position, so that their values leave the text unchanged and a kernel
 * is compiled once for each text.
 */
import { arrayType, loadFunction, storeFunction } from "./elements.ts";
import type { GpuStorage } from "./memory.ts";
import type { GpuSession } from "./session.ts";

/** Storages by name. */
export type Storages = Readonly<Record<string, GpuStorage>>;

const bits = new DataView(new ArrayBuffer(4));

/** The parameters of one dispatch. */
export class KernelParams {
  private readonly values: number[] = [];
  private readonly named = new Map<string, string>();

  /** An `i32` parameter: its text in the kernel. */
  i32(value: number): string {
    bits.setInt32(0, value);
    return `bitcast<i32>(${this.next()})`;
  }

  /** An `f32` parameter. */
  f32(value: number): string {
    bits.setFloat32(0, value);
    return `bitcast<f32>(${this.next()})`;
  }

  /** A `u32` parameter. */
  u32(value: number): string {
    bits.setUint32(0, value);
    return this.next();
  }

  /** Declares named constants `NAME: i32` in the kernel; `names` are those of `of`. */
  lets(values: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(values)) this.named.set(name, this.i32(value));
  }

  /** The declaration, and functions `NAME()` of the named parameters. */
  text(): string {
    const count = Math.max(1, Math.ceil(this.values.length / 4));
    const functions = [...this.named].map(([name, value]) => `fn ${name}() -> i32 { return ${value}; }`);
    return [`@group(0) @binding(0) var<uniform> params: array<vec4u, ${count}>;`, ...functions].join("\n");
  }

  /** The values as words. */
  words(): Uint32Array {
    return Uint32Array.from(this.values);
  }

  private next(): string {
    const at = this.values.push(bits.getUint32(0)) - 1;
    return `params[${at >> 2}].${"xyzw"[at & 3]}`;
  }
}

/** A kernel that is ready to run. `body` has the entry point `main`, and may read `params`, `load_NAME(i)` and `store_NAME(i, x)`. */
export interface GpuKernel {
  readonly inputs: Storages;
  readonly outputs: Storages;
  readonly params: KernelParams;
  readonly body: string;
  /** What comes before the body. */
  readonly functions?: string;
  /** Extensions of the language that the text needs. */
  readonly enables?: readonly string[];
  /** Number of workgroups; `workgroup()` in the body is the index of one. */
  readonly workgroups: number;
}

/** Workgroups along the first axis of a grid. */
const MAX_GRID = 65535;

/** Enqueues a kernel. */
export function run(session: GpuSession, kernel: GpuKernel): void {
  const { inputs, outputs, params, body, functions = "", enables = [], workgroups } = kernel;
  session.check();
  if (workgroups === 0) return;
  const written = new Set(Object.values(outputs));
  const variables = new Map<GpuStorage, string>();
  const declarations: string[] = [];
  for (const [name, storage] of [...Object.entries(outputs), ...Object.entries(inputs)]) {
    let variable = variables.get(storage);
    if (variable === undefined) {
      variable = `s${variables.size}`;
      variables.set(storage, variable);
      const access = written.has(storage) ? "read_write" : "read";
      declarations.push(
        `@group(0) @binding(${variables.size}) var<storage, ${access}> ${variable}: array<${arrayType(storage.dtype)}>;`,
      );
    }
    declarations.push(loadFunction(name, variable, storage.dtype));
    if (written.has(storage)) declarations.push(storeFunction(name, variable, storage.dtype));
  }
  const columns = Math.min(workgroups, MAX_GRID);
  const grid = params.i32(columns);
  const total = params.i32(workgroups);
  const text = [
    ...enables.map((name) => `enable ${name};`),
    params.text(),
    ...declarations,
    `fn workgroupOf(id: vec3u) -> i32 { return i32(id.y) * ${grid} + i32(id.x); }`,
    `fn workgroups() -> i32 { return ${total}; }`,
    (functions + body).replaceAll(
      /\bword_(\w+)\[/g,
      (_, name: string) => `${variables.get(outputs[name] ?? inputs[name])}[`,
    ),
  ].join("\n");
  const storages = [...variables.keys()];
  const writes = storages.map((s) => written.has(s));
  session.queue.dispatch({
    kernel: session.kernel(text, writes),
    buffers: storages.map(({ buffer }) => buffer),
    writes,
    params: params.words(),
    workgroups: [columns, Math.ceil(workgroups / columns)],
  });
}

/** The hash of core/random/random.ts. */
export const MIX = `
fn mix(x0: u32) -> u32 {
  var x = x0 ^ (x0 >> 16u);
  x = x * 0x85ebca6bu;
  x = x ^ (x >> 13u);
  x = x * 0xc2b2ae35u;
  return x ^ (x >> 16u);
}`;

/** Threads of a workgroup of `runEach`. */
const THREADS = 256;

/** Enqueues a kernel with one thread for each of `count` numbers `n`. `body` is what a thread runs; `functions` come before it. */
export function runEach(
  session: GpuSession,
  kernel: Omit<GpuKernel, "workgroups"> & { readonly count: number },
): void {
  const { params, count } = kernel;
  const end = params.i32(count);
  run(session, {
    ...kernel,
    workgroups: Math.ceil(count / THREADS),
    body: `
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) thread: u32) {
  let n = workgroupOf(id) * ${THREADS} + i32(thread);
  if (n >= ${end}) { return; }
  ${kernel.body}
}`,
  });
}
