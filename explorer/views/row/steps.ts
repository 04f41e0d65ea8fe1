/** Helpers of the row view: whether a block has a mask, and parsing of typed numbers. */
import type { Block } from "../../../src/store/block.ts";

/** Whether the mask of the block can hide a key from a query. */
export function hasMask({ recipe }: Block): boolean {
  const layers = [recipe, ...Object.values(recipe.layerOverrides ?? {})];
  return layers.some(({ mask = "none", keyLengths }) => mask !== "none" || keyLengths !== undefined);
}

/** Parses a typed number: `0.25`, `1/4`, `1/√32`, `√2`; undefined if it is not a number. */
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
