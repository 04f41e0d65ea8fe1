/** Milliseconds of both layers against the number of words, both axes logarithmic. */
import { dotMarks, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { axisOf, named } from "../frame/marks.ts";
import { powerText } from "./draw-reach.ts";
import { PACE_WORDS, type Pace } from "./letters.ts";

/** The plot; before the race it has axes only. */
export function pacePlot({ recurrent, attention }: Pace, wide: boolean): string {
  const [x0, x1, y0, y1] = wide ? [80, 700, 64, 460] : [44, 300, 34, 240];
  const small = wide ? "s12" : "s11";
  const x = scaleOf({ domain: [4, 10], range: [x0, x1] });
  const y = scaleOf({ domain: [-2, 4], range: [y1, y0], clamp: true });
  const curve = (name: string, label: string, ms: readonly number[], color: string) => {
    const points = ms.map((one, i) => [x(Math.log2(PACE_WORDS[i])), y(Math.log10(one))] as const);
    const [endX, endY] = points.at(-1)!;
    return (
      named(name, lineMark(points, { class: `l${color}` }) + dotMarks(points, 4, { class: `f${color}` })) +
      text(endX + 8, endY + 4, label, { class: `t${color} bold halo ${small}` })
    );
  };
  return [
    text(x0 - (wide ? 50 : 36), y0 - 18, "milliseconds on this machine, one thread", {
      class: `bold ${small}`,
    }),
    axisOf("left", y, x0, [-2, 0, 2, 4], { grid: x1, format: powerText }),
    axisOf("bottom", x, y1, [4, 6, 8, 10], { gap: 15, format: (power) => `${2 ** power}` }),
    text(x1, y1 + (wide ? 36 : 30), /* text */ "words", { class: `end second ${small}` }),
    Number.isNaN(attention[0])
      ? text((x0 + x1) / 2, (y0 + y1) / 2, "press Race", { class: "mid third" })
      : curve("recurrent", /* text */ "recurrent", recurrent, "b") +
        curve("attention", /* text */ "attention", attention, "w"),
  ].join("");
}
