/**
 * A shard plan as a figure: the mask's cells in the color of the rank that computes them, next to bars of the work of each rank.
 * A balanced plan has equal bars; a contiguous split of causal attention does not.
 */

import { TileMap } from "../../../backend/plan/tiles.ts";
import type { Problem } from "../../../backend/problem.ts";
import type { ShardPlan } from "../../../cluster/index.ts";

/** Cells of the figure along each axis. */
const CELLS = 64;
const SIDE = 320;
const LEFT = 56;
const TOP = 48;
const BARS = 180;

/** Okabe and Ito's colors, which are safe for color blindness; from rank 8 on they repeat, lighter. */
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];
const colorOf = (rank: number): string => COLORS[rank % COLORS.length];
const opacityOf = (rank: number): number => (rank < COLORS.length ? 1 : 0.55);

/** An SVG document. */
export function shardFigure(plan: ShardPlan, problem: Problem): string {
  const N = plan.length;
  const ownerOf = new Int32Array(N);
  for (let rank = 0; rank < plan.ranks; rank++)
    for (const [from, to] of plan.ranges(rank)) ownerOf.fill(rank, from, to);
  const step = Math.max(1, Math.ceil(N / CELLS));
  const count = Math.ceil(N / step);
  const size = SIDE / count;
  const map = new TileMap(problem, step, 1);
  const marks: string[] = [];
  for (let i = 0; i < count; i++) {
    const [row0, row1] = [i * step, Math.min(N, (i + 1) * step)];
    const rank = ownerOf[Math.min(N - 1, row0 + Math.floor(step / 2))];
    for (const { from, to } of map.runs(0, 0, row0, row1, 0, N)) {
      const [x, end] = [Math.floor(from / step), Math.ceil(to / step)];
      marks.push(
        `<rect x="${(LEFT + x * size).toFixed(1)}" y="${(TOP + i * size).toFixed(1)}" width="${((end - x) * size).toFixed(1)}" height="${(size * 0.98).toFixed(2)}" fill="${colorOf(rank)}" fill-opacity="${opacityOf(rank)}"/>`,
      );
    }
  }
  const highest = Math.max(...plan.costs, 1);
  const bar = Math.min(28, SIDE / plan.ranks);
  const x0 = LEFT + SIDE + 72;
  const mean = plan.costs.reduce((a, b) => a + b, 0) / plan.ranks;
  const bars = plan.costs.map((cost, rank) => {
    const y = TOP + rank * bar;
    const width = (BARS * cost) / highest;
    const label =
      bar >= 9
        ? `<text x="${x0 - 8}" y="${y + bar / 2}" class="end">rank ${rank}</text><text x="${x0 + BARS + 38}" y="${y + bar / 2}" class="end">${(cost / (mean || 1)).toFixed(2)}</text>`
        : "";
    return `<rect x="${x0}" y="${(y + bar * 0.1).toFixed(1)}" width="${width.toFixed(1)}" height="${(bar * 0.8).toFixed(1)}" fill="${colorOf(rank)}" fill-opacity="${opacityOf(rank)}"/>${label}`;
  });
  const meanX = x0 + (BARS * mean) / highest;
  const [width, height] = [x0 + BARS + 52, TOP + SIDE + 48];
  const title = `${plan.kind}: ${N} tokens over ${plan.ranks} ranks; the largest has ${plan.imbalance.toFixed(2)} times the mean work`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${title}</title>
<style>text{font:12px system-ui,sans-serif;fill:#222;dominant-baseline:middle}.end{text-anchor:end}.middle{text-anchor:middle}.head{font-weight:600}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${LEFT}" y="14" class="head">${title}</text>
<rect x="${LEFT}" y="${TOP}" width="${SIDE}" height="${SIDE}" fill="#f4f4f4" stroke="#bbb"/>
${marks.join("\n")}
<text x="${LEFT}" y="${TOP + SIDE + 14}">0</text>
<text x="${LEFT + SIDE}" y="${TOP + SIDE + 14}" class="end">${N - 1}</text>
<text x="${LEFT + SIDE / 2}" y="${TOP + SIDE + 32}" class="middle">key position</text>
<text transform="translate(${LEFT - 18} ${TOP + SIDE / 2}) rotate(-90)" class="middle">query position</text>
<text x="${LEFT - 6}" y="${TOP + 6}" class="end">0</text>
<text x="${LEFT - 6}" y="${TOP + SIDE - 6}" class="end">${N - 1}</text>
${bars.join("\n")}
<line x1="${meanX.toFixed(1)}" x2="${meanX.toFixed(1)}" y1="${TOP - 4}" y2="${(TOP + bar * plan.ranks + 4).toFixed(1)}" stroke="#222" stroke-dasharray="3 3"/>
<text x="${meanX.toFixed(1)}" y="${TOP - 14}" class="middle">mean</text>
<text x="${x0}" y="${(TOP + bar * plan.ranks + 20).toFixed(1)}">visible tiles of each rank (mean = 1)</text>
</svg>
`;
}
