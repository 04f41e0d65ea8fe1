/**
 * How one number came to be, line by line: d products, their sum, × scale, each change of the score, + mask, − maximum,
 * exp, ÷ sum, × v. Every line carries the numbers that went into it and the function that gave its value; the last line
 * before the values is the weight itself, to the bit: rows are computed by the same operations in the same order.
 */

import type { Head } from "../compute/head.ts";
import { formatNumber, num } from "../text/number.ts";
import type { Edits, HeadRef, Ledger, LedgerLine, Num } from "../types.ts";

const DIGITS = { digits: 4 } as const;
const NONE = new Float64Array(0);

type Part = string | Num;

/** The ledger of cell (i, j). Indices and edits are checked by the store. */
export function ledgerOf(head: Head, ref: HeadRef, i: number, j: number, edits: Edits = {}): Ledger {
  const { d, dv, value, valueNorm } = head.data;
  const lines: LedgerLine[] = [];
  const show = (x: number, source: string): Num => num(x, source, DIGITS);
  const line = (step: string, name: string, formula: readonly Part[], x: number, source: string): number => {
    lines.push({ step, name, formula, value: show(x, source) });
    return x;
  };
  const visible = head.sees(i, j);
  let [q, k, products]: Float64Array[] = [NONE, NONE, NONE];
  let weight: number;
  let emptyRow = false;

  if (head.scored) {
    q = head.query(i, edits);
    k = Float64Array.from(
      edits.key?.index === j ? edits.key.values : head.data.key!.subarray(j * d, (j + 1) * d),
    );
    products = q.map((x, n) => x * k[n]);
    const dot = head.dot(q, j, edits);
    line("dot", "q·k", sumOf(products, dot, show), dot, "dot");
    ({ weight, emptyRow } = fromDot(head, i, j, dot, visible, edits, line, show));
  } else {
    weight = line("given", "given weight", ["as it stands in the file"], head.given(i, j), "given weights");
  }

  const given = lines[lines.length - 1].value;
  let [v, contribution]: Float64Array[] = [NONE, NONE];
  if (value) {
    v = Float64Array.from(value.subarray(j * dv, (j + 1) * dv));
    contribution = visible || weight !== 0 ? v.map((x) => x * weight) : new Float64Array(dv);
  }
  if (valueNorm) {
    const norm = valueNorm[j];
    const x = visible || weight !== 0 ? weight * norm : 0;
    line("value", "× ‖v‖", [show(weight, "row"), " × ", show(norm, "valueNorm")], x, "row");
  }
  const changed = edits.query !== undefined || edits.scale !== undefined || edits.key !== undefined;
  return { ref, i, j, lines, weight: given, q, k, products, v, contribution, visible, emptyRow, changed };
}

type Line = (step: string, name: string, formula: readonly Part[], x: number, source: string) => number;
type Show = (x: number, source: string) => Num;

/** From the dot product to the weight. */
function fromDot(
  head: Head,
  i: number,
  j: number,
  dot: number,
  visible: boolean,
  edits: Edits,
  line: Line,
  show: Show,
): { weight: number; emptyRow: boolean } {
  const { recipe, bias, Nk } = head.data;
  const scale = edits.scale ?? recipe.scale;
  let s = line(
    "scale",
    `× ${formatNumber(scale, DIGITS)}`,
    [show(dot, "dot"), " × ", show(scale, "scale")],
    dot * scale,
    "scaled",
  );
  for (const change of head.rules.changes) {
    const before = s;
    const after = change.apply(before, i, j);
    if (change.step === "softcap") {
      const c = show(recipe.softcap!, "softcap");
      s = line("softcap", "soft cap", [c, "·tanh(", show(before, "scaled"), " ÷ ", c, ")"], after, "softcap");
    } else if (change.step === "alibi") {
      const far = show(Math.abs(i + recipe.queryOffset - j), "distance");
      const slope = show(recipe.slope!, "alibi");
      s = line("alibi", "ALiBi", [show(before, "score"), " − ", slope, " × ", far], after, "alibi");
    } else {
      const added = show(change.apply(0, i, j), "relativeBias");
      s = line("relative", "+ relative bias", [show(before, "score"), " + ", added], after, "relativeBias");
    }
  }
  if (bias) {
    const added = bias[i * Nk + j];
    s = line("bias", "+ bias", [show(s, "score"), " + ", show(added, "bias")], s + added, "bias");
  }
  const why = visible ? "mask: seen" : "mask: hidden";
  const masked = visible ? 0 : -Infinity;
  const before = show(s, "score");
  s = line("mask", "+ mask", [before, " + ", show(masked, why)], visible ? s : -Infinity, why);

  const { m, l } = head.rowSum(i, edits);
  if (l === 0) {
    const weight = line("weight", "weight", ["the row sees nothing, so every weight is 0"], 0, "softmax");
    return { weight, emptyRow: true };
  }
  const x = line("max", "− maximum", [show(s, "masked"), " − ", show(m, "rowSum")], s - m, "rowSum");
  // −∞ − m is −∞: a masked key gets e^−∞ = 0 of a row that sees others.
  const e = line("exp", "exp", ["e^(", show(x, "max"), ")"], visible ? Math.exp(x) : 0, "exp");
  const sink: Part[] =
    recipe.sink === undefined
      ? []
      : [", the sink's e^(", show(recipe.sink, "sinks"), " − ", show(m, "rowSum"), ") among them"];
  line("sum", "Σ of the row", ["over ", show(count(head.runs(i)), "visible"), " keys", ...sink], l, "rowSum");
  return {
    weight: line("weight", "÷ Σ", [show(e, "exp"), " ÷ ", show(l, "rowSum")], e / l, "softmax"),
    emptyRow: false,
  };
}

/** The three products that weigh most, and what the others come to. */
function sumOf(products: Float64Array, sum: number, show: Show): Part[] {
  const order = Array.from(products.keys()).sort(
    (a, b) => Math.abs(products[b]) - Math.abs(products[a]) || a - b,
  );
  const top = order.slice(0, 3);
  const parts: Part[] = [];
  let rest = sum;
  for (const n of top) {
    if (parts.length) parts.push(" + ");
    parts.push(show(products[n], `products[${n}]`));
    rest -= products[n];
  }
  if (products.length > 3) parts.push(` + ${products.length - 3} more: `, show(rest, "products"));
  return parts;
}

function count(runs: readonly number[]): number {
  let n = 0;
  for (let at = 0; at < runs.length; at += 2) n += runs[at + 1] - runs[at];
  return n;
}

/** How few terms carry how much: the share that the `top` largest |q·k| products have of all of them. */
export function topShare(products: ArrayLike<number>, top = 3): number {
  const sizes = Array.from(products, Math.abs).sort((a, b) => b - a);
  const all = sizes.reduce((sum, x) => sum + x, 0);
  return all === 0 ? 0 : sizes.slice(0, top).reduce((sum, x) => sum + x, 0) / all;
}
