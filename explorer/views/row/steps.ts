/**
 * The steps of attention in the letters of a course: what each line of a ledger is called, what it does in a plain sentence,
 * and the line of code that does it.
 */
import { num } from "../../../src/store/text/number.ts";
import type { Block, Ledger, LedgerLine } from "../../../src/store/types.ts";

export interface Step {
  readonly name: string;
  readonly meaning: string;
  readonly code: string;
}

/** Whether any query of the block cannot see some key. */
export function hasMask({ recipe }: Block): boolean {
  const layers = [recipe, ...Object.values(recipe.layerOverrides ?? {})];
  return layers.some(({ mask = "none", keyLengths }) => mask !== "none" || keyLengths !== undefined);
}

/** The lines that say something: without a mask there is none to add. */
export function shownLines({ lines }: Ledger, block: Block): readonly LedgerLine[] {
  return hasMask(block) ? lines : lines.filter(({ step }) => step !== "mask");
}

/** What a line is called, and what it means. */
export function stepOf({ step, name, formula, value }: LedgerLine, block: Block): Step {
  const given = formula.filter((part) => typeof part === "object");
  switch (step) {
    case "dot":
      return {
        name: "q·k",
        meaning:
          "Multiply the query and the key number by number and add up: large where they point the same way.",
        code: "s = q @ k",
      };
    case "scale":
      return scaleStep(given.at(-1)?.value ?? Number.NaN, block.d);
    case "softcap":
      return {
        name: "soft cap",
        meaning: "Bend large scores so that none is beyond the cap.",
        code: "s = cap * tanh(s / cap)",
      };
    case "alibi":
      return {
        name: "− slope · distance",
        meaning: "ALiBi: the farther away the key, the lower its score.",
        code: "s = s - slope * abs(i - j)",
      };
    case "relative":
      return {
        name: "+ relative bias",
        meaning: "Add the number that the model learned for this distance.",
        code: "s = s + bias[i - j]",
      };
    case "bias":
      return {
        name: "+ bias",
        meaning: "Add the number that the file has for this pair.",
        code: "s = s + bias[i, j]",
      };
    case "mask":
      return value.value === Number.NEGATIVE_INFINITY
        ? {
            name: "mask: hidden",
            meaning: "This query must not see this key: its score becomes −∞, its share 0.",
            code: "s = -inf",
          }
        : { name: "mask: visible", meaning: "The mask lets this query see this key.", code: "s = s + 0" };
    case "max":
      return {
        name: `− row's largest (${given.at(-1)?.text ?? ""})`,
        meaning: "Subtract the largest score of the row. The shares stay the same, and exp cannot overflow.",
        code: "s = s - s_row.max()",
      };
    case "exp":
      return { name: "exp", meaning: "Make it positive, and let differences count.", code: "e = exp(s)" };
    case "sum":
      return {
        name: `sum over ${given[0]?.text ?? ""} ${given[0]?.value === 1 ? "key" : "keys"}`,
        meaning: "Add the exponentials of all keys that the query sees.",
        code: "l = exp(s_row).sum()",
      };
    case "weight":
      return {
        name: "share = exp ÷ sum",
        meaning: "The part of the query's attention that this key gets. The shares of a row add up to 1.",
        code: "w = e / l",
      };
    case "given":
      return { name: "weight", meaning: "The weight as the file has it.", code: "w = attn[i, j]" };
    case "left":
      return {
        name: `÷ what is left (${given.at(-1)?.text ?? ""})`,
        meaning:
          "Some tokens are left out: divide by the share that the others have, so that they add up to 1.",
        code: "w = w / (1 - w_left_out)",
      };
    case "value":
      return {
        name: "× ‖v‖",
        meaning: "The share times the length of the value vector: how much is passed on.",
        code: "c = w * norm(v)",
      };
    default:
      return { name, meaning: "", code: "" };
  }
}

/** `÷ √d_k` where the scale is that, which it nearly always is. */
function scaleStep(scale: number, d: number): Step {
  const usual = d > 0 && Math.abs(scale * Math.sqrt(d) - 1) < 1e-6;
  return usual
    ? {
        name: `÷ √dₖ (= √${d})`,
        meaning: `Divide by the square root of the size of a key, √${d} = ${num(Math.sqrt(d), "sqrt").text}: otherwise longer vectors would give larger scores.`,
        code: "s = s / sqrt(d_k)",
      }
    : {
        name: `× ${num(scale, "scale", { digits: 4 }).text}`,
        meaning: "Multiply by the model's scale.",
        code: "s = s * scale",
      };
}

/** A number as people type it: `0.25`, `1/4`, `1/√32`, `√2`; undefined where it is none. */
export function typedNumber(text: string): number | undefined {
  const plain = text
    .trim()
    .replace(/−/g, "-")
    .replace(/\s+/g, "")
    .replace(/sqrt\(?([\d.]+)\)?/gi, "√$1")
    .replace(/÷/g, "/");
  const part = (one: string): number => {
    const [, sign, root, digits] = /^([+-]?)(√?)((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i.exec(one) ?? [];
    if (digits === undefined) return Number.NaN;
    const value = root ? Math.sqrt(Number(digits)) : Number(digits);
    return sign === "-" ? -value : value;
  };
  const parts = plain.split("/").map(part);
  const value = parts.length === 1 ? parts[0] : parts.length === 2 ? parts[0] / parts[1] : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
