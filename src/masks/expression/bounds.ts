/**
 * Bounds of an expression over a box of cells: its minimum and maximum. For a mask they say which tiles are
 * empty (skipped), full (no predicate) or partial; for a table, whether an index can be out of range.
 *
 * Interval arithmetic: bounds may be wider than necessary (a full tile may be classified as partial) but never narrower: a
 * tile classified as empty or full is so. An expression is compiled to a list of steps over two arrays
 * of numbers with one entry per node; a box takes some forty nanoseconds per operation (measured), and a planner needs thousands of boxes.
 */
import type { BoolExpression, Expression, Op, Table, VarName } from "./expr.ts";

/** A box of cells: inclusive ranges of batch, head, row and key. `offset` is queryOffset, so q = i + offset. */
export interface Box {
  b0: number;
  b1: number;
  h0: number;
  h1: number;
  i0: number;
  i1: number;
  k0: number;
  k1: number;
  offset0: number;
  offset1: number;
}

/** The class of a tile: no cell visible, all cells visible, or some. */
export type TileClass = "skip" | "full" | "partial";

/** Bounds of every node, and 1 where a float may be NaN; `last` is the index of the whole expression. */
export interface Slots {
  low: Float64Array;
  high: Float64Array;
  nan: Uint8Array;
  last: number;
}

/** One node: its operation, the indices of its operands, whether floats are involved. */
interface Step {
  readonly op: Op;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly float: boolean;
  readonly value: number;
  readonly name: VarName | "";
  /** A comparison of floats: with a NaN operand its result is unknown. */
  readonly nanSensitive: boolean;
  /** A table that contains NaN. */
  readonly containsNaN: boolean;
  readonly lookup: ((low: Float64Array, high: Float64Array, at: number) => void) | undefined;
}

/** A function that computes the bounds of `expr` over a box. It returns the same arrays each time. */
export function compileBounds(expr: Expression): (box: Box) => Slots {
  const rows = new Map<Expression, number>();
  const steps: Step[] = [];
  const place = (x: Expression): number => {
    const row = rows.get(x);
    if (row !== undefined) return row;
    const args = x.args.map(place);
    const [a = 0, b = 0, c = 0] = args;
    steps.push({
      op: x.op,
      a,
      b,
      c,
      // For `float` the type of the operand: a large integer loses digits. For others the type of the node.
      float: x.op === "float" ? x.args[0].type === "float" : x.type === "float",
      value: typeof x.value === "number" ? x.value : 0,
      name: x.op === "var" ? (x.value as VarName) : "",
      nanSensitive: x.type === "bool" && x.args[0]?.type === "float",
      containsNaN: x.op === "table" && (x.value as Table).data.some((n: number) => n !== n),
      lookup: x.op === "table" ? tableBounds(x.value as Table, args) : undefined,
    });
    rows.set(x, steps.length - 1);
    return steps.length - 1;
  };
  const last = place(expr);
  const slots: Slots = {
    low: new Float64Array(steps.length),
    high: new Float64Array(steps.length),
    nan: new Uint8Array(steps.length),
    last,
  };
  // Only floats can be NaN; most masks have no floats and skip that step.
  const floats = steps.some((step) => step.float || step.nanSensitive);
  return (box) => {
    for (let at = 0; at < steps.length; at++) {
      run(steps[at], at, box, slots.low, slots.high);
      if (floats) mayBeNaN(steps[at], at, slots);
    }
    return slots;
  };
}

/** A function that classifies boxes of a mask. */
export function compileTileClassifier(mask: BoolExpression): (box: Box) => TileClass {
  const bound = compileBounds(mask);
  return (box) => {
    const { low, high, last } = bound(box);
    return high[last] === 0 ? "skip" : low[last] === 1 ? "full" : "partial";
  };
}

function run(step: Step, at: number, box: Box, low: Float64Array, high: Float64Array): void {
  const { a, b, c, float } = step;
  const la = low[a];
  const ha = high[a];
  const lb = low[b];
  const hb = high[b];
  let l = 0;
  let h = 0;
  switch (step.op) {
    case "const": l = h = step.value; break;
    case "var":
      switch (step.name) {
        case "b": l = box.b0; h = box.b1; break;
        case "h": l = box.h0; h = box.h1; break;
        case "i": l = box.i0; h = box.i1; break;
        case "q": l = box.i0 + box.offset0; h = box.i1 + box.offset1; break;
        case "k": l = box.k0; h = box.k1; break;
        default: l = -Infinity; h = Infinity;
      }
      break;
    case "table": step.lookup?.(low, high, at); return;
    case "select":
      l = ha === 0 ? low[c] : la === 1 ? lb : Math.min(lb, low[c]);
      h = ha === 0 ? high[c] : la === 1 ? hb : Math.max(hb, high[c]);
      break;
    case "abs":
      l = la > 0 ? la : ha < 0 ? -ha : 0;
      h = Math.max(Math.abs(la), Math.abs(ha));
      break;
    case "neg": l = -ha; h = -la; break;
    case "exp": l = below(Math.exp(la)); h = above(Math.exp(ha)); break;
    case "log": l = below(Math.log(Math.max(la, 0))); h = above(Math.log(Math.max(ha, 0))); break;
    case "tanh": l = below(Math.tanh(la)); h = above(Math.tanh(ha)); break;
    case "sqrt": l = below(Math.sqrt(Math.max(la, 0))); h = above(Math.sqrt(Math.max(ha, 0))); break;
    case "float": l = float ? la : single(la, below); h = float ? ha : single(ha, above); break;
    case "not": l = 1 - ha; h = 1 - la; break;
    case "add": l = la + lb; h = ha + hb; break;
    case "sub": l = la - hb; h = ha - lb; break;
    case "mul": {
      const [p, q, r, s] = [product(la, lb), product(la, hb), product(ha, lb), product(ha, hb)];
      l = Math.min(p, q, r, s);
      h = Math.max(p, q, r, s);
      if (float) {
        l = below(l);
        h = above(h);
      }
      break;
    }
    case "div":
      if (lb <= 0 && hb >= 0) {
        l = -Infinity;
        h = Infinity;
      } else {
        const [p, q, r, s] = [la / lb, la / hb, ha / lb, ha / hb];
        l = below(Math.min(p, q, r, s));
        h = above(Math.max(p, q, r, s));
      }
      break;
    case "floorDiv": l = Math.floor(la / lb); h = Math.floor(ha / lb); break;
    case "mod": {
      const turn = Math.floor(la / lb);
      const one = turn === Math.floor(ha / lb);
      l = one ? la - turn * lb : 0;
      h = one ? ha - turn * lb : lb - 1;
      break;
    }
    case "min": l = Math.min(la, lb); h = Math.min(ha, hb); break;
    case "max": l = Math.max(la, lb); h = Math.max(ha, hb); break;
    case "lt": l = ha < lb ? 1 : 0; h = la < hb ? 1 : 0; break;
    case "le": l = ha <= lb ? 1 : 0; h = la <= hb ? 1 : 0; break;
    case "eq": l = la === ha && lb === hb && la === lb ? 1 : 0; h = la <= hb && lb <= ha ? 1 : 0; break;
    case "and": l = Math.min(la, lb); h = Math.min(ha, hb); break;
    case "or": l = Math.max(la, lb); h = Math.max(ha, hb); break;
  } // biome-ignore format: a row an operation
  if (
    float &&
    (step.op === "add" || step.op === "sub") &&
    !(l === h && Number.isInteger(l) && Math.abs(l) <= 2 ** 24)
  ) {
    // The sum of two floats may cancel: widen by the size of the operands, not of the sum.
    const size = finite(la) + finite(ha) + finite(lb) + finite(hb);
    l -= size * 2 ** -20;
    h += size * 2 ** -20;
  }
  // ∞ − ∞ bounds nothing.
  low[at] = l !== l ? -Infinity : l;
  high[at] = h !== h ? Infinity : h;
}

/** Sets whether a float may be NaN over the box; a comparison of such floats can have either result, whatever their bounds are. */
function mayBeNaN(step: Step, at: number, { low, high, nan }: Slots): void {
  const { a, b, c } = step;
  const from = (count: number) => nan[a] === 1 || (count > 1 && nan[b] === 1) || (count > 2 && nan[c] === 1);
  // ∞ − ∞, 0·∞ and ∞/∞: a float32 beyond 3.4e38 is infinite.
  const infinite = (n: number) => !(low[n] > -3e38 && high[n] < 3e38);
  if (step.nanSensitive) {
    if (!from(2)) return;
    low[at] = 0;
    high[at] = 1;
    return;
  }
  let may = false;
  switch (step.op) {
    case "table": may = step.containsNaN; break;
    case "log":
    case "sqrt": may = from(1) || low[a] < 0; break;
    case "add":
    case "sub":
    case "mul": may = step.float && (from(2) || infinite(a) || infinite(b)); break;
    case "div": may = from(2) || infinite(a) || infinite(b) || (low[b] <= 0 && high[b] >= 0); break;
    case "min":
    case "max": may = from(2); break;
    case "select": may = from(3); break;
    case "abs":
    case "neg":
    case "exp":
    case "tanh":
    case "float": may = from(1); break;
    default: may = false;
  } // biome-ignore format: a row an operation
  nan[at] = may ? 1 : 0;
}

/** The product of two bounds, where 0·∞ is 0. */
const product = (x: number, y: number): number => (x === 0 || y === 0 ? 0 : x * y);
const finite = (x: number): number => (Number.isFinite(x) ? Math.abs(x) : 0);

// A kernel computes floats in float32 and its functions to a few ulp: bounds of floats are widened by 2^-20 of themselves.
const below = (x: number): number => x - Math.abs(x) * 2 ** -20;
const above = (x: number): number => x + Math.abs(x) * 2 ** -20;

/** The bound of an integer converted to float32, which is exact up to 2^24. */
const single = (x: number, widen: (x: number) => number): number => (Math.abs(x) <= 2 ** 24 ? x : widen(x));

/** Maximum number of table entries read for one box; beyond it the bounds of the whole table are used. */
const MAX_READS = 1024;
const RUN = 64;

/** Bounds of a lookup in a table. */
function tableBounds(t: Table, args: readonly number[]): NonNullable<Step["lookup"]> {
  const rank = t.shape.length;
  const runs = runBounds(t.data);
  const first = new Array<number>(rank).fill(0);
  const last = new Array<number>(rank).fill(0);
  const scale = t.shape.map((_, axis) => t.shape.slice(axis + 1).reduce((x, y) => x * y, 1));
  return (lows, highs, at) => {
    let outer = 1;
    for (let axis = 0; axis < rank; axis++) {
      const n = t.shape[axis];
      first[axis] = Math.max(0, Math.min(n - 1, lows[args[axis]]));
      last[axis] = Math.max(0, Math.min(n - 1, highs[args[axis]]));
      if (axis < rank - 1) outer *= last[axis] - first[axis] + 1;
    }
    const width = rank === 0 ? 1 : last[rank - 1] - first[rank - 1] + 1;
    let [low, high] = [Infinity, -Infinity];
    if (rank === 1 && runs.increasing) {
      low = t.data[first[0]];
      high = t.data[last[0]];
    } else if (outer * Math.min(width, 2 * RUN + width / RUN) > MAX_READS) {
      low = runs.low;
      high = runs.high;
    } else
      for (let n = 0; n < outer; n++) {
        let rest = n;
        let from = rank === 0 ? 0 : first[rank - 1];
        for (let axis = rank - 2; axis >= 0; axis--) {
          const span = last[axis] - first[axis] + 1;
          from += (first[axis] + (rest % span)) * scale[axis];
          rest = Math.floor(rest / span);
        }
        const to = from + width;
        for (let j = from; j < to; ) {
          const isRun = j % RUN === 0 && j + RUN <= to;
          const l = isRun ? runs.lows[j / RUN] : t.data[j];
          const h = isRun ? runs.highs[j / RUN] : t.data[j];
          // NaN is unbounded.
          if (!(l >= low)) low = l !== l ? -Infinity : l;
          if (!(h <= high)) high = h !== h ? Infinity : h;
          j += isRun ? RUN : 1;
        }
      }
    if (low > high) [low, high] = [-Infinity, Infinity];
    // Kernels round floats to float32.
    lows[at] = t.type === "float" ? below(low) : low;
    highs[at] = t.type === "float" ? above(high) : high;
  };
}

/**
 * Smallest and largest number of every run of 64, and of the table. NaN is unbounded. `increasing`: no number is below the
 * previous one, as in a list of positions, so that the ends of a range bound it.
 */
function runBounds(data: ArrayLike<number>) {
  const count = Math.ceil(data.length / RUN);
  const lows = new Float64Array(count).fill(Infinity);
  const highs = new Float64Array(count).fill(-Infinity);
  for (let j = 0; j < data.length; j++) {
    const run = Math.floor(j / RUN);
    const x = data[j];
    if (x !== x) {
      lows[run] = -Infinity;
      highs[run] = Infinity;
    } else {
      if (x < lows[run]) lows[run] = x;
      if (x > highs[run]) highs[run] = x;
    }
  }
  let [low, high] = [Infinity, -Infinity];
  for (let run = 0; run < count; run++) {
    low = Math.min(low, lows[run]);
    high = Math.max(high, highs[run]);
  }
  let increasing = data.length > 0 && data[0] === data[0];
  for (let j = 1; increasing && j < data.length; j++) increasing = data[j] >= data[j - 1];
  return { lows, highs, low, high, increasing };
}
