/**
 * The language of masks and score mods: small typed expressions over
 *
 *   b, h   batch entry and query head          q, k   position of the query and of the key
 *   i      row of the query (q − queryOffset)  score  the score so far (score mods only)
 *
 * A mask is a boolean expression (true = attend), a score mod a number expression. They are data, not callbacks: every backend
 * compiles them into its kernel (js.ts, wasm/codegen/score.ts), and bounds.ts finds the tiles that a mask leaves empty.
 * Positions and indices are 32-bit integers; a number with a fraction, or anything that touches `score`, is a float.
 * The idea of intervals over an expression follows tinygrad's `_min_max`; of composed masks, PyTorch FlexAttention.
 */
// long: the operators create nodes of each other's classes, and a recorded statement is one of them.
import type { DType } from "../../core/dtype.ts";
import {
  argumentError,
  checkCount,
  formatValue,
  isFunction,
  OptionError,
  refuseGot,
} from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";

/** Type of an expression. @beta */
export type ExprType = "int" | "float" | "bool";
/** Variables of an expression: batch entry, query head, query row, query and key position, and the score. @beta */
export type VarName = "b" | "h" | "i" | "q" | "k" | "score";
/** Operations on one number. `exp`, `log`, `tanh`, `sqrt` give floats. @beta */
export type UnaryOp = "abs" | "neg" | "exp" | "log" | "tanh" | "sqrt" | "float" | "not";
/** Operations on two values. `div` is a division of floats, `floorDiv` and `mod` are of integers and round towards −∞. @beta */
export type BinaryOp =
  | "add" | "sub" | "mul" | "div" | "floorDiv" | "mod" | "min" | "max"
  | "lt" | "le" | "eq" | "and" | "or"; // biome-ignore format: one row a kind
/** The operation of an expression. @beta */
export type Op = "const" | "var" | "table" | "select" | UnaryOp | BinaryOp;

/** Numbers that an expression reads by index. An index out of range reads the nearest edge; a `strict` table refuses the call. @beta */
export interface Table {
  /** Its numbers. Reading them throws where `source` is on another device: that device's backend reads `source`. */
  readonly data: Int32Array | Float32Array | Float64Array;
  readonly type: "int" | "float";
  readonly shape: readonly number[];
  /** Name of the table in errors and gradients: `documents`, `alibi slopes`, `table` … */
  readonly name: string;
  /** True where an index out of range is an error, reported before any work. */
  readonly strict: boolean;
  /**
   * Axes whose length must be exactly the number of batch entries, query heads or positions that index them. An axis of
   * positions may be longer where an option such as `queryOffset` sets the positions.
   */
  readonly exact?: readonly boolean[];
  /** The largest position that the caller listed; a call without that position is refused. */
  readonly highest?: number;
  /** The dtype of `source`, and of the gradient. */
  readonly dtype: DType;
  /** The tensor that the numbers were copied from; a gradient of the table is a gradient of this tensor. */
  readonly source: Tensor;
}

/** While the function of `maskMod` runs: the boolean expressions that it created, and those that are part of others. */
let statements: { readonly created: Set<Expression>; readonly used: Set<Expression> } | undefined;

/** Marks boolean expressions as part of others. */
function noteUse(...used: readonly Expression[]): void {
  for (const x of used) statements?.used.add(x);
}

/** A node. The subclasses below have the operators. @beta */
export class Expression {
  readonly op: Op;
  readonly type: ExprType;
  readonly args: readonly Expression[];
  readonly value: number | VarName | Table | undefined;
  constructor(op: Op, type: ExprType, args: readonly Expression[], value?: number | VarName | Table) {
    this.op = op;
    this.type = type;
    this.args = args;
    this.value = value;
    if (statements && type === "bool") statements.created.add(this);
    if (statements) noteUse(...args);
  }
}

type Operand = NumberExpression | number;

/** A number that depends on position. */
export class NumberExpression extends Expression {
  /** This plus `x`. */
  add(x: Operand): NumberExpression {
    return binary("add", this, x, arguments);
  }
  /** This minus `x`. */
  sub(x: Operand): NumberExpression {
    return binary("sub", this, x, arguments);
  }
  /** This times `x`. */
  mul(x: Operand): NumberExpression {
    return binary("mul", this, x, arguments);
  }
  /** Division of floats. */
  div(x: Operand): NumberExpression {
    return binary("div", asFloat(this), x, arguments);
  }
  /** Integer division, rounded towards −∞; the divisor is a positive integer constant. */
  floorDiv(n: number): NumberExpression {
    return integerBy("floorDiv", this, n, arguments);
  }
  /** Remainder with the sign of the divisor, a positive integer constant. */
  mod(n: number): NumberExpression {
    return integerBy("mod", this, n, arguments);
  }
  /** The smaller of this and `x`; NaN if either is NaN. */
  min(x: Operand): NumberExpression {
    return binary("min", this, x, arguments);
  }
  /** The larger of this and `x`; NaN if either is NaN. */
  max(x: Operand): NumberExpression {
    return binary("max", this, x, arguments);
  }
  /** The absolute value. */
  abs(): NumberExpression {
    return unary("abs", this, arguments);
  }
  /** The negative. */
  neg(): NumberExpression {
    return unary("neg", this, arguments);
  }
  /** e to the power of this, as a float. */
  exp(): NumberExpression {
    return unary("exp", asFloat(this), arguments);
  }
  /** The natural logarithm, as a float. */
  log(): NumberExpression {
    return unary("log", asFloat(this), arguments);
  }
  /** The hyperbolic tangent, as a float. */
  tanh(): NumberExpression {
    return unary("tanh", asFloat(this), arguments);
  }
  /** The square root, as a float. */
  sqrt(): NumberExpression {
    return unary("sqrt", asFloat(this), arguments);
  }
  /** The same number as a float. */
  toFloat(): NumberExpression {
    checkCount("toFloat", arguments, 0);
    return asFloat(this);
  }
  /** True where this < `x`. */
  lt(x: Operand): BoolExpression {
    return compare("lt", this, x, arguments);
  }
  /** True where this ≤ `x`. */
  le(x: Operand): BoolExpression {
    return compare("le", this, x, arguments);
  }
  /** True where this > `x`. */
  gt(x: Operand): BoolExpression {
    return compare("gt", this, x, arguments);
  }
  /** True where this ≥ `x`. */
  ge(x: Operand): BoolExpression {
    return compare("ge", this, x, arguments);
  }
  /** True where this = `x`. */
  eq(x: Operand): BoolExpression {
    return compare("eq", this, x, arguments);
  }
  /** True where this ≠ `x`. */
  ne(x: Operand): BoolExpression {
    return compare("ne", this, x, arguments).not();
  }
}

/** A boolean expression of a cell. As a mask, true = attend. */
export class BoolExpression extends Expression {
  /** True where this and all others are true. */
  and(...others: BoolExpression[]): BoolExpression {
    return others.reduce((a, b) => join("and", a, b), this as BoolExpression);
  }
  /** True where this or any other is true. */
  or(...others: BoolExpression[]): BoolExpression {
    return others.reduce((a, b) => join("or", a, b), this as BoolExpression);
  }
  /** True where this is false. */
  not(): BoolExpression {
    checkCount("not", arguments, 0);
    noteUse(this);
    if (this.op === "const") return boolConst(this.value === 0);
    return this.op === "not" ? (this.args[0] as BoolExpression) : new BoolExpression("not", "bool", [this]);
  }
  /** `yes` where this is true, `no` elsewhere. */
  select(yes: Operand, no: Operand): NumberExpression {
    checkCount("select", arguments, 2);
    const [a, b] = promoteTypes(lift(yes), lift(no));
    return new NumberExpression("select", a.type, [this, a, b]);
  }
}

/** A predicate over (b, h, q, k): true = attend. */
export type Mask = BoolExpression;

/** A score mod, made by `scoreMod`, `softcap`, `alibi` or `relativeBias`. */
export class ScoreMod {
  /** The new score as an expression of `score` and the positions. */
  readonly expr: NumberExpression;
  constructor(expr: NumberExpression) {
    if (!(expr instanceof NumberExpression)) throw argumentError("ScoreMod", "an expression of score", expr);
    this.expr = expr;
  }
}

const variable = (name: VarName): NumberExpression =>
  new NumberExpression("var", name === "score" ? "float" : "int", [], name);

/** The variables, one object each, so that equal expressions are equal trees. */
export const VARS = /* @__PURE__ */ (() => ({
  b: variable("b"),
  h: variable("h"),
  i: variable("i"),
  q: variable("q"),
  k: variable("k"),
  score: variable("score"),
}))();

/** Variables of a mask. */
export type MaskVars = Omit<typeof VARS, "score">;
/** Variables of a score mod. */
export type ScoreVars = typeof VARS;

/**
 * A custom mask: `maskMod(({ q, k }) => k.le(q))` is the causal mask. The function makes an expression once; it is no callback for each
 * cell: statements are joined by `and`, `or`, `not` and `select`. JavaScript's `&&`, `||`, `??`, `!`, `if` and `? :` on expressions are refused.
 *
 * @example
 * const near = maskMod(({ q, k }) => k.le(q).and(q.sub(k).lt(64)));
 * scaledDotProductAttention(q, k, v, { attnMask: near });
 */
export function maskMod(build: (vars: MaskVars) => BoolExpression): Mask {
  checkCount("maskMod", arguments, 1);
  // At run time `score` is passed too, so that a mask that uses it gets the error below.
  const mask = built("maskMod", "mask", BoolExpression, "statement such as k.le(q)", build);
  if (uses(mask, "score"))
    throw new OptionError("mask", "maskMod: a mask may not depend on the score; use scoreMod for that");
  return mask;
}

/** What the function of a mask or score mod returns for the variables, checked. */
function built<T extends Expression>(
  what: string,
  code: string,
  Kind: new (op: Op, type: ExprType, args: readonly Expression[]) => T,
  expected: string,
  build: (vars: ScoreVars) => T,
): T {
  const refuse = (text: string, got: unknown): never => {
    throw new OptionError(code, `${what}: ${text}, got ${formatValue(got)}`, { got });
  };
  // FlexAttention's functions take b, h, q and k one by one.
  if (!isFunction(build) || build.length > 1)
    refuse("expected a function of one object, such as ({ q, k }) => …", build);
  // In JavaScript `a || b` is a: the second statement is never made, so only the text of the function shows it.
  const source = Function.prototype.toString
    .call(build)
    .replaceAll(/"[^"]*"|'[^']*'|\/\*.*?\*\/|\/\/.*/g, "");
  if (/\)\s*(\|\||\?\?)/.test(source))
    throw new OptionError(
      code,
      `${what}: the function has || or ?? after a call, which JavaScript evaluates while the expression is made: it would drop what follows; write a.or(b)`,
    );
  // `q === 0` is false for every expression, and no operator or symbol of JavaScript shows it.
  const names = [...(/^[^{]*\{([^}]*)\}/.exec(source)?.[1] ?? "").matchAll(/(\w+)(?:\s*:\s*(\w+))?/g)];
  const variables =
    names.flatMap(([, name, alias = name]) => (name in VARS ? alias : [])).join("|") || "(?!)";
  const compared = new RegExp(
    `\\b(${variables})(\\.\\w+\\([^()]*\\))*\\s*[!=]==|[!=]==\\s*(${variables})\\b`,
  );
  if (compared.test(source))
    throw new OptionError(
      code,
      `${what}: the function has === or !== beside a variable, which JavaScript evaluates while the expression is made; write q.eq(k) or q.ne(0)`,
    );
  const outer = statements;
  const inner = { created: new Set<Expression>(), used: new Set<Expression>() };
  statements = inner;
  Object.assign(Expression.prototype, { [Symbol.toPrimitive]: toPrimitive });
  let result: T;
  try {
    result = build(VARS);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new OptionError(
      code,
      `${what}: ${error.message}; the variables are ${Object.keys(VARS).join(", ")}, and what they have is le, lt, ge, gt, eq, ne, add, sub, mul, div, abs, min, max …, for no operator or function of Math works on them`,
    );
  } finally {
    statements = outer;
  }
  if (!(result instanceof Kind)) refuse(`the function must return a ${expected}`, result);
  // In JavaScript `a && b` is b, and `a ? b : c` is b: the other statements would be lost silently.
  const lost = [...inner.created].filter(
    (x) => x !== result && x.op !== "const" && !inner.used.has(x),
  ).length;
  if (lost > 0)
    throw new OptionError(
      code,
      `${what}: statements made and not used: ${lost}; join them by and(), or() and select(), not by &&, || and ? :`,
      { lost },
    );
  return result;
}

/** What an operator of JavaScript reads: `q >= k` would be true, and `q - k` and Math.abs(q) NaN. */
function toPrimitive(): string {
  if (statements) throw new TypeError("it has an operator of JavaScript, such as >=, beside an expression");
  return "[object Object]";
}

/**
 * A custom score mod: `scoreMod(({ score, q, k }) => score.sub(q.sub(k).abs().mul(0.1)))`.
 *
 * @example
 * const distance = scoreMod(({ score, q, k }) => score.sub(q.sub(k).abs().mul(0.1)));
 * scaledDotProductAttention(q, k, v, { scoreMod: distance });
 */
export function scoreMod(build: (vars: ScoreVars) => NumberExpression): ScoreMod {
  checkCount("scoreMod", arguments, 1);
  const expr = built("scoreMod", "score-mod", NumberExpression, "number expression", build);
  if (!uses(expr, "score"))
    throw new OptionError(
      "score-mod",
      "scoreMod: the expression does not have score, so queries and keys would not matter; add to it, as in score.add(…), or say score.mul(0).add(…)",
    );
  return new ScoreMod(asFloat(expr));
}

/** A constant as an expression; integers stay integers. */
export function constant(value: number): NumberExpression {
  if (typeof value !== "number" || value !== value)
    refuseGot("constant", "an expression takes numbers and expressions", value);
  const isInteger = Number.isInteger(value) && Math.abs(value) < 2 ** 31 && !Object.is(value, -0);
  return new NumberExpression("const", isInteger ? "int" : "float", [], value);
}

/** A constant boolean expression. */
export function boolConst(value: boolean): BoolExpression {
  return new BoolExpression("const", "bool", [], value ? 1 : 0);
}

/** A number as an expression. */
export function lift(x: Operand): NumberExpression {
  return x instanceof NumberExpression ? x : constant(x);
}

/** The same value as a float. */
export function asFloat(x: NumberExpression): NumberExpression {
  if (x.type === "float") return x;
  return x.op === "const"
    ? new NumberExpression("const", "float", [], x.value)
    : new NumberExpression("float", "float", [x]);
}

function promoteTypes(a: NumberExpression, b: NumberExpression): [NumberExpression, NumberExpression] {
  return a.type === b.type ? [a, b] : [asFloat(a), asFloat(b)];
}

// The functions of methods take `arguments` too: JavaScript would ignore those that a method does not have.
function unary(op: UnaryOp, x: NumberExpression, got: IArguments): NumberExpression {
  checkCount(op, got, 0);
  return new NumberExpression(op, x.type, [x]);
}

function binary(op: BinaryOp, a: NumberExpression, x: Operand, got: IArguments): NumberExpression {
  checkCount(op, got, 1);
  const [left, right] = promoteTypes(a, lift(x));
  return new NumberExpression(op, left.type, [left, right]);
}

/** The operations of comparisons; a > b is b < a. */
const COMPARED = { lt: "lt", le: "le", gt: "lt", ge: "le", eq: "eq", ne: "eq" } as const;

function compare(
  name: keyof typeof COMPARED,
  a: NumberExpression,
  x: Operand,
  got: IArguments,
): BoolExpression {
  checkCount(name, got, 1);
  const pair = promoteTypes(a, lift(x));
  return new BoolExpression(COMPARED[name], "bool", name[0] === "g" ? pair.reverse() : pair);
}

function join(op: "and" | "or", a: BoolExpression, b: BoolExpression): BoolExpression {
  noteUse(a, b);
  if (!(b instanceof BoolExpression)) refuseGot("mask", `${op}: expected a mask`, b);
  for (const [x, other] of [
    [a, b],
    [b, a],
  ])
    if (x.op === "const") return (x.value === 1) === (op === "and") ? other : x;
  return new BoolExpression(op, "bool", [a, b]);
}

function integerBy(
  op: "floorDiv" | "mod",
  a: NumberExpression,
  n: number,
  got: IArguments,
): NumberExpression {
  checkCount(op, got, 1);
  if (a.type !== "int" || !(Number.isInteger(n) && n > 0 && n < 2 ** 31))
    throw new OptionError(
      "expression",
      `${op}: needs an integer expression and a positive integer, got ${a.type} and ${formatValue(n)}`,
      { got: n },
    );
  return new NumberExpression(op, "int", [a, constant(n)]);
}

/** True where the expression contains the variable. */
export function uses(expr: Expression, name: VarName): boolean {
  return (expr.op === "var" && expr.value === name) || expr.args.some((x) => uses(x, name));
}

/** `expr` with every `score` replaced: composes score mods. */
export function withScore(expr: NumberExpression, score: NumberExpression): NumberExpression {
  return substitute(expr, new Map([[VARS.score, score]]));
}

/** `expr` with variables replaced by other expressions; subexpressions without them are shared. */
export function substitute<E extends Expression>(
  expr: E,
  replacements: ReadonlyMap<Expression, NumberExpression>,
): E {
  const results = new Map<Expression, Expression>(replacements);
  const visit = (x: Expression): Expression => {
    const result = results.get(x);
    if (result) return result;
    if (x.args.length === 0) return x;
    const args = x.args.map(visit);
    const same = args.every((y, n) => y === x.args[n]);
    const rebuilt = same ? x : new (x.constructor as typeof Expression)(x.op, x.type, args, x.value);
    results.set(x, rebuilt);
    return rebuilt;
  };
  return visit(expr) as E;
}

/** All tables that an expression reads, each once, in order of appearance. @beta */
export function tablesOf(expr: Expression, into: Table[] = []): Table[] {
  if (!Array.isArray((expr as Partial<Expression> | undefined)?.args) || !Array.isArray(into))
    throw argumentError("tablesOf", "an expression such as causal()", expr);
  if (expr.op === "table" && !into.includes(expr.value as Table)) into.push(expr.value as Table);
  for (const x of expr.args) tablesOf(x, into);
  return into;
}

/**
 * The expression as text, for kernel keys and `explain`. Hidden constants are written `c`, so that two windows share a kernel.
 * `mark` appends text to a hidden constant or a table.
 */
export function textOf(
  expr: Expression,
  constants: "shown" | "hidden" = "shown",
  mark: (x: Expression) => string = () => "",
): string {
  if (expr.op === "const") {
    if (expr.type === "bool") return expr.value === 1 ? "true" : "false";
    return constants === "shown" ? String(expr.value) : `c${expr.type[0]}${mark(expr)}`;
  }
  if (expr.op === "var") return expr.value as string;
  // The divisor of floorDiv and mod is part of a kernel's code, so it is always shown.
  const divides = expr.op === "floorDiv" || expr.op === "mod";
  const inner = expr.args.map((x, n) => textOf(x, divides && n === 1 ? "shown" : constants, mark)).join(",");
  if (expr.op === "table") {
    const t = expr.value as Table;
    const name = constants === "shown" ? t.name.replaceAll(" ", "-") : `table${t.shape.length}${t.type[0]}`;
    return `${name}${mark(expr)}[${inner}]`;
  }
  return `${expr.op}(${inner})`;
}

/** What masks of lengths count, and up to where: a call refuses numbers beyond its rows or keys. */
export interface Limit {
  readonly what: string;
  readonly axis: "rows" | "keys";
  readonly limit: NumberExpression | number;
}

/** The lengths that an expression itself counts, not those in it. A call reads them without a function of this file. */
export const LIMITS: WeakMap<Expression, Limit> = /* @__PURE__ */ new WeakMap();

/** Marks a mask as one of lengths. */
export function withLimit<M extends Mask>(mask: M, limit: Limit): M {
  if (mask.op !== "const") LIMITS.set(mask, limit);
  return mask;
}

/** Ends an error about such a mask or score mod. */
export const FOREIGN =
  "comes from another copy of heed (two versions installed, or one bundled twice); import it from the copy that is called";

/** A mask or score mod whose class is that of another copy of this module; call it only for values that are not of this copy. */
export function isForeign(x: unknown): boolean {
  if (typeof x !== "object" || x === null) return false;
  return ("op" in x && "args" in x) || ("expr" in x && isForeign(x.expr));
}
