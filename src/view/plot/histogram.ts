/** How values are spread: counts of equal intervals. */

import { formatValue, OptionError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { bars } from "./bars.ts";
import { colorClass, escaped, label, type Plot, plotOf, svgDocument, ticks } from "./plot.ts";

/** How a histogram is drawn. */
export interface HistogramOptions {
  /** Above the picture. */
  title?: string;
  /** Intervals. Default 12. */
  bins?: number;
  /** From where to where. Default from the smallest to the largest value. Values outside are counted at the edges. */
  range?: readonly [low: number, high: number];
}

/**
 * Counts of values in equal intervals; the last interval includes its upper end.
 *
 * @example
 * console.log(String(histogram(randn([1000]).toFloat64(), { title: "1000 normal numbers" })));
 *
 * @throws OptionError for an empty list, and for a value that is not finite
 */
export function histogram(values: ArrayLike<number>, options: HistogramOptions = {}): Plot {
  checkNames("histogram", options, ["title", "bins", "range"]);
  const { title = "", bins = 12 } = options;
  if (!Array.isArray(values) && !ArrayBuffer.isView(values))
    throw new OptionError(
      "histogram",
      `histogram: values must be an array of numbers, such as tensor.toFloat64(), got ${formatValue(values)}`,
      { got: values },
    );
  const list = Array.from(values);
  if (list.length === 0) throw new OptionError("histogram", "histogram: there is nothing to draw");
  const bad = list.find((x) => !Number.isFinite(x));
  if (bad !== undefined)
    throw new OptionError("histogram", `histogram: values must be finite, got ${formatValue(bad)}`, {
      got: bad,
    });
  if (!(Number.isInteger(bins) && bins >= 1))
    throw new OptionError("bins", `histogram: bins must be an integer ≥ 1, got ${formatValue(bins)}`, {
      got: bins,
    });
  const [low, end] = options.range ?? [
    list.reduce((a, b) => Math.min(a, b)),
    list.reduce((a, b) => Math.max(a, b)),
  ];
  const high = end > low ? end : low + 1;
  const counts = new Array<number>(bins).fill(0);
  for (const x of list)
    counts[Math.min(bins - 1, Math.max(0, Math.floor(((x - low) / (high - low)) * bins)))]++;
  const edge = (n: number) => low + ((high - low) * n) / bins;
  const most = Math.max(...counts);
  const svg = () => {
    const [left, top, width, height] = [56, title ? 44 : 16, 560, 240];
    const x = (value: number) => left + ((value - low) / (high - low)) * width;
    const y = (count: number) => top + height * (1 - count / most);
    return svgDocument(640, top + height + 40, title, [
      ...ticks(0, most, 4).flatMap((n) => [
        `<line class="grid" x1="${left}" x2="${left + width}" y1="${y(n).toFixed(1)}" y2="${y(n).toFixed(1)}"/>`,
        `<text class="soft" x="${left - 8}" y="${(y(n) + 4).toFixed(1)}" text-anchor="end">${label(n)}</text>`,
      ]),
      ...counts.map(
        (count, n) =>
          `<rect class="${colorClass("fill", 0)}" x="${(x(edge(n)) + 0.5).toFixed(1)}" y="${y(count).toFixed(1)}" width="${(width / bins - 1).toFixed(1)}" height="${((height * count) / most).toFixed(1)}"/>`,
      ),
      ...ticks(low, high, 6).map(
        (n) =>
          `<text class="soft" x="${x(n).toFixed(1)}" y="${top + height + 20}" text-anchor="middle">${escaped(label(n))}</text>`,
      ),
    ]);
  };
  const names = counts.map((_, n) => `${label(edge(n))} …`);
  const text = () =>
    String(
      bars(
        counts.map((count, n) => [names[n], count] as const),
        { title },
      ),
    );
  return plotOf(text, svg);
}
