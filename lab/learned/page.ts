/** Learned: one head before, during and after training, and two runs in which it does not learn what it should. */

import { bandScale, barX, dotMarks, element, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { clamp, integer, oneOf } from "../frame/fields.ts";
import { axisOf, draggable, guessText, line, named, rect } from "../frame/marks.ts";
import { definePage, guessOf, type LabView } from "../frame/page.ts";
import { codeLines, indexOfLargest, number, percent } from "../frame/words.ts";
import type { Learned, LearnedNumbers } from "./compute.ts";
import { angleOf, bars, heatmap, plane, planeAt, rowOf, steps } from "./picture.ts";

type PageView = LabView<Learned, LearnedNumbers>;

const LAST = 3000;
/** The largest surprise on the axis, in nats. */
const LARGEST = 4.2;
const EVEN = Math.log(8);

/** Moments that were kept of each run (a test compares them with the captures). */
export const STEPS: Readonly<Record<string, readonly number[]>> = {
  learned: [0, 50, 100, 200, 300, 450, 600, 900, 1300, 2000, LAST],
  tossed: [0, 300, 900, LAST],
  fast: [0, 300, 900, LAST],
};
const RUNS = [
  ["learned", "normal"],
  ["tossed", "random last word"],
  ["fast", "steps × 167"],
] as const;
const SHOWN = [
  ["weights", "weights"],
  ["plane", "query and keys"],
] as const;
const LENGTHS: Readonly<Record<string, number>> = { cat: 11, dog: 13 };

const nearest = (steps: readonly number[], wanted: number) =>
  steps.reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a));
/** Which curve moves first, from the numbers of the run. */
function order({ numbers: n }: PageView) {
  const at = (list: readonly number[], step: number) => list[n.steps.indexOf(step)];
  const [before, early, late] = [0, 200, 600];
  return html`<p>The surprise falls first. From step 0 to step ${early} it goes from ${number(at(n.surprises, before))} to ${number(at(n.surprises, early))} nats while the share only goes from ${percent(at(n.shares, before))} to ${percent(at(n.shares, early))}: the model learns which eight words can come last, and for that it need not look. Only what is below the dashed line needs the animal. At step ${late} the surprise is down to ${number(at(n.surprises, late))}, and the share still grows from ${percent(at(n.shares, late))} to ${percent(n.shares[n.shares.length - 1])}.</p>`;
}
/** The share that "was" gives to the animal at the chosen step, and before training. */
const share = ({ numbers: n }: PageView) => n.weights[n.was][n.animal];
const first = ({ numbers: n }: PageView) => n.before[n.was][n.animal];
const animalOf = ({ numbers: n }: PageView) => n.words[n.animal];

/** The axes of the curves: the square root of a step, because most happens early; surprise; and shares. */
function curveAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [560, 826, 58, 228] : [36, 330, 168, 272];
  return {
    x: scaleOf({ type: "sqrt", domain: [0, LAST], range: [x0, x1] }),
    surprise: scaleOf({ domain: [0, LARGEST], range: [y1, y0], clamp: true }),
    share: scaleOf({ domain: [0, 1], range: [y1, y0] }),
  };
}

/** The run in which there is nothing to learn answers a prediction: until the guess, it ends at the chosen step. */
const shownSteps = ({ numbers: n, state }: PageView) =>
  n.steps.filter((step) => state.run !== "tossed" || guessOf(state, 4) >= 0 || step <= state.step);

/** Surprise and share against the step, on axes that never change. The step is dragged along them. */
function curves(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const { x, surprise, share } = curveAt(wide);
  const [[x0, x1], [y1, y0]] = [x.range, share.range];
  const drawn = shownSteps(view);
  const surprises = drawn.map((step, i) => [x(step), surprise(n.surprises[i])] as const);
  const shares = drawn.map((step, i) => [x(step), share(n.shares[i])] as const);
  const at = Math.max(0, n.steps.indexOf(state.step));
  const now = x(state.step);
  const even = surprise(EVEN);
  return [
    text(x0 - 24, y0 - (wide ? 28 : 14), wide ? "mean surprise at the last word, in nats" : "surprise", {
      class: "second s12",
    }),
    text(x1 + 24, y0 - (wide ? 10 : 14), `share of “${animalOf(view)}” in the row of “was”`, {
      class: "end tw s12",
    }),
    axisOf("bottom", x, y1, [0, 300, 900, LAST], { gap: 15, format: steps }),
    axisOf("left", surprise, x0, [0, 2, 4]),
    axisOf("right", share, x1, [0, 1], { style: { label: { class: "tw s11" } } }),
    line(x0, even, x1, even, "lline dash"),
    text(x1 - 14, even + (wide ? 15 : 12), `guessing: ${number(EVEN)}`, { class: "end third s11" }),
    wide ? text(x0 - 24, y1 + 32, "step of training: drag the line", { class: "second s12" }) : "",
    named(
      "surprise",
      lineMark(surprises, { class: "link" }) + dotMarks(surprises, 2.5, { class: "link solid" }),
    ),
    named("shares", lineMark(shares, { class: "lw" })),
    draggable(
      "step:",
      "Step of training",
      { now: state.step, min: 0, max: LAST, text: `step ${steps(state.step)}` },
      rect(x0 - 14, y0 - 6, x1 + 14, y1 + 6, { class: "hit" }) +
        line(now, y0, now, y1, "lb") +
        dotMarks([shares[at]], 6, { class: "fw grip" }) +
        dotMarks([surprises[at]], 4.5, { class: "fb" }),
    ),
  ].join("");
}

/** The eight words that can follow, at the chosen step. */
function says({ numbers: n }: PageView): string {
  const [x, top, width, height] = [604, 304, 210, 24];
  const band = bandScale(n.reasons.length, [top, top + height * n.reasons.length], 1 / 3);
  const bars = barX({
    values: n.says,
    band,
    scale: scaleOf({ domain: [0, 1], range: [x, x + width] }),
    attributes: (i) => ({ class: i === n.right ? "fv" : "fthird" }),
    track: { class: "fhover" },
    label: (i) => (n.says[i] === 0 ? "<0.1 %" : percent(n.says[i])),
    labelAttributes: { class: "s12 mono" },
  });
  const words = n.reasons.map((word, i) =>
    text(x - 8, band.middle(i) + 4, word, { class: `end ${i === n.right ? "bold" : "second"}` }),
  );
  return (
    text(x - 68, top - 18, "after “was” it expects", { class: "s15 bold" }) +
    named("says", words.join("") + bars)
  );
}

export const page = definePage<Learned, LearnedNumbers>({
  title: "Learned",
  point:
    "Nobody tells a head where to look. It begins by looking everywhere. Step by step, training turns it toward the word that makes the next word less surprising.",
  minutes: 7,
  needs: ["words", "saturation"],
  fields: {
    run: oneOf(Object.keys(STEPS), "learned"),
    step: integer(LAST, 0, LAST),
    sentence: oneOf(Object.keys(LENGTHS), "cat"),
    row: integer(-1, -1, 100),
    shown: oneOf(["weights", "plane"]),
  },
  check: (state) => ({
    ...state,
    step: nearest(STEPS[state.run], state.step),
    row: Math.min(state.row, LENGTHS[state.sentence] - 1),
  }),
  steps: [
    {
      title: "Before and after",
      state: {},
      about: ({ run }) => run === "learned",
      text: (
        view,
      ) => html`<p>A small model read ${steps(16 * LAST)} made-up sentences, 16 at a time. After each 16, its <em>loss</em> was computed: how surprised it was by each next word. Surprise is minus the logarithm of the probability that the model gave to that word. Then all of its parameters were changed a little to make the surprise smaller. That is one <em>step</em> of training.</p>
<p>In its language the last word depends on the animal at the beginning: a cat is always tired, a dog is always hungry. So “was”, the word before the last, should look back at the animal.</p>
<p>Before the first step it gave “${animalOf(view)}” ${percent(first(view))}, about as much as any other word. Now, at step ${steps(view.state.step)}, it gives <b>${percent(share(view))}</b>. <b>Drag the line</b> through the steps.</p>`,
    },
    {
      title: "On the way",
      state: { step: 300 },
      about: ({ run, step }) => run === "learned" && step > 0,
      text: (
        view,
      ) => html`<p>At step 0 all parameters are random, and so small that all scores are nearly equal: in every row, the shares are almost equal.</p>
<p>At step ${steps(view.state.step)} the model expects “${view.numbers.reasons[indexOfLargest(view.numbers.says)]}” with ${percent(Math.max(...view.numbers.says))}, and the head gives “${animalOf(view)}” ${percent(share(view))}. The curve with the dots is the surprise at the last word, a mean over many sentences. It has come down to ${number(view.numbers.surprises[view.numbers.steps.indexOf(view.state.step)])} nats. Guessing among eight words would be ${number(EVEN)}, the dashed line.</p>
${order(view)}`,
    },
    {
      title: "Queries and keys move",
      state: { step: 0, shown: "plane" },
      text: () => html`<p>What makes a score grow? Let <i>g</i><sub>j</sub> be how much the surprise would fall if word <i>j</i> had a larger share. Training moves each score by</p>
<p class="formula"><math><mo>Δ</mo><msub><mi>s</mi><mi>j</mi></msub><mo>∝</mo><msub><mi>p</mi><mi>j</mi></msub><mo>(</mo><msub><mi>g</mi><mi>j</mi></msub><mo>−</mo><munder><mo>∑</mo><mi>i</mi></munder><msub><mi>p</mi><mi>i</mi></msub><msub><mi>g</mi><mi>i</mi></msub><mo>)</mo></math></p>
<p>Words that help more than the average go up, the others go down. And the first factor is the word’s own share: a word that has no share gets no gradient. So it is good to begin with equal shares.</p>
<p>Scores are not stored anywhere. Training changes the matrices that make queries and keys. The picture has the query of “was” as an arrow to the right, and the key of “cat” with its own length and its angle to that query. How far it reaches along the query, times the query’s length, ÷ √16, is its score.</p>`,
      predict: {
        question: "At step 0 the key of “cat” is at 85° to the query. At which angle is it at step 3,000?",
        min: 0,
        max: 180,
        step: 1,
        start: 85,
        unit: "°",
        why: [
          [
            58,
            180,
            "You expected it to stay or to turn away. But each step raises the score of “cat”, and a key nearer to the query has a larger one.",
          ],
          [
            0,
            20,
            "It need not point the same way: the query has become longer, too, and most other keys have turned away.",
          ],
        ],
        show: { step: LAST, shown: "plane", run: "learned", sentence: "cat", row: -1 },
        mark: (guess, { state, wide }) => {
          const [x, y] = planeAt({ state, wide })([
            4.4 * Math.cos((guess * Math.PI) / 180),
            4.4 * Math.sin((guess * Math.PI) / 180),
          ]);
          return (
            element("circle", { cx: x, cy: y, r: 6, class: "none link" }) +
            guessText(wide ? 490 : 365, wide ? 444 : 138, `${guess}°`, "end")
          );
        },
        result: ({ numbers: { planes, animal } }) => {
          const [before, after] = [planes[0], planes[planes.length - 1]];
          const rest = ({ keys }: typeof before) => keys.filter((_, j) => j !== animal).map(angleOf);
          return html`It is at <b>${angleOf(after.keys[animal])}°</b>, and reaches ${number(after.keys[animal][0])} along the query instead of ${number(before.keys[animal][0])}. The query has grown from ${number(before.length)} to ${number(after.length)}. Of the ${rest(before).length} other keys, ${rest(after).filter((angle) => angle > 90).length} are at more than 90° now, and ${rest(before).filter((angle) => angle > 90).length} were at step 0.`;
        },
      },
    },
    {
      title: "Which animal?",
      state: { sentence: "dog" },
      about: ({ sentence }) => sentence === "dog",
      text: (
        view,
      ) => html`<p>Two animals: “the <b>${view.numbers.words[2]}</b> slept near the old cat”. If the head had only learned to look for animals, both would get a large share. It gives ${percent(view.numbers.weights[view.numbers.was][2])} to the first and ${percent(view.numbers.weights[view.numbers.was][7] ?? 0)} to the second.</p>
<p>The second one never mattered in training: looking at it did not lower the loss. Go back to step 300 and see the difference begin.</p>`,
    },
    {
      title: "Nothing to learn",
      state: { run: "tossed", step: 0 },
      text: () =>
        html`<p>The same model again: the same initial parameters, the same sentences in the same order. But now the last word is drawn at random: a cat is tired, or cold, or afraid. 3,000 steps.</p>`,
      predict: {
        question: "How much of the attention of “was” does “cat” get at the end?",
        min: 0,
        max: 100,
        step: 1,
        start: 50,
        unit: " %",
        why: [
          [
            25,
            100,
            "You expected training to find something. A score is only pushed if looking there lowers the loss, and here it never does.",
          ],
          [0, 2, "Nothing pushes it down either: looking at “cat” does no harm."],
        ],
        show: { run: "tossed", step: LAST, sentence: "cat" },
        mark: (guess, { wide }) => {
          const at = curveAt(wide);
          const [x, y] = [at.x(LAST), at.share(guess / 100)];
          // Under its ring where a label of the axis is above.
          const under = guess > 80 || (wide ? guess > 30 && guess < 47 : guess > 19 && guess < 45);
          return (
            element("circle", { cx: x, cy: y, r: 6, class: "none link" }) +
            text(x - 8, under ? y + 18 : y - 8, "your guess", { class: "end bold s11 halo" })
          );
        },
        result: (view) =>
          html`It is <b>${percent(share(view))}</b>; it was ${percent(first(view))} at the start. The surprise stays at ${number(view.numbers.surprises[view.numbers.steps.length - 1])} nats, where guessing is ${number(EVEN)}. The animal says nothing about the last word, so training never pushed its score.`,
      },
    },
    {
      title: "Steps that are too large",
      state: { run: "fast", step: 300 },
      about: ({ run, sentence }) => run === "fast" && sentence === "cat",
      text: (
        view,
      ) => html`<p>The first language again, but every step is 167 times as large. At step 300 “was” gives “cat” ${view.state.step === 300 ? html`<b>${percent(share(view))}</b>` : "everything"}. A success? Now drag on, to 900 and 3,000${view.state.step > 300 ? html`: it gives “cat” <b>${percent(share(view))}</b>` : ""}.</p>
<p>The head is <em>saturated</em>: a share is 0 or 1, and by the formula above, a score with a share of 0 or 1 gets no gradient. It stays where the last large step put it.</p>
<p>And yet the model expects the right word with ${percent(view.numbers.says[view.numbers.right])}. It has seven other heads, and some of them do the work.</p>`,
    },
  ],
  picture: (view) =>
    (view.state.shown === "plane" ? plane(view) : view.wide ? heatmap(view) : bars(view)) +
    curves(view) +
    (view.wide ? says(view) : ""),
  label: (view) =>
    `A head at step ${steps(view.state.step)} of training: “was” gives ${percent(share(view))} to ${animalOf(view)}, ${percent(first(view))} before training. After “was” the model expects ${view.numbers.reasons[indexOfLargest(view.numbers.says)]} with ${percent(Math.max(...view.numbers.says))}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    const row = n.weights[rowOf(view)];
    const best = indexOfLargest(row);
    const word = n.words[rowOf(view)];
    return html`Step ${steps(state.step)}: “${word}” gives the most, <b>${percent(row[best])}</b>, to “${n.words[best]}”${state.row < 0 && best !== n.animal ? html`, and ${percent(row[n.animal])} to “${animalOf(view)}”` : ""}. Then the model expects “${n.reasons[indexOfLargest(n.says)]}” with ${percent(Math.max(...n.says))}${indexOfLargest(n.says) === n.right ? "" : html`; “${n.reasons[n.right]}” is right`}.`;
  },
  control: ({ state }) => {
    const list = STEPS[state.run];
    const at = Math.max(0, list.indexOf(state.step));
    return html`<label>step <input type="range" min="0" max="${list.length - 1}" step="1" value="${at}" data-act="at" aria-label="Step of training" aria-valuetext="step ${steps(state.step)}"><output>${steps(state.step)}</output></label>`;
  },
  more: ({ state }) => html`${choice("", SHOWN, state.shown, "shown")}${choice("", RUNS, state.run, "run")}
${choice(
  "",
  ["cat", "dog"].map((name) => [name, name] as const),
  state.sentence,
  "sentence",
)}`,
  actions: {
    at: ({ state }, _, value) => ({ step: STEPS[state.run][Number(value)] }),
    sentence: (_, sentence) => ({ sentence, row: -1 }),
    row: ({ numbers: n }, row) => ({ row: Number(row) === n.was ? -1 : Number(row) }),
  },
  drags: {
    step: {
      move: ({ wide }, _, { x }) => {
        const { range, invert } = curveAt(wide).x;
        return { step: invert(clamp(x, ...range)) };
      },
      key: ({ state }, _, dx, dy) => {
        const list = STEPS[state.run];
        const at = list.indexOf(state.step) + Math.sign(dx + dy);
        return { step: list[clamp(at, 0, list.length - 1)] };
      },
    },
  },
  code: {
    typescript: (view) => `import { scaledDotProductAttention,
  tensor } from "heed";

// Scores of ${JSON.stringify(view.numbers.words[rowOf(view)])}, q·k/√16, with every word
// up to itself: at step 0, and at step ${view.state.step}.
const before = [
${codeLines(view.numbers.scores[0], 5, "  ")}];
const after = [
${codeLines(view.numbers.scores[1], 5, "  ")}];

const one = tensor(Float64Array.of(1), [1, 1]);
for (const scores of [before, after]) {
  const key = tensor(Float64Array.from(scores),
    [scores.length, 1]);
  const { weights } = scaledDotProductAttention(
    one, key, key,
    { scale: 1, returnWeights: true });
  console.log([...weights.toFloat64()]
    .map((x) => x.toFixed(2)).join(" "));
}`,
    python: (view) => `import numpy as np

# Scores of ${JSON.stringify(view.numbers.words[rowOf(view)])}, q @ k / sqrt(16), with every
# word up to itself: at step 0, and at step ${view.state.step}.
before = np.array([
${codeLines(view.numbers.scores[0], 5, "    ")}])
after = np.array([
${codeLines(view.numbers.scores[1], 5, "    ")}])

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

for scores in before, after:
    weights = softmax(scores)
    print(" ".join(f"{x:.2f}" for x in weights))`,
    printed: ({ numbers: n }) => n.listed.map((row) => row.map((x) => x.toFixed(2)).join(" ")).join("\n"),
    highlight: () => ["{ weights } = scaled", "weights = softmax("],
    names: { weights: "weights", after: "weights" },
  },
  table: (view) => {
    const { numbers: n, state } = view;
    const row = rowOf(view);
    return {
      caption: `Row of “${n.words[row]}” before training and at step ${steps(state.step)}, then the run`,
      columns: ["", "step 0", `step ${steps(state.step)}`],
      rows: [
        ...n.words
          .slice(0, row + 1)
          .map((word, j) => [
            `${j + 1} ${word}`,
            Number(n.before[row][j].toPrecision(3)),
            Number(n.weights[row][j].toPrecision(3)),
          ]),
        ...n.reasons.map((word, i) => [`expects ${word}`, "", n.says[i]]),
        ...shownSteps(view).flatMap((step, i) => [
          [`mean surprise at step ${steps(step)}`, "", n.surprises[i]],
          [`share of ${animalOf(view)} at step ${steps(step)}`, "", Number(n.shares[i].toPrecision(3))],
        ]),
      ],
    };
  },
  tasks: [
    {
      text: "In the normal run, find the first step of the slider at which “was” gives the animal more than half.",
      reached: ({ state, numbers: n }) => {
        if (state.run !== "learned") return false;
        if (state.step === n.steps[n.shares.findIndex((one) => one > 0.5)]) return true;
        if (state.step === LAST) return false;
        const isMore = n.shares[n.steps.indexOf(state.step)] > 0.5;
        return isMore ? "More than half. Is it already at an earlier step?" : "Less than half here.";
      },
    },
    {
      text: "Find a run and a step at which the model is right with more than 90 %, while this head gives the animal less than 1 %.",
      reached: (view) => {
        const isLow = share(view) < 0.01;
        if (view.numbers.says[view.numbers.right] > 0.9)
          return isLow || "The model is right. The head still gives the animal more than 1 %.";
        return isLow && "The head gives the animal less than 1 %. The model is not right yet.";
      },
    },
  ],
  recall: [
    [
      "Why should a head begin with nearly equal shares?",
      "The gradient of a score is multiplied by the word’s own share. A word with a share of 0 gets no gradient, however useful it would be.",
    ],
    [
      "Which numbers change when a head learns?",
      "The matrices that make queries and keys (and values) from the words. Scores and weights are computed again for every sentence.",
    ],
  ],
  limits:
    "This is a made-up language with one rule and one head of eight: that a model is right does not show that this head helped, and in another run another head may learn the rule.",
  trained: {
    text: "See a head of a large model that has learned which subject a verb has: “sat” looks at “cat”",
    address: "tired-cat.html#v1/head?l=5&h=11",
  },
});
