/**
 * The ledger of one weight explains its computation line by line: d products and their sum, ÷ √d_k, each score mod, the mask
 * (if any), minus the row's largest score, exp, ÷ sum, × v. Every line has a sentence, a line of NumPy, its input numbers
 * and the function that computed its value. The last line before × v is the weight, to the bit: rows are computed by the same
 * operations in the same order.
 */

import { keysIn } from "../../rows/runs.ts";
import type { WeightSteps } from "../../rows/steps.ts";
import type { HeadRef } from "../block.ts";
import { checkObject } from "../check.ts";
import type { Edits, StoreHead } from "../compute/head.ts";
import { namedMods } from "../recipe/head-recipe.ts";
import { type Num, num } from "../text/number.ts";

/** One step of a ledger. */
export interface LedgerLine {
  /** A stable identifier: `dot`, `scale`, `softcap`, `mask`, `max`, `exp`, `sum`, `weight`, `rescale`, `value` … */
  readonly step: string;
  /** A label to show: "÷ √d_k". */
  readonly name: string;
  /** An explanation of the step, in one sentence. */
  readonly about: string;
  /** The step as a line of NumPy, with the letters of the formula: `score = (q * k).sum()`. */
  readonly code: string;
  /** The formula with its actual numbers: texts and numbers in reading order. */
  readonly formula: readonly (string | Num)[];
  readonly value: Num;
}

/** The computation of one weight. */
export interface Ledger {
  readonly ref: HeadRef;
  readonly i: number;
  readonly j: number;
  /** From the dot product to the weight, and × v if there are values. For given weights: the weight alone. */
  readonly lines: readonly LedgerLine[];
  /** The weight: the value of the last line before × v. */
  readonly weight: Num;
  /** The scale that q·k is multiplied by; undefined for given weights. */
  readonly scale?: number;
  /** The two vectors and their products, [d]; empty for given weights. */
  readonly q: Float64Array;
  readonly k: Float64Array;
  readonly products: Float64Array;
  /** v and weight·v, [dv]; empty without values. */
  readonly v: Float64Array;
  readonly contribution: Float64Array;
  readonly visible: boolean;
  /** True if the row is fully masked: the weight is 0 by definition. */
  readonly emptyRow: boolean;
  /** True if there were edits. */
  readonly changed: boolean;
}

const DIGITS = { digits: 4 } as const;
const NONE = new Float64Array(0);

type Part = string | Num;

/** Name, sentence and code of each step. Some cases replace them with other words. */
const STEPS = {
  dot: [
    "q·k",
    "Multiply the query and the key number by number, and add the products.",
    "score = (q * k).sum()",
  ],
  scale: ["× scale", "Multiply by the scale of this model.", "score = score * scale"],
  softcap: [
    "soft cap",
    "Bend large scores, so that none is beyond the cap.",
    "score = cap * np.tanh(score / cap)",
  ],
  alibi: [
    "ALiBi",
    "Subtract the distance between the two tokens, times this head's slope.",
    "score = score - slope * abs(i - j)",
  ],
  relative: [
    "+ relative bias",
    "Add the number this head has learned for this distance between tokens.",
    "score = score + table[bucket(j - i)]",
  ],
  "content-position": [
    "+ content → position",
    "Add the query's match with the relative position of the key: what this word looks for at that distance.",
    "score = score + scale * (q * position_k[bucket(i - j)]).sum()",
  ],
  "position-content": [
    "+ position → content",
    "Add the key's match with the relative position of the query: how much this word is looked for from that distance.",
    "score = score + scale * (k * position_q[bucket(i - j)]).sum()",
  ],
  bias: ["+ bias", "Add the bias of this cell.", "score = score + bias[i, j]"],
  mask: [
    "mask",
    "The mask decides whether the query may attend to this key.",
    "score = score if visible else -np.inf",
  ],
  max: [
    "− largest",
    "Subtract the largest score of the row. The shares stay the same, and exp cannot overflow.",
    "score = score - scores.max()",
  ],
  exp: [
    "exp",
    "Take the exponential: every number becomes positive, and differences become ratios.",
    "e = np.exp(score)",
  ],
  sum: ["sum", "Add the exponentials of all keys of the row.", "total = np.exp(scores).sum()"],
  weight: ["exp ÷ sum", "Divide by the sum: the shares of a row sum to 1.", "share = e / total"],
  empty: ["weight", "The row is fully masked, so every weight is 0 by definition.", "share = 0"],
  stored: [
    "given weight",
    "The file holds this weight; q and k would show how it was computed.",
    "share = A[i, j]",
  ],
  rescale: [
    "÷ sum of the others",
    "Some keys are left out; the shares of the others are divided by their sum, so that they sum to 1 again.",
    "share = share / left",
  ],
  value: [
    "× ‖v‖",
    "The share times the length of the value vector: the length of what is passed on.",
    "length = np.linalg.norm(share * v)",
  ],
} as const;

type Step = keyof typeof STEPS;

/** Adds a line of a step; `name`, `about` and `code` replace those of the step. */
type Line = (
  step: Step,
  formula: readonly Part[],
  x: number,
  source: string,
  words?: { readonly name?: string; readonly about?: string; readonly code?: string },
) => void;
type Show = (x: number, source: string) => Num;

/** The ledger of cell (i, j). Indices and edits are checked by the store. */
export function ledgerOf(unedited: StoreHead, ref: HeadRef, i: number, j: number, edits: Edits = {}): Ledger {
  const head = unedited.edited(i, edits);
  const { dv, value, valueNorm } = head.data;
  const lines: LedgerLine[] = [];
  const show: Show = (x, source) => num(x, source, DIGITS);
  const line: Line = (step, formula, x, source, words = {}) => {
    const [name, about, code] = STEPS[step];
    // A fully masked row ends in a weight, too.
    const id = step === "empty" ? "weight" : step === "stored" ? "given" : step;
    lines.push({ step: id, name, about, code, ...words, formula, value: show(x, source) });
  };
  const steps = head.scored ? head.weight(i, j) : undefined;
  const visible = steps?.visible ?? head.sees(i, j);
  if (steps) addSteps(head, i, j, steps, line, show);
  else line("stored", ["as it is in the file"], head.fileWeight(i, j), "given weights");
  const { value: shown } = lines[lines.length - 1];
  const weight = shown.value;
  let [v, contribution]: Float64Array[] = [NONE, NONE];
  if (value) {
    v = Float64Array.from(value.subarray(j * dv, (j + 1) * dv));
    contribution = visible || weight !== 0 ? v.map((x) => x * weight) : new Float64Array(dv);
  }
  if (valueNorm) {
    const norm = valueNorm[j];
    const x = visible || weight !== 0 ? weight * norm : 0;
    line("value", [show(weight, "row"), " × ", show(norm, "valueNorm")], x, "row");
  }
  return {
    ref,
    i,
    j,
    lines,
    weight: shown,
    ...(steps ? { scale: head.inputs.scale } : {}),
    q: steps?.q ?? NONE,
    k: steps?.k ?? NONE,
    products: steps?.products ?? NONE,
    v,
    contribution,
    visible,
    emptyRow: steps?.l === 0,
    changed: edits.query !== undefined || edits.scale !== undefined || edits.key !== undefined,
  };
}

/**
 * The ledger of a row whose keys are partly left out and the others rescaled: a line "÷ sum of the others" follows the weight,
 * and later lines use the rescaled weight. `left` is the sum of the weights that are kept, `total` the sum of the row. A
 * hidden key (`hidden` true) has weight 0.
 *
 * @example
 * const head = { block: 0, layer: 5, head: 11 };
 * await store.load(head);
 * const ledger = store.ledger(head, 8, 2);
 * rescaledLedger(ledger, { left: 0.5 }); // without keys that have half of the row's weight: the other weights are doubled
 */
export function rescaledLedger(
  ledger: Ledger,
  rescaling: { readonly left: number; readonly total?: number; readonly hidden?: boolean },
): Ledger {
  checkObject("rescaledLedger", "what store.ledger returns", ledger);
  checkObject("rescaledLedger", "{ left } as the second argument", rescaling);
  const { left, total = 1, hidden = false } = rescaling;
  const at = ledger.lines.findIndex(({ step }) => step === "weight" || step === "given");
  const share = hidden || left === 0 ? 0 : (ledger.weight.value * total) / left;
  const weight = num(share, "hideKeys", DIGITS);
  const [name, about, code] = STEPS.rescale;
  const formula: Part[] = hidden
    ? ["this key is left out"]
    : [
        ledger.weight,
        ...(total === 1 ? [] : [" × ", num(total, "row", DIGITS)]),
        " ÷ ",
        num(left, "hideKeys", DIGITS),
      ];
  const rescale: LedgerLine = { step: "rescale", name, about, code, formula, value: weight };
  const ratio = ledger.weight.value === 0 ? 0 : share / ledger.weight.value;
  const after = ledger.lines.slice(at + 1).map((line): LedgerLine => {
    const norm = line.formula[2];
    const rest: Part[] = typeof norm === "object" ? [weight, " × ", norm] : [...line.formula];
    return { ...line, formula: rest, value: num(line.value.value * ratio, line.value.source, DIGITS) };
  });
  return {
    ...ledger,
    lines: [...ledger.lines.slice(0, at + 1), rescale, ...after],
    weight,
    contribution: ledger.contribution.map((x) => x * ratio),
  };
}

/** The lines from the dot product to the weight. */
function addSteps(head: StoreHead, i: number, j: number, steps: WeightSteps, line: Line, show: Show): void {
  const { recipe, bias, keep, d } = head.data;
  const { dot, scaled, visible, m, l } = steps;
  const { scale } = head.inputs;
  line("dot", sumOf(steps.products, dot, show), dot, "dot");
  if (scale === 1 / Math.sqrt(d))
    line("scale", [show(dot, "dot"), " ÷ √", show(d, "d")], scaled, "scaled", {
      name: "÷ √d_k",
      about: `Divide by √d_k (= √${d}), so that the size of the scores does not grow with the length of the vectors.`,
      code: "score = score / np.sqrt(d_k)",
    });
  else {
    const about = `Multiply by a scale of ${show(scale, "scale").text}; the model's is ${show(recipe.scale, "scale").text}.`;
    const words = scale === recipe.scale ? {} : { about };
    line("scale", [show(dot, "dot"), " × ", show(scale, "scale")], scaled, "scaled", words);
  }
  let s = scaled;
  for (const [n, { step }] of namedMods(recipe).entries()) {
    const before = s;
    s = steps.modified[n];
    if (step === "softcap") {
      const c = show(recipe.softcap!, "softcap");
      line("softcap", [c, "·tanh(", show(before, "scaled"), " ÷ ", c, ")"], s, "softcap");
    } else if (step === "alibi") {
      const far = show(Math.abs(i + recipe.queryOffset - j), "distance");
      const slope = show(recipe.slope!, "alibi");
      line("alibi", [show(before, "score"), " − ", slope, " × ", far], s, "alibi");
    } else {
      const source = step === "relative" ? "relativeBias" : step;
      line(step, [show(before, "score"), " + ", show(s - before, source)], s, source);
    }
  }
  if (bias) line("bias", [show(s, "score"), " + ", show(steps.bias, "bias")], steps.biased, "bias");
  const before = show(steps.biased, "score");
  if (recipe.mask !== "none" || recipe.keyLength !== undefined || keep !== undefined || !visible) {
    const why = visible ? "mask: visible" : "mask: hidden";
    line(
      "mask",
      visible ? [before, " stays"] : [before, " becomes ", show(steps.score, why)],
      steps.score,
      why,
      {
        name: why,
        about: visible
          ? "The mask lets this query attend to this key: the score stays."
          : "The mask hides this key from this query: its score becomes −∞, and its share 0.",
      },
    );
  }
  if (l === 0) {
    line("empty", ["the row is fully masked"], 0, "softmax");
    return;
  }
  line("max", [show(steps.score, "masked"), " − ", show(m, "rowSum")], steps.shifted, "rowSum");
  line("exp", ["e^(", show(steps.shifted, "max"), ")"], steps.exponential, "exp");
  const sink: Part[] =
    recipe.sink === undefined
      ? []
      : [", with the sink's e^(", show(recipe.sink, "sinks"), " − ", show(m, "rowSum"), ")"];
  const keys = show(keysIn(head.runs(i)), "visible");
  line("sum", ["Σ exp(score − ", show(m, "rowSum"), ")", ...sink], l, "rowSum", {
    name: `sum over ${keys.text} ${keys.value === 1 ? "key" : "keys"}`,
  });
  line("weight", [show(steps.exponential, "exp"), " ÷ ", show(l, "rowSum")], steps.weight, "softmax");
}

/** The two largest products, and the sum of the others. */
function sumOf(products: Float64Array, sum: number, show: Show): Part[] {
  const order = Array.from(products.keys()).sort(
    (a, b) => Math.abs(products[b]) - Math.abs(products[a]) || a - b,
  );
  const top = order.slice(0, products.length === 3 ? 3 : 2);
  const parts: Part[] = [];
  let rest = sum;
  for (const n of top) {
    // "a − b", not "a + −b".
    const minus = parts.length > 0 && products[n] < 0;
    if (parts.length) parts.push(minus ? " − " : " + ");
    parts.push(show(minus ? -products[n] : products[n], `products[${n}]`));
    rest -= products[n];
  }
  const others = products.length - top.length;
  if (others > 0) parts.push(rest < 0 ? " − " : " + ", show(Math.abs(rest), "products"), ` (${others} more)`);
  return parts;
}
