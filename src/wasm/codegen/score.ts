/**
 * Compiles mask and score expressions into a kernel (masks/expression/js.ts compiles them to closures). Values that do not depend
 * on the key or the score are computed once per row, all others for four keys at a time. Constants and tables are read from the
 * call's pool in memory, so that windows, lengths and slopes with other values share the kernel.
 */

import type { Expression, Table, VarName } from "../../masks/expression/expr.ts";
import type { FunctionBuilder, I32Value, Local, V128Value } from "../assembler/index.ts";
import { f32x4, i32, i32x4, shuffle32, v128 } from "../assembler/index.ts";
import { type Arithmetic, exp, log, tanh } from "./math.ts";
import * as CallStruct from "./structs/call.ts";

/** The constants and tables of expressions, in pool order; `fillPool` writes them. */
export interface ExpressionPool {
  readonly constants: readonly Expression[];
  readonly tables: readonly Table[];
}

/** The pool of a kernel: constants in order of appearance, then the tables. */
export function poolOf(expressions: readonly (Expression | undefined)[]): ExpressionPool {
  const constants: Expression[] = [];
  const tables: Table[] = [];
  const visit = (x: Expression): void => {
    if (x.op === "const" && x.type !== "bool") constants.push(x);
    if (x.op === "table" && !tables.includes(x.value as Table)) tables.push(x.value as Table);
    // The divisor of floorDiv and mod is written into the code.
    if (x.op === "floorDiv" || x.op === "mod") visit(x.args[0]);
    else x.args.forEach(visit);
  };
  for (const x of expressions) if (x) visit(x);
  return { constants, tables };
}

/** Words of a pool. */
export const poolWords = (pool: ExpressionPool): number =>
  pool.constants.length + pool.tables.reduce((n, t) => n + 1 + t.shape.length, 0);

/** Writes a pool: constants, and for each table its address and lengths. */
export function fillPool(
  pool: ExpressionPool,
  at: number,
  ints: Int32Array,
  floats: Float32Array,
  addressOf: (table: Table) => number,
): void {
  let word = at / 4;
  for (const x of pool.constants)
    if (x.type === "int") ints[word++] = x.value as number;
    else floats[word++] = x.value as number;
  for (const t of pool.tables) {
    ints[word++] = addressOf(t);
    for (const n of t.shape) ints[word++] = n;
  }
}

/** Variables of a row; all i32. */
export interface RowVars {
  readonly call: I32Value;
  readonly b: I32Value;
  readonly h: I32Value;
  readonly i: I32Value;
  readonly q: I32Value;
}

/** True where the value is the same for a whole row. */
export function perRow(x: Expression): boolean {
  return !(x.op === "var" && (x.value === "k" || x.value === "score")) && x.args.every(perRow);
}

type Instruction = (...operands: V128Value[]) => V128Value;

/** Operations of one instruction: on integers and booleans, and on floats. */
const INSTRUCTIONS = {
  abs: [i32x4.abs, f32x4.abs], neg: [i32x4.neg, f32x4.neg], sqrt: [f32x4.sqrt, f32x4.sqrt],
  float: [f32x4.convert_i32x4_s, f32x4.convert_i32x4_s],
  add: [i32x4.add, f32x4.add], sub: [i32x4.sub, f32x4.sub], mul: [i32x4.mul, f32x4.mul], div: [f32x4.div, f32x4.div],
  min: [i32x4.min_s, f32x4.min], max: [i32x4.max_s, f32x4.max],
  lt: [i32x4.lt_s, f32x4.lt], le: [i32x4.le_s, f32x4.le], eq: [i32x4.eq, f32x4.eq],
  not: [v128.not, v128.not], and: [v128.and, v128.and], or: [v128.or, v128.or],
} satisfies Record<string, readonly [Instruction, Instruction]>; // biome-ignore format: a table

/** Compiles expressions for one row: `begin` once per row, then `vectors` for the keys. */
export class RowCompiler {
  private readonly f: FunctionBuilder;
  private readonly m: Arithmetic;
  private readonly pool: ExpressionPool;
  private readonly inside: ReadonlySet<Expression>;
  private readonly vars: RowVars;
  private readonly rowValues = new Map<Expression, V128Value>();

  constructor(
    f: FunctionBuilder,
    m: Arithmetic,
    pool: ExpressionPool,
    inside: ReadonlySet<Expression>,
    vars: RowVars,
  ) {
    this.f = f;
    this.m = m;
    this.pool = pool;
    this.inside = inside;
    this.vars = vars;
  }

  /** Computes the values that are the same for the row, for the expressions that `vectors` compiles later. */
  begin(expressions: readonly (Expression | undefined)[]): void {
    const visit = (x: Expression): void => {
      if (this.rowValues.has(x)) return;
      if (perRow(x)) this.rowValues.set(x, this.f.let(this.node(x, (y) => this.rowValue(y), undefined)));
      else if (x.op === "table") {
        // The table varies along the row; its indices may not.
        x.args.forEach(visit);
      } else
        x.args.forEach((y, n) => void ((x.op === "floorDiv" || x.op === "mod") && n === 1 ? 0 : visit(y)));
    };
    for (const x of expressions) if (x) visit(x);
  }

  private rowValue(x: Expression): V128Value {
    const value = this.rowValues.get(x) ?? this.f.let(this.node(x, (y) => this.rowValue(y), undefined));
    this.rowValues.set(x, value);
    return value;
  }

  /**
   * The expression at several vectors of four keys, node by node for all of them, so that V8 can pair them. Booleans are
   * lanes of ones or zeros. `ks` are the keys, `scores` the scores.
   */
  vectors(
    expr: Expression,
    ks: readonly Local<"v128">[],
    scores: readonly V128Value[] | undefined,
    computed = new Map<Expression, readonly V128Value[]>(),
  ): readonly V128Value[] {
    const get = (x: Expression): readonly V128Value[] => {
      const row = this.rowValues.get(x);
      if (row) return ks.map(() => row);
      if (x.op === "var") return x.value === "k" ? ks : (scores as readonly V128Value[]);
      const entry = computed.get(x);
      if (entry) return entry;
      // Operands first, each for all vectors.
      x.args.forEach((y, n) => {
        if (!((x.op === "floorDiv" || x.op === "mod") && n === 1)) get(y);
      });
      const values = ks.map((k, n) => this.f.let(this.node(x, (y) => get(y)[n], k)));
      computed.set(x, values);
      return values;
    };
    return get(expr);
  }

  /** Index of a table's first word in the pool: its address, followed by its lengths. */
  private wordOf(t: Table): number {
    let word = this.pool.constants.length;
    for (const other of this.pool.tables) {
      if (other === t) break;
      word += 1 + other.shape.length;
    }
    return word;
  }

  private lengthOf(t: Table, axis: number): V128Value {
    return v128.load32_splat(this.vars.call, CallStruct.pool + 4 * (this.wordOf(t) + 1 + axis));
  }

  /** An index clamped to its axis. */
  clamped(x: Expression, axis: number, index: V128Value): V128Value {
    const last = i32x4.sub(this.lengthOf(x.value as Table, axis), this.m.bits(1));
    return i32x4.max_s(i32x4.min_s(index, last), this.m.bits(0));
  }

  /** Flat index ((i₀·n₁ + i₁)·n₂ + i₂) … of a lookup. */
  flat(x: Expression, index: (axis: number) => V128Value): V128Value {
    let flat = index(0);
    for (let axis = 1; axis < x.args.length; axis++)
      flat = i32x4.add(i32x4.mul(flat, this.lengthOf(x.value as Table, axis)), index(axis));
    return flat;
  }

  private constantAt(x: Expression): V128Value {
    return v128.load32_splat(this.vars.call, CallStruct.pool + 4 * this.pool.constants.indexOf(x));
  }

  private node(x: Expression, get: (x: Expression) => V128Value, k: Local<"v128"> | undefined): V128Value {
    const { f, m } = this;
    const arg = (n: number) => get(x.args[n]);
    switch (x.op) {
      case "const": return x.type === "bool" ? this.truth(x.value === 1) : this.constantAt(x);
      case "var": return i32x4.splat(this.vars[x.value as Exclude<VarName, "k" | "score">]);
      case "table": return this.lookUp(x, get, k);
      case "select": return v128.bitselect(arg(1), arg(2), arg(0));
      case "exp": return exp(f, m, arg(0));
      case "log": return log(f, m, arg(0));
      case "tanh": return tanh(f, m, arg(0));
      case "floorDiv": case "mod": return this.divided(arg(0), x.args[1].value as number, x.op);
      default: return (INSTRUCTIONS[x.op] as readonly Instruction[])[Number(x.args[0].type === "float")](...x.args.map(get));
    } // biome-ignore format: a row an operation
  }

  private truth(value: boolean): V128Value {
    const zero = this.m.bits(0);
    return value ? i32x4.eq(zero, zero) : zero;
  }

  /** Division by a constant, towards −∞: a shift where it is a power of two, else lane by lane. */
  private divided(x: V128Value, n: number, op: "floorDiv" | "mod"): V128Value {
    const { f } = this;
    const shift = Math.log2(n);
    if (Number.isInteger(shift))
      return op === "floorDiv" ? i32x4.shr_s(x, shift) : v128.and(x, i32x4.splat(n - 1));
    const local = f.let(x);
    const out = f.let(local as V128Value);
    for (let lane = 0; lane < 4; lane++) {
      const value = f.let(i32x4.extract_lane(local, lane));
      const rest = f.let(i32.rem_s(value, n));
      f.set(rest, i32.add(rest, i32.and(i32.shr_s(rest, 31), n)));
      f.set(out, i32x4.replace_lane(out, op === "mod" ? rest : i32.div_s(i32.sub(value, rest), n), lane));
    }
    return out;
  }

  private lookUp(x: Expression, get: (x: Expression) => V128Value, k: Local<"v128"> | undefined): V128Value {
    const { f, vars } = this;
    const base = i32.load(vars.call, CallStruct.pool + 4 * this.wordOf(x.value as Table));
    // Columns after the last key are computed too (and masked): a gather there must stay in the table; a full vector may
    // read a few numbers past it.
    const last = x.args.length - 1;
    const inside = this.inside.has(x);
    const direction = inside && k && x.args.slice(0, last).every(perRow) ? alongKeys(x.args[last]) : 0;
    const free = direction !== 0 || (inside && perRow(x));
    const index = f.let(
      this.flat(x, (axis) => (free ? get(x.args[axis]) : this.clamped(x, axis, get(x.args[axis])))),
    );
    const address = (lane: number) => i32.add(base, i32.shl(i32x4.extract_lane(index, lane), 2));
    if (perRow(x)) return v128.load32_splat(address(0));
    if (direction === 1) return v128.load(address(0));
    if (direction === -1) {
      const loaded = f.let(v128.load(address(3)));
      return shuffle32(loaded, loaded, [3, 2, 1, 0]);
    }
    const out = f.let(i32x4.splat(i32.load(address(0))));
    for (let lane = 1; lane < 4; lane++) f.set(out, i32x4.replace_lane(out, i32.load(address(lane)), lane));
    return out;
  }
}

/** 1 or −1 where an index is known to increase or decrease by one from key to key, else 0. */
function alongKeys(x: Expression): number {
  if (x.op === "var" && x.value === "k") return 1;
  const [a, b] = x.args;
  if (x.op === "add") return perRow(a) ? alongKeys(b) : perRow(b) ? alongKeys(a) : 0;
  if (x.op === "sub") return perRow(b) ? alongKeys(a) : perRow(a) ? -alongKeys(b) : 0;
  return 0;
}
