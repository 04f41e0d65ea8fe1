/** The exports of the flow: its bands and the product of all layers as one figure; the product as a table. */
import { truncate } from "../../../src/store/text/label.ts";
import { formatNumber } from "../../../src/store/text/number.ts";
import { matrixPanel, type Panel, renderPanels } from "../../../src/view/figure/panels.ts";
import { MONO, textWidth } from "../../../src/view/figure/sheet.ts";
import { element, text } from "../../../src/view/plot/svg.ts";
import type { Exports, Session } from "../../app/session.ts";
import type { Bands } from "./bands.ts";
import type { Rolling } from "./rolled.ts";

/** The data of an export. */
export interface Flowing {
  readonly session: Session;
  readonly product: Session;
  readonly rollout: Rolling;
  readonly bands: Bands;
}

const FONT = 6.5;

export function exportsOf(flowing: () => Flowing): Exports {
  return {
    figure(options) {
      const { session, product, rollout, bands } = flowing();
      const { alpha, fuse, discard, transfer, ramp, query, key } = session.state;
      const names = session.labels(session.block!);
      const { layers, worst, by, matrix: shares, tokens: N } = rollout;
      const inputs = shares.subarray(query * N, (query + 1) * N);
      const facts = [
        `Attention ${by} of ${session.store!.report.name}, layers ${layers[0]} to ${layers[layers.length - 1]}`,
        `α = ${formatNumber(alpha)}, heads joined by their ${fuse === "mean" ? "mean" : fuse === "max" ? "largest" : "smallest"}`,
        ...(discard > 0
          ? [`the smallest ${formatNumber(discard, { style: "percent" })} of each row left out`]
          : []),
        `target “${names.query[query]}”`,
        ...(by === "flow"
          ? [`the largest flow from “${names.key[key]}” as bands, each pair's as a share of its row`]
          : []),
        `every row sums to 1, largest error ${formatNumber(worst, { digits: 2 })}`,
        rollout.warning.replace(/\.$/, ""),
      ];
      const matrix = matrixPanel(
        by === "flow" ? "Largest flows" : "Product of all layers",
        product.store!,
        { ...options, transfer, ramp, query, key },
        { query: "position after the last layer", key: "input token" },
      );
      return renderPanels([bandsPanel(session, layers, bands, inputs), matrix], {
        ...options,
        title: `Attention ${by}`,
        facts,
      });
    },
    async table() {
      const { session, rollout } = flowing();
      const { queryTokens, keyTokens } = session.block!;
      const { tokens: N, matrix: product, rowSums } = rollout;
      return {
        columns: ["position after the last layer", ...keyTokens, "row sum"],
        rows: Array.from({ length: N }, (_, i) => [
          queryTokens[i],
          ...product.subarray(i * N, (i + 1) * N),
          rowSums[i],
        ]),
      };
    },
  };
}

/** The bands as on the page, in points. */
function bandsPanel(
  session: Session,
  layers: readonly number[],
  { shares, bands }: Bands,
  inputs: Float64Array,
): Panel {
  const { block, state } = session;
  const names = session.labels(block!);
  const N = shares[0].length;
  return {
    title: `How ‹${truncate(names.query[state.query], 20)}› is made up`,
    draw(theme, width) {
      const longest = Math.min(60, Math.max(...names.key.map((name) => textWidth(name, FONT))));
      const pitch = Math.max(1, Math.min(16, 340 / N));
      const [left, right, top] = [longest + 26, width - longest - 8, 14];
      const x = (column: number) => left + ((right - left) * column) / Math.max(1, shares.length - 1);
      const y = (position: number) => top + (position + 0.5) * pitch;
      const widest = pitch * 0.85;
      const font = { "font-family": MONO, "font-size": FONT, fill: theme.second };
      const lines = bands.map(({ step, from, to, share }) => {
        const [a, b] = [x(step), x(step + 1)];
        const [p, q] = [y(from), y(to)].map((at) => at.toFixed(2));
        const middle = ((a + b) / 2).toFixed(2);
        return element("path", {
          d: `M${a.toFixed(2)} ${p}C${middle} ${p} ${middle} ${q} ${b.toFixed(2)} ${q}`,
          fill: "none",
          // Gray, as on the page.
          stroke: block!.special.key[from] ? theme.second : theme.weight,
          "stroke-width": Math.max(0.3, share * widest),
          "stroke-opacity": Math.max(0.18, Math.min(0.8, 0.25 + share)),
        });
      });
      for (const column of shares.keys()) {
        const name = column === 0 ? "input" : `L${layers[column - 1]}`;
        lines.push(text(x(column), 8, name, { ...font, "text-anchor": "middle" }));
      }
      const every = Math.ceil((FONT + 1) / pitch);
      for (let position = 0; position < N; position += every) {
        const name = truncate(names.key[position], 15);
        const share = formatNumber(inputs[position], { style: "percent", digits: 2 });
        lines.push(text(left - 26, y(position) + 2.2, name, { ...font, "text-anchor": "end" }));
        lines.push(
          text(left - 3, y(position) + 2.2, share, { ...font, "font-size": 5.5, "text-anchor": "end" }),
        );
      }
      lines.push(text(right + 4, y(state.query) + 2.2, truncate(names.query[state.query], 15), font));
      return { svg: lines.join("\n"), height: top + N * pitch + 4 };
    },
  };
}
