/** The links of the head that is shown: their numbers in words, and as a list. */
import { text } from "../../src/view/plot/index.ts";
import type { LabView } from "../frame/page.ts";
import { number, percent } from "../frame/words.ts";
import type { Explanation, ExplanationNumbers } from "./compute.ts";

/** An effect: what is stored as 0 is smaller than what is stored. */
export const degrees = (angle: number) => (angle < 0.1 ? "<0.1°" : `${number(angle, angle < 10 ? 2 : 3)}°`);
/** A weight: no link has exactly none of a word's attention, or all of it. */
export const weightText = (weight: number) =>
  weight === 0 ? percent(1e-4) : percent(Math.min(weight, 1 - 1e-4));
/** The links of the head that is shown, and of the word whose links they are. */
export const rowOf = (n: ExplanationNumbers) => {
  const at = (n.layer * n.heads + n.head) * n.words.length;
  return n.words.map((_, j) => ({
    j,
    weight: n.weights[at + j],
    angle: n.angles[at + j],
    move: n.moves[at + j],
  }));
};
/** Weights and effects as numbers, where there is no space for bars. */
export function listed({ numbers: n }: Pick<LabView<Explanation, ExplanationNumbers>, "numbers">): string {
  const row = rowOf(n);
  const [left, top, step] = [284, 40, Math.min(30, 220 / row.length)];
  return [
    text(left, top - 20, "weight", { class: "tw bold s11" }),
    text(left + 42, top - 20, "effect", { class: "tb bold s11" }),
    ...row.map(({ j, weight, angle }, at) => {
      const y = top + at * step;
      return (
        text(left, y, n.words[j], { class: "s11 bold" }) +
        text(left, y + 11, weightText(weight), { class: "tw s11" }) +
        text(left + 42, y + 11, degrees(angle), { class: "tb s11" })
      );
    }),
  ].join("");
}
