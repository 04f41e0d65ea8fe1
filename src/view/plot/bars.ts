/** Bars beside their labels: attention weights of a row, parameters of layers. */

import {
  checkCount,
  checkInteger,
  formatValue,
  isFunction,
  OptionError,
  refuseGot,
  refuseValue,
} from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { checkObject } from "../../store/check.ts";
import { CHART_AXIS, colorClass, type Plot, plotOf, svgDocument } from "./document.ts";
import { barX } from "./marks.ts";
import { bandScale, scaleOf, tickLabel } from "./scale.ts";
import { text } from "./svg.ts";

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
  checkCount("bars", arguments, 2);
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
  if (isTensorLike(entries) || !list.every((entry) => Array.isArray(entry) && typeof entry[0] === "string"))
    refuseGot(
      "bars",
      "bars: entries must be { name: value }, [name, value] pairs or an array of numbers such as tensor.toFloat64()",
      entries,
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
    format = tickLabel,
  } = options;
  if (!(Number.isFinite(max) && max >= 0)) refuseValue("bars", "max", "a finite number ≥ 0", max);
  checkInteger("bars", "width", width, 1, 1000);
  if (!isFunction(format)) refuseValue("bars", "format", "a function of a value", format);
  const longest = Math.max(...list.map(([name]) => name.length));
  const lines = () => {
    const bar = scaleOf({ domain: [0, max || 1], range: [0, width * 8], clamp: true });
    const rows = list.map(([name, value]) => {
      const eighths = Math.round(bar(value));
      const blocks = "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
      return `${name.padStart(longest)} ${blocks || "▏"} ${format(value)}`;
    });
    return [...(title ? [title] : []), ...rows].join("\n");
  };
  const svg = (sheet: number) => {
    const [left, top, pitch] = [24 + 8 * longest, title ? 44 : 16, 24];
    const band = bandScale(list.length, [top - 3, top - 3 + pitch * list.length], 0.25);
    const scale = scaleOf({
      domain: [0, max || 1],
      range: [left, Math.max(left + 40, sheet - 90)],
      clamp: true,
    });
    const height = top + pitch * list.length + 8;
    return svgDocument({ width: sheet, height }, title, described(list, format), [
      ...list.map(([name], n) =>
        text(left - 8, band.middle(n) + 4, name, { class: "ink", "text-anchor": "end" }),
      ),
      barX({
        values: list.map(([, value]) => value),
        ...{ band, scale, minimum: 1 },
        attributes: { class: colorClass("fill", 0) },
        label: (n) => format(list[n][1]),
        labelAttributes: CHART_AXIS.label,
      }),
    ]);
  };
  return plotOf(lines, svg);
}

/** The bars in words, the first twelve of them. */
function described(list: readonly (readonly [string, number])[], format: (value: number) => string): string {
  const more = list.length > 12 ? ` and ${list.length - 12} more` : "";
  return `Bars: ${list
    .slice(0, 12)
    .map(([name, value]) => `${name} ${format(value)}`)
    .join(", ")}${more}.`;
}
