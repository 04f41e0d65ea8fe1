/** The code beside the picture: softmax of the alignment's scores, or what a step back keeps of the gradient. */
import type { LabView, Listings } from "../frame/page.ts";
import type { Before, BeforeNumbers, Frame } from "./compute.ts";
import { PACE_D, PACE_WORDS, paceOperations } from "./letters.ts";

export type PageView = LabView<Before, BeforeNumbers>;

/** Words of the text whose first and last are compared. */
export const WORDS = 32;

const EMPTY: Frame = { step: 0, loss: Number.NaN, wrote: "", weights: [], states: [] };

/** The frame that is shown: the last one up to the chosen step. */
export const frameOf = ({ state, numbers }: PageView): Frame =>
  numbers.frames.findLast(({ step }) => step <= state.at) ?? numbers.frames[0] ?? EMPTY;

/** The shares of the first and the last word, of each way that the picture shows. */
const endsOf = ({ numbers: { reach }, state }: PageView) =>
  (["attention", "recurrent"] as const).slice(0, state.reach).map((way) => {
    const { middle } = reach![way];
    return [way, [middle[0], middle[WORDS - 1]].map((share) => Number(share.toPrecision(3)))] as const;
  });

const factorNames = (view: PageView) =>
  `[${endsOf(view)
    .map(([way]) => way)
    .join(", ")}]`;

/** What a step back keeps of the gradient, from the shares of the first and the last word. */
const factorListing = (view: PageView, comment: string, before: string, after: string, rest: string) =>
  `${comment} Shares in the gradient of the last output,
${comment} words 1 and ${WORDS}: the middle of eight draws.
${endsOf(view)
  .map(([way, ends]) => `${before}${way} = [${ends.join(", ")}]${after}`)
  .join("\n")}

${comment} What a step back keeps of it, on average.
${rest}`;

/** Operations of both layers, in both languages. */
const paceListing = (comment: string, before: string, loop: string, after: string) =>
  `${comment} Multiplications and additions of n words, by a
${comment} recurrent network and by an attention layer.
${before}d = ${PACE_D}
${loop}
  ${after}(n, 12 * n * d * d,
    8 * n * d * d + 4 * n * n * d)`;

/** The listings of the page. */
export const code: Listings<Before, BeforeNumbers> = {
  typescript: (view) =>
    view.numbers.reach !== undefined
      ? factorListing(
          view,
          "//",
          "const ",
          ";",
          `const factor = ([first, last]) =>
  (first / last) ** (1 / ${WORDS - 1});
for (const pair of ${factorNames(view)})
  console.log(factor(pair).toFixed(3));`,
        )
      : view.numbers.pace !== undefined
        ? paceListing("//", "const ", `for (const n of [${PACE_WORDS.join(", ")}])`, "console.log")
        : `import { scaledDotProductAttention,
  tensor } from "heed";

// Scores w · tanh(Wq q + Wk k) of letter ${view.state.row + 1}
// with each letter read, at step ${frameOf(view).step}.
const scores = Float64Array.of(
  ${view.numbers.scores.slice(0, 3).join(", ")},
  ${view.numbers.scores.slice(3).join(", ")});

const key = tensor(scores, [6, 1]);
const one = tensor(Float64Array.of(1), [1, 1]);
const { weights } = scaledDotProductAttention(
  one, key, key, { scale: 1, returnWeights: true });

console.log([...weights.toFloat64()]
  .map((x) => x.toFixed(2)).join(" "));`,
  python: (view) =>
    view.numbers.reach !== undefined
      ? factorListing(
          view,
          "#",
          "",
          "",
          `def factor(first, last):
    return (first / last) ** (1 / ${WORDS - 1})

for pair in ${factorNames(view)}:
    print(f"{factor(*pair):.3f}")`,
        )
      : view.numbers.pace !== undefined
        ? paceListing("#", "", `for n in [${PACE_WORDS.join(", ")}]:`, "print")
        : `import numpy as np

# Scores w @ tanh(Wq q + Wk k) of letter ${view.state.row + 1}
# with each letter read, at step ${frameOf(view).step}.
scores = np.array([
    ${view.numbers.scores.slice(0, 3).join(", ")},
    ${view.numbers.scores.slice(3).join(", ")}])

e = np.exp(scores - scores.max())
weights = e / e.sum()
print(" ".join(f"{x:.2f}" for x in weights))`,
  printed: (view) =>
    view.numbers.reach !== undefined
      ? endsOf(view)
          .map(([, [first, last]]) => ((first / last) ** (1 / (WORDS - 1))).toFixed(3))
          .join("\n")
      : view.numbers.pace !== undefined
        ? PACE_WORDS.map((n) => [n, ...Object.values(paceOperations(n))].join(" ")).join("\n")
        : view.numbers.listed.map((x) => x.toFixed(2)).join(" "),
  highlight: ({ state }) =>
    state.reach > 0
      ? ["(first / last)"]
      : state.pace > 0
        ? ["4 * n * n * d"]
        : ["scaledDotProductAttention(", "e / e.sum"],
  names: {
    recurrent: "recurrent",
    attention: "attention",
    scores: "weights",
    key: "weights",
    weights: "weights",
  },
};
