/**
 * Text in the standard fonts of all PDF readers: Helvetica, Helvetica-Bold and Courier in WinAnsi encoding, and Symbol for √, Σ
 * and arrows. Widths are Adobe's metrics, in thousandths of the font size. Characters that are in none of them (most non-Latin
 * scripts) are replaced and reported.
 */

/** One of the fonts, by its name in the PDF. */
export type FontName = "F1" | "F2" | "F3" | "F4";

/** The standard fonts, by name. */
export const FONTS: Readonly<Record<FontName, string>> = {
  F1: "Helvetica",
  F2: "Helvetica-Bold",
  F3: "Courier",
  F4: "Symbol",
};

/** Helvetica's widths from U+0020 to U+007E. */
const HELVETICA = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
  556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
  500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
  556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
  278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/** Helvetica-Bold's widths from U+0020 to U+007E. */
const BOLD = [
  278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
  556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278,
  556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584,
  556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556,
  333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
];

/** Helvetica's widths from U+00A1 to U+00FF; used for bold text too. */
const LATIN = [
  333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333, 400, 584, 333, 333, 333, 556,
  537, 278, 333, 333, 365, 556, 834, 834, 834, 611, 667, 667, 667, 667, 667, 667, 1000, 722, 667, 667, 667,
  667, 278, 278, 278, 278, 722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722, 722, 667, 667, 611,
  556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278, 278, 556, 556, 556, 556, 556,
  556, 556, 584, 611, 556, 556, 556, 556, 500, 556, 500,
];

/** Helvetica's widths of WinAnsi's characters from 0x80 to 0x9F; 556 for the others. Used for bold text too. */
const SPECIAL: Readonly<Record<number, number>> = {
  130: 222, 132: 333, 133: 1000, 137: 1000, 138: 667, 139: 333, 140: 1000, 142: 611, 145: 222, 146: 222,
  147: 333, 148: 333, 149: 350, 151: 1000, 153: 1000, 154: 500, 155: 333, 156: 944, 158: 500, 159: 667,
}; // biome-ignore format: a table

/** WinAnsi's codes from 0x80 to 0x9F, which differ from Latin-1. */
const WIN_ANSI: Readonly<Record<string, number>> = {
  "€": 0x80, "‚": 0x82, ƒ: 0x83, "„": 0x84, "…": 0x85, "†": 0x86, "‡": 0x87, "‰": 0x89, Š: 0x8a, "‹": 0x8b, Œ: 0x8c,
  Ž: 0x8e, "‘": 0x91, "’": 0x92, "“": 0x93, "”": 0x94, "•": 0x95, "–": 0x96, "—": 0x97, "™": 0x99, š: 0x9a, "›": 0x9b,
  œ: 0x9c, ž: 0x9e, Ÿ: 0x9f,
}; // biome-ignore format: a table

/** Symbol's codes and widths. */
const SYMBOL: Readonly<Record<string, readonly [code: number, width: number]>> = {
  "√": [0xd6, 549],
  Σ: [0x53, 592],
  "∞": [0xa5, 713],
  "→": [0xae, 987],
  "←": [0xac, 987],
  "≤": [0xa3, 549],
  "≥": [0xb3, 549],
  "≈": [0xbb, 549],
  "≠": [0xb9, 549],
  "∈": [0xce, 713],
  "⊙": [0xc4, 768],
};

/** Subscripts and superscripts: the base character, and whether it is raised. */
const SMALL = new Map<string, readonly [letter: string, raised: boolean]>([
  ...[..."₀₁₂₃₄₅₆₇₈₉"].map((c, n) => [c, [String(n), false]] as const),
  ...[..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((c, n) => [c, [String(n), true]] as const),
  ["⁻", ["–", true]],
  ["ᵢ", ["i", false]],
  ["ᵀ", ["T", true]],
]);

/** Characters that are replaced by others. */
const REPLACED: Readonly<Record<string, string>> = {
  // WinAnsi has no minus sign; the en dash has nearly the width of the plus sign.
  "−": "–",
  "\u202f": " ",
  "\u00a0": " ",
  "‖": "||",
  "␣": "_",
  "⏎": "¶",
};

/** Characters in one font, at one size and height. */
export interface TextRun {
  readonly font: FontName;
  readonly codes: readonly number[];
  /** The size and the rise above the baseline, as shares of the font size. */
  readonly size: number;
  readonly rise: number;
  /** Thousandths of the font size. */
  readonly width: number;
}

/** Splits a text into runs. Characters that are in none of the fonts become question marks and are added to `missing`. */
export function runsOf(text: string, base: Exclude<FontName, "F4">, missing: Set<string>): TextRun[] {
  const runs: { font: FontName; codes: number[]; size: number; rise: number; width: number }[] = [];
  const put = (font: FontName, code: number, width: number, size = 1, rise = 0) => {
    const last = runs[runs.length - 1];
    if (last && last.font === font && last.size === size && last.rise === rise) {
      last.codes.push(code);
      last.width += width * size;
    } else runs.push({ font, codes: [code], size, rise, width: width * size });
  };
  const one = (character: string, size = 1, rise = 0): void => {
    const small = SMALL.get(character);
    if (small) {
      one(small[0], 0.65, small[1] ? 0.35 : -0.15);
      return;
    }
    const symbol = SYMBOL[character];
    if (symbol) {
      put("F4", symbol[0], symbol[1], size, rise);
      return;
    }
    const point = character.codePointAt(0)!;
    const plain = (point >= 0x20 && point <= 0x7e) || (point >= 0xa1 && point <= 0xff);
    const code = plain ? point : WIN_ANSI[character];
    if (code === undefined) {
      missing.add(character);
      put(base, 0x3f, widthOf(0x3f, base), size, rise);
    } else put(base, code, widthOf(code, base), size, rise);
  };
  for (const character of text.normalize("NFC"))
    for (const part of REPLACED[character] ?? character) one(part);
  return runs;
}

function widthOf(code: number, font: FontName): number {
  if (font === "F3") return 600;
  if (code < 0x7f) return (font === "F2" ? BOLD : HELVETICA)[code - 0x20];
  return (code > 0xa0 ? LATIN[code - 0xa1] : SPECIAL[code]) ?? 556;
}
