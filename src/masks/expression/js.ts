/**
 * Compiles an expression to closures, in float64. Closures, unlike generated source text, run under a
 * Content-Security-Policy without `unsafe-eval`.
 */
import type { Expression, Table, VarName } from "./expr.ts";

/** A cell: where an expression is evaluated. */
export type Cell = Record<VarName, number>;

/** The expression's value at a cell; booleans are 1 or 0. */
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
    case "table": {
      const table = expr.value as Table;
      const index = compileIndex(expr);
      return (cell) => table.data[index(cell)];
    }
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

/** Element of a table that a lookup reads at a cell; an index out of range reads the nearest edge. */
export function compileIndex(lookup: Expression): (cell: Cell) => number {
  const { shape } = lookup.value as Table;
  const index = lookup.args.map(compile);
  return (cell) => {
    let at = 0;
    for (let axis = 0; axis < index.length; axis++) {
      const n = shape[axis];
      at = at * n + Math.max(0, Math.min(n - 1, index[axis](cell)));
    }
    return at;
  };
}
