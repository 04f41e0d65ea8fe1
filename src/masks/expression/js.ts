/**
 * An expression as a closure, in float64 (its siblings compile it into kernels). Built from closures, not from
 * text, so that it runs under a Content-Security-Policy without `unsafe-eval`.
 */
import type { Expression, Table, VarName } from "./expr.ts";

/** A cell: where an expression is evaluated. */
export type Cell = Record<VarName, number>;

/** The expression's value at a cell; statements give 1 or 0. */
export function compile(expr: Expression): (cell: Cell) => number {
  const [a, b, c] = expr.args.map(compile);
  switch (expr.op) {
    case "const": {
      const value = expr.value as number;
      return () => value;
    }
    case "var": {
      const name = expr.value as VarName;
      return (cell) => cell[name];
    }
    case "table": return lookUp(expr.value as Table, expr.args.map(compile));
    case "select": return (cell) => (a(cell) ? b(cell) : c(cell));
    case "abs": return (cell) => Math.abs(a(cell));
    case "neg": return (cell) => -a(cell);
    case "exp": return (cell) => Math.exp(a(cell));
    case "log": return (cell) => Math.log(a(cell));
    case "tanh": return (cell) => Math.tanh(a(cell));
    case "sqrt": return (cell) => Math.sqrt(a(cell));
    case "float": return a;
    case "not": return (cell) => 1 - a(cell);
    case "add": return (cell) => a(cell) + b(cell);
    case "sub": return (cell) => a(cell) - b(cell);
    case "mul": return (cell) => a(cell) * b(cell);
    case "div": return (cell) => a(cell) / b(cell);
    case "floorDiv": return (cell) => Math.floor(a(cell) / b(cell));
    case "mod": return (cell) => {
      const n = b(cell);
      return ((a(cell) % n) + n) % n;
    };
    case "min": return (cell) => Math.min(a(cell), b(cell));
    case "max": return (cell) => Math.max(a(cell), b(cell));
    case "lt": return (cell) => (a(cell) < b(cell) ? 1 : 0);
    case "le": return (cell) => (a(cell) <= b(cell) ? 1 : 0);
    case "eq": return (cell) => (a(cell) === b(cell) ? 1 : 0);
    case "and": return (cell) => (a(cell) && b(cell) ? 1 : 0);
    case "or": return (cell) => (a(cell) || b(cell) ? 1 : 0);
  } // biome-ignore format: a row an operation
}

/** An index beyond the table reads its nearest edge. */
function lookUp(t: Table, index: ((cell: Cell) => number)[]): (cell: Cell) => number {
  return (cell) => {
    let at = 0;
    for (let axis = 0; axis < index.length; axis++) {
      const n = t.shape[axis];
      at = at * n + Math.max(0, Math.min(n - 1, index[axis](cell)));
    }
    return t.data[at];
  };
}
