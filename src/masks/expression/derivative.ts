/**
 * Derivatives of a score expression, as expressions: with respect to the incoming score and to every lookup in a table of
 * floats (bias, slopes, custom tables). Reverse mode on the tree: the root's adjoint is 1, and the chain rule gives those of
 * each node's arguments. Derivatives are expressions too, so every backend compiles them as it compiles scores.
 *
 * Where the score is not smooth: |x| has derivative 0 at 0; of two equal arguments of min and max the first gets the
 * gradient; floorDiv, mod and comparisons are step functions and have no gradient.
 */
import type { BoolExpression, Expression, NumberExpression, Table } from "./expr.ts";
import { constant, lift, VARS } from "./expr.ts";

/** A lookup in a table of floats, and the derivative of the score with respect to the entry. */
export interface TableDerivative {
  /** The lookup; its `args` are the indices. */
  readonly read: NumberExpression;
  readonly table: Table;
  readonly partial: NumberExpression;
}

/** Derivatives of a score expression. */
export interface Derivative {
  /** With respect to the incoming score; undefined where it is 1. */
  readonly score?: NumberExpression;
  readonly tables: readonly TableDerivative[];
}

const ZERO = constant(0).toFloat();
const ONE = constant(1).toFloat();

/** Derivatives with respect to the incoming score and to every table entry that the expression reads. */
export function derivative(expr: NumberExpression): Derivative {
  const adjoints = new Map<Expression, NumberExpression>([[expr, ONE]]);
  for (const node of fromTheRoot(expr)) {
    const adjoint = adjoints.get(node);
    if (!adjoint) continue;
    node.args.forEach((argument, n) => {
      if (!depends(argument)) return;
      const part = partOf(node, n, adjoint);
      const earlier = adjoints.get(argument);
      adjoints.set(argument, earlier ? earlier.add(part) : part);
    });
  }
  const tables: TableDerivative[] = [];
  for (const [node, partial] of adjoints)
    if (readsFloats(node))
      tables.push({ read: node as NumberExpression, table: node.value as Table, partial });
  const score = adjoints.get(VARS.score) ?? ZERO;
  return { ...(score !== ONE && { score }), tables };
}

const readsFloats = (x: Expression): boolean => x.op === "table" && (x.value as Table).type === "float";

/** True where a gradient can flow into the node: it contains the score or reads floats. */
function depends(x: Expression): boolean {
  if (x.type !== "float") return false;
  return x === VARS.score || readsFloats(x) || x.args.some(depends);
}

/** Nodes in reverse topological order: each follows all nodes that use it. */
function fromTheRoot(root: Expression): Expression[] {
  const order: Expression[] = [];
  const visited = new Set<Expression>();
  const visit = (x: Expression): void => {
    if (visited.has(x)) return;
    visited.add(x);
    x.args.forEach(visit);
    order.push(x);
  };
  visit(root);
  return order.reverse();
}

/** adjoint · ∂node/∂argument n, for a node and an argument that are floats. */
function partOf(node: Expression, n: number, adjoint: NumberExpression): NumberExpression {
  const [a, b] = node.args as NumberExpression[];
  const self = node as NumberExpression;
  switch (node.op) {
    case "add": return adjoint;
    case "sub": return n === 0 ? adjoint : mapAdjoint(adjoint, (x) => x.neg());
    case "mul": return times(adjoint, n === 0 ? b : a);
    case "div": return n === 0 ? mapAdjoint(adjoint, (x) => x.div(b)) : times(adjoint, self.div(b).neg());
    case "min": return where(a.le(b), n === 0, adjoint);
    case "max": return where(a.ge(b), n === 0, adjoint);
    case "neg": return mapAdjoint(adjoint, (x) => x.neg());
    case "abs": return a.lt(0).select(adjoint.neg(), lift(0).lt(a).select(adjoint, ZERO));
    case "exp": return times(adjoint, self);
    case "log": return mapAdjoint(adjoint, (x) => x.div(a));
    case "tanh": return times(adjoint, ONE.sub(self.mul(self)));
    case "sqrt": return mapAdjoint(adjoint, (x) => x.div(self.mul(2)));
    // select: no other operation with a float as argument gives a float.
    default: return where(node.args[0] as BoolExpression, n === 1, adjoint);
  } // biome-ignore format: a row an operation
}

/** Applies `f` to an adjoint; inside a select only to the branch that is not 0, so that a 0·∞ of the other branch cannot occur. */
function mapAdjoint(
  adjoint: NumberExpression,
  f: (x: NumberExpression) => NumberExpression,
): NumberExpression {
  if (adjoint.op !== "select") return f(adjoint);
  const [condition, yes, no] = adjoint.args as [BoolExpression, NumberExpression, NumberExpression];
  if (no === ZERO) return condition.select(mapAdjoint(yes, f), ZERO);
  return yes === ZERO ? condition.select(ZERO, mapAdjoint(no, f)) : f(adjoint);
}

const times = (adjoint: NumberExpression, x: NumberExpression): NumberExpression =>
  mapAdjoint(adjoint, (a) => (a === ONE ? x : a.mul(x)));

/** The adjoint where the condition equals `value`, else 0. */
const where = (condition: BoolExpression, value: boolean, adjoint: NumberExpression): NumberExpression =>
  value ? condition.select(adjoint, ZERO) : condition.select(ZERO, adjoint);
