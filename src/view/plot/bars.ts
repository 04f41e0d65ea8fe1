/** Bars beside their labels: attention weights of a row, parameters of layers. */

import { formatValue, OptionError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { checkObject } from "../../store/check.ts";
import { colorClass, escaped, label, type Plot, plotOf, svgDocument } from "./plot.ts";

/** How bars are drawn. */
export interface BarOptions {
  /** Above the bars. */
  title?: string;
  /** Value of a full bar. Default the largest. */
  max?: number;
  /** Characters of a full bar in the terminal. Default 40. */
  width?: number;
  /** How values are written. Default at most four digits. */
  format?: (value: number) => string;
}

/** True for a tensor, whose fields are no entries. */
const isTensorLike = (entries: unknown): boolean =>
  typeof entries === "object" && entries !== null && "data" in entries && "shape" in entries;

/** Eighths of a character cell. */
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * A bar for each entry, `{ label: value }` or `[label, value]` pairs; the numbers of an array are labeled by their index.
 * Values are not negative.
 *
 * @example
 * console.log(String(bars({ river: 0.1, bank: 0.9 }, { title: "bank looks at" })));
 * console.log(bars(softmax(tensor([1, 2, 3])).toFloat64()));
 * writeFileSync("bank.svg", bars({ river: 0.1, bank: 0.9 }).toSvg());
 *
 * @throws OptionError for an empty list, and for a value that is negative or not finite
 */
export function bars(
  entries:
    | Readonly<Record<string, number>>
    | readonly (readonly [label: string, value: number])[]
    | ArrayLike<number>,
  options: BarOptions = {},
): Plot {
  checkNames("bars", options, ["title", "max", "width", "format"]);
  checkObject("bars", "{ name: value }, [name, value] pairs or an array of numbers", entries);
  const isNumbers = ArrayBuffer.isView(entries) || (Array.isArray(entries) && typeof entries[0] === "number");
  const list: readonly (readonly [string, number])[] = isNumbers
    ? Array.from(entries as ArrayLike<number>, (value, n) => [String(n), value] as const)
    : Array.isArray(entries)
      ? entries
      : isTensorLike(entries)
        ? []
        : Object.entries(entries);
  if (isTensorLike(entries) || !list.every((entry) => Array.isArray(entry)))
    throw new OptionError(
      "bars",
      `bars: entries must be { name: value }, [name, value] pairs or an array of numbers such as tensor.toFloat64(), got ${formatValue(entries)}`,
      { got: entries },
    );
  const bad = list.find(([, value]) => !(Number.isFinite(value) && value >= 0));
  if (list.length === 0 || bad)
    throw new OptionError(
      "bars",
      bad
        ? `bars: values must be finite and ≥ 0, got ${formatValue(bad[1])} for ${formatValue(bad[0])}`
        : "bars: there is nothing to draw",
      { got: bad?.[1] },
    );
  const {
    title = "",
    max = Math.max(...list.map(([, value]) => value)),
    width = 40,
    format = label,
  } = options;
  if (!(Number.isFinite(max) && max >= 0))
    throw new OptionError("max", `bars: max must be a finite number ≥ 0, got ${formatValue(max)}`, {
      got: max,
    });
  const share = (value: number) => (max === 0 ? 0 : Math.min(1, value / max));
  const text = () => {
    const wide = Math.max(...list.map(([name]) => name.length));
    const lines = list.map(([name, value]) => {
      const eighths = Math.round(share(value) * width * 8);
      const bar = "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
      return `${name.padStart(wide)} ${bar || "▏"} ${format(value)}`;
    });
    return [...(title ? [title] : []), ...lines].join("\n");
  };
  const svg = () => {
    const left = 24 + 8 * Math.max(...list.map(([name]) => name.length));
    const top = title ? 44 : 16;
    const full = 640 - left - 90;
    const body = list.flatMap(([name, value], n) => {
      const y = top + 24 * n;
      return [
        `<text class="ink" x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>`,
        `<rect class="${colorClass("fill", 0)}" x="${left}" y="${y}" width="${Math.max(1, full * share(value)).toFixed(1)}" height="18"/>`,
        `<text class="soft" x="${(left + full * share(value) + 6).toFixed(1)}" y="${y + 13}">${escaped(format(value))}</text>`,
      ];
    });
    return svgDocument(640, top + 24 * list.length + 8, title, body);
  };
  return plotOf(text, svg);
}
