/** How values are spread: counts of equal intervals. */

import { checkCount, checkInteger, OptionError, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { axis } from "./axis.ts";
import { bars } from "./bars.ts";
import { CHART_AXIS, colorClass, type Plot, plotArea, plotOf, svgDocument } from "./document.ts";
import { barY } from "./marks.ts";
import { bandScale, scaleOf, tickLabel } from "./scale.ts";

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
  checkCount("histogram", arguments, 2);
  checkKinds("histogram", options, { "": "title", "an integer ≥ 1": "bins", "a list": "range" });
  const { title = "", bins = 12 } = options;
  if (!Array.isArray(values) && !ArrayBuffer.isView(values))
    refuseGot(
      "histogram",
      "histogram: values must be an array of numbers, such as tensor.toFloat64()",
      values,
    );
  const list = Array.from(values);
  if (list.length === 0) throw new OptionError("histogram", "histogram: there is nothing to draw");
  const bad = list.find((x) => !Number.isFinite(x));
  if (bad !== undefined) refuseGot("histogram", "histogram: values must be finite", bad);
  checkInteger("histogram", "bins", bins, 1, 2 ** 24);
  const [least, greatest] = [Math.min, Math.max].map((of) => list.reduce((a, b) => of(a, b)));
  const [low, end] = options.range ?? [least, greatest];
  if (
    !(
      (options.range ?? [0, 0]).length === 2 &&
      Number.isFinite(low) &&
      Number.isFinite(end) &&
      low <= least &&
      end >= greatest
    )
  )
    refuseValue(
      "histogram",
      "range",
      `[low, high] around all values, ${least} to ${greatest}`,
      options.range,
    );
  const high = end > low ? end : low + 1;
  const counts = new Array<number>(bins).fill(0);
  for (const x of list)
    counts[Math.min(bins - 1, Math.max(0, Math.floor(((x - low) / (high - low)) * bins)))]++;
  const edge = (n: number) => tickLabel(low + ((high - low) * n) / bins);
  const largest = Math.max(...counts);
  const svg = (width: number) => {
    const height = (title ? 44 : 16) + 280;
    const area = plotArea(width, height, { top: height - 280, right: 24, bottom: 40, left: 56 });
    const [x, y] = [
      scaleOf({ domain: [low, high], range: area.x }),
      scaleOf({ domain: [0, largest], range: area.y }),
    ];
    const [style, band] = [CHART_AXIS, bandScale(bins, area.x)];
    const padded = bandScale(bins, area.x, 1 / band.step);
    const description = `${list.length} values from ${edge(0)} to ${edge(bins)}; the largest of ${bins} counts is ${largest}.`;
    return svgDocument({ width, height }, title, description, [
      axis({ anchor: "left", scale: y, at: area.x[0], ticks: 4, grid: area.x[1], gap: 8, style }),
      barY({ values: counts, band: padded, scale: y, attributes: { class: colorClass("fill", 0) } }),
      axis({ anchor: "bottom", scale: x, at: area.y[0], ticks: 6, gap: 20, style }),
    ]);
  };
  const rows = () =>
    String(
      bars(
        counts.map((count, n) => [`${edge(n)} …`, count] as const),
        { title },
      ),
    );
  return plotOf(rows, svg);
}
