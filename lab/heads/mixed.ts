/** The picture of concat and W^O: outputs side by side, what the matrix makes of them, and what each head adds to the sum. */
import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";
import { element } from "../../src/view/plot/svg.ts";
import { arrow, named, pressable, rect } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { number, percent } from "../frame/words.ts";
import type { Heads, HeadsNumbers } from "./compute.ts";

type PageView = LabView<Heads, HeadsNumbers>;

/** Numbers as bars above and below a line, from `x0` to `x1`. */
function strip(numbers: readonly number[], x0: number, x1: number, y: number, height: number): string {
  const top = Math.max(...numbers.map(Math.abs), 1e-9);
  const step = (x1 - x0) / numbers.length;
  const bars = numbers.map((x) => `V${y + Math.round((-height * x) / top)}h${step.toFixed(3)}`);
  return element("path", { d: `M${x0} ${y}${bars.join("")}V${y}z`, class: "fv" });
}

/** The outputs one after the other, and the sum that W^O makes. */
function strips({ numbers: n, wide }: PageView): string {
  const { concat, sum } = n.mix;
  const heads = n.on.length;
  const g = wide ? { x0: 78, x1: 846, y: [52, 146], high: 22 } : { x0: 34, x1: 366, y: [29, 78], high: 10 };
  const box = (g.x1 - g.x0) / heads;
  const labels = n.on.map((one, h) =>
    text(g.x0 + (h + 0.5) * box, g.y[0] + g.high + (wide ? 15 : 12), String(h), {
      class: `mid ${wide ? "s12" : "s10"} ${one === 1 ? "" : "third"}`,
    }),
  );
  const frames = n.on.map((_, h) =>
    rect(g.x0 + h * box, g.y[0] - g.high - 2, g.x0 + (h + 1) * box, g.y[0] + g.high + 2, {
      class: "none lline",
    }),
  );
  const title = { class: `second ${wide ? "s12" : "s11"}` };
  return [
    text(
      g.x0,
      g.y[0] - g.high - 8,
      wide ? `concat: ${heads} outputs of ${concat.length / heads} numbers, side by side` : "concat",
      title,
    ),
    ...frames,
    named("concat", strip(concat, g.x0, g.x1, g.y[0], g.high)),
    ...labels,
    text(
      g.x0,
      g.y[1] - g.high - 6,
      wide
        ? `concat · Wᴼ: ${sum.length} numbers, each of them mixed from all ${concat.length}`
        : "concat · Wᴼ",
      title,
    ),
    named("sum", strip(sum, g.x0, g.x1, g.y[1], g.high)),
  ].join("");
}

/** A row for each head: the length of what it adds, and its part of the sum. */
function parts({ numbers: n, wide }: PageView): string {
  const { lengths, parts } = n.mix;
  const heads = n.on.length;
  const g = wide
    ? { x: 78, y: 222, to: 232, part: 396, high: 288 }
    : { x: 34, y: 108, to: 204, part: 366, high: 186 };
  const band = bandScale(heads, [g.y, g.y + g.high], 0.4);
  const row = g.high / heads;
  const small = wide ? "s12" : "s10";
  const bars = barX({
    values: lengths,
    band,
    scale: scaleOf({ domain: [0, Math.max(...lengths, 1e-9)], range: [g.x, g.to] }),
    attributes: { class: "fv" },
    label: (h) => (n.on[h] === 1 ? number(lengths[h]) : /* text */ "muted"),
    labelAttributes: (h) => ({ class: `${small} mono ${n.on[h] === 1 ? "" : "third"}` }),
    labelGap: 5,
  });
  const rows = n.on.map((one, h) => {
    const y = band.middle(h) + 4;
    const share = percent(parts[h]);
    return (
      text(g.x - 6, y, wide ? `head ${h}` : String(h), {
        class: `end ${small} ${one === 1 ? "" : "third"}`,
      }) +
      (one === 1 ? text(g.part, y, share, { class: `end mono ${small}` }) : "") +
      pressable(
        `head:${h}`,
        `Head ${h} adds a vector of length ${number(lengths[h])}, ${share} of the sum`,
        one === 1,
        rect(0, band.middle(h) - row / 2, g.part, band.middle(h) + row / 2, { class: "hit" }),
      )
    );
  });
  const title = { class: `second ${small}` };
  return [
    text(
      g.x,
      g.y - 6,
      wide ? "length of what each head adds; press to mute" : "length of what each adds",
      title,
    ),
    text(g.part, g.y - 6, "of the sum", { class: `end second ${small}` }),
    named("added", bars),
    ...rows,
  ].join("");
}

/** What the heads add, one after the other, seen in a plane. */
function chain({ numbers: { mix, on } }: PageView): string {
  const { path, largest } = mix;
  const [xs, ys] = [path.map(([x]) => x), path.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const unit = Math.min(340 / Math.max(right - left, 0.01), 230 / Math.max(high - low, 0.01));
  const [cx, cy] = [650 - (unit * (left + right)) / 2, 370 + (unit * (low + high)) / 2];
  const at = (i: number) => [cx + unit * path[i][0], cy - unit * path[i][1]] as const;
  const end = at(path.length - 1);
  const steps = on.map((one, h) => {
    if (one === 0) return "";
    const [[x1, y1], [x2, y2]] = [at(h), at(h + 1)];
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy);
    // Names of short steps would cover each other.
    const name =
      length < 34
        ? ""
        : text((x1 + x2) / 2 + (26 * dy) / length, (y1 + y2) / 2 - (14 * dx) / length + 4, `head ${h}`, {
            class: "mid tv bold s12 halo",
          });
    return arrow(x1, y1, x2, y2, "lv") + name;
  });
  return [
    text(460, 216, `added one after the other, in the plane of the sum and of head ${largest[0]}`, {
      class: "second s12",
    }),
    named("whole", arrow(...at(0), ...end, "lthird", 8)),
    // On the other side of the arrows that lead to the end.
    text(end[0] - 14, end[1] + (path[path.length - 2][1] > 0 ? 20 : -10), "their sum", {
      class: "end second s12 halo",
    }),
    named("chain", steps.join("")),
  ].join("");
}

/** The inside of the SVG. */
export const mixed = (view: PageView): string => strips(view) + parts(view) + (view.wide ? chain(view) : "");
