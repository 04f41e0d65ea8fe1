/**
 * Prints an expression as WGSL, for kernels of a GPU: an `i32`, an `f32` or a `bool`. Every operation becomes a `let`, so that a
 * subexpression that appears twice is computed once. Where numbers come from is the caller's choice: constants that are parameters of
 * a kernel leave its text unchanged, so that two windows share a kernel.
 */
import type { Expression, Table, VarName } from "./expr.ts";

/** How the leaves of an expression are written. */
export interface WgslLeaves {
  /** A constant of the type of the expression. */
  constant(value: number, type: "int" | "float"): string;
  /** A variable. */
  variable(name: VarName): string;
  /** An entry of a table, by an `i32` index into its numbers in row-major order. */
  lookup(table: Table, index: string): string;
}

/** Functions that the printed text calls; a module that contains the text needs them once. */
export const WGSL_FUNCTIONS = `
fn isNaN(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn least(a: f32, b: f32) -> f32 { return select(select(min(a, b), b, isNaN(b)), a, isNaN(a)); }
fn greatest(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, isNaN(b)), a, isNaN(a)); }
fn floorDiv(a: i32, n: i32) -> i32 { let t = a / n; return t - select(0, 1, a - t * n < 0); }
fn floorMod(a: i32, n: i32) -> i32 { let r = a % n; return r + select(0, n, r < 0); }
// Near 0 the series: (e^2x - 1)/(e^2x + 1) would lose digits. e^2x overflows from 44 on.
fn tanhOf(x: f32) -> f32 {
  let s = x * x;
  let series = x * (1.0 + s * (-0.33333334 + s * (0.13333334 + s * (-0.053968254 + s * (0.021869488 - s * 0.008863236)))));
  let e = exp(2.0 * min(abs(x), 20.0));
  let far = sign(x) * (1.0 - 2.0 / (e + 1.0));
  return select(select(far, series, abs(x) < 0.35), x, isNaN(x));
}
`;

const INFIX: Partial<Record<Expression["op"], string>> = {
  add: "+",
  sub: "-",
  mul: "*",
  div: "/",
  lt: "<",
  le: "<=",
  eq: "==",
  and: "&&",
  or: "||",
};

const TYPES = { int: "i32", float: "f32", bool: "bool" } as const;

/** Prints `expr` as statements, then a value. `prefix` begins the names of the statements. */
export function printWgsl(
  expr: Expression,
  leaves: WgslLeaves,
  prefix: string,
): { readonly statements: string; readonly value: string } {
  const lines: string[] = [];
  const names = new Map<Expression, string>();
  const visit = (x: Expression): string => {
    const name = names.get(x);
    if (name !== undefined) return name;
    const text = textOf(x, x.args.map(visit), leaves);
    const isLeaf = x.op === "const" || x.op === "var";
    const written = isLeaf ? text : `${prefix}${lines.length}`;
    if (!isLeaf) lines.push(`let ${written}: ${TYPES[x.type]} = ${text};`);
    names.set(x, written);
    return written;
  };
  const value = visit(expr);
  return { statements: lines.join("\n"), value };
}

function textOf(x: Expression, args: readonly string[], leaves: WgslLeaves): string {
  const [a, b, c] = args;
  const isFloat = x.type === "float";
  switch (x.op) {
    case "const":
      return x.type === "bool" ? String(x.value === 1) : leaves.constant(x.value as number, x.type);
    case "var": return leaves.variable(x.value as VarName);
    case "table": return leaves.lookup(x.value as Table, flatIndex(x.value as Table, args));
    case "select": return `select(${c}, ${b}, ${a})`;
    case "abs":
    case "exp":
    case "log":
    case "sqrt": return `${x.op}(${a})`;
    case "tanh": return `tanhOf(${a})`;
    case "neg": return `-${a}`;
    case "float": return `f32(${a})`;
    case "not": return `!${a}`;
    case "floorDiv": return `floorDiv(${a}, ${b})`;
    case "mod": return `floorMod(${a}, ${b})`;
    case "min": return isFloat ? `least(${a}, ${b})` : `min(${a}, ${b})`;
    case "max": return isFloat ? `greatest(${a}, ${b})` : `max(${a}, ${b})`;
    default: return `${a} ${INFIX[x.op]} ${b}`;
  }
} // biome-ignore format: a row an operation

/** The row-major index of an entry; an index out of range reads the nearest edge. */
function flatIndex({ shape }: Table, args: readonly string[]): string {
  return args.reduce((at, index, axis) => {
    const inside = `clamp(${index}, 0, ${Math.max(0, shape[axis] - 1)})`;
    return axis === 0 ? inside : `(${at}) * ${shape[axis]} + ${inside}`;
  }, "0");
}
