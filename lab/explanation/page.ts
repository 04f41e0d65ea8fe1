/** Is attention an explanation? Every link of a word: its weight across, its effect on the word's last state upwards; beside it, one head. */

import { bandScale, barX, dotMarks, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice, menu } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, oneOf, ownSentence, type StateFields } from "../frame/fields.ts";
import { axisOf, line, named } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { codeLines, indexOfLargest, number, PIECES, plainSentence } from "../frame/words.ts";
import { cutNote, OWN_MODEL, ownExplorer } from "../head/link.ts";
import type { Explanation, ExplanationNumbers } from "./compute.ts";
import { degrees, listed, rowOf, weightText } from "./row.ts";

type PageView = LabView<Explanation, ExplanationNumbers>;

/** The sentences, which the small encoder does not read. */
const TEXTS = { time: "time flies like an arrow", fruit: "fruit flies like a banana" } as const;
/** The head of the first page, and the one beside it. */
const [TELLING, PREVIOUS] = [4, 2];

/** A word as it is named in sentences. */
const nameOf = ({ words }: ExplanationNumbers, j: number) =>
  j === 0 || j === words.length - 1 ? `the ${words[j]} mark` : `“${words[j]}”`;
/** The largest link of a head in layer 0: what the first steps speak of. */
function largestOf(n: ExplanationNumbers, head: number) {
  const at = head * n.words.length;
  const j = indexOfLargest(n.weights.slice(at, at + n.words.length));
  const rest = Math.max(...n.angles.slice(at, at + n.words.length).filter((_, i) => i !== j));
  return { j, weight: n.weights[at + j], angle: n.angles[at + j], move: n.moves[at + j], rest };
}
const isMark = (n: ExplanationNumbers, i: number) =>
  i % n.words.length === 0 || i % n.words.length === n.words.length - 1;

/** The axes. The largest angle of a sentence stays in the picture. */
function axes(n: ExplanationNumbers, wide: boolean) {
  const top = Math.max(20, Math.ceil(Math.max(...n.angles) / 10) * 10);
  const [x0, x1, y0, y1] = wide ? [58, 440, 56, 470] : [40, 262, 34, 244];
  return {
    x: scaleOf({ domain: [0, 1], range: [x0, x1] }),
    y: scaleOf({ domain: [0, top], range: [y1, y0] }),
    ticks: [0, 1, 2, 3, 4].map((i) => (i * top) / 4),
  };
}

function plane({ numbers: n, state, wide }: PageView): string {
  const { x, y, ticks } = axes(n, wide);
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const point = (i: number) => [x(n.weights[i]), y(n.angles[i])] as const;
  const all = state.shown === "all" ? n.weights.map((_, i) => i) : [];
  const row = rowOf(n);
  // Its name stands beside the link of the largest effect of the head that is shown.
  const best = row.reduce((a, b) => (b.angle > a.angle ? b : a));
  const [bx, by] = [x(best.weight), y(best.angle)];
  return [
    text(
      x0 - (wide ? 38 : 32),
      y0 - (wide ? 26 : 18),
      `without a link, the last state of “${n.words[n.query]}” turns by`,
      {
        class: "second s12",
      },
    ),
    axisOf("bottom", x, y1, wide ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1], {
      format: (value) => `${Math.round(100 * value)} %`,
    }),
    axisOf("left", y, x0, ticks, { format: (value) => `${value}°`, grid: x1 }),
    text(x1, y1 + (wide ? 40 : 34), "weight of the link →", { class: "end second s12" }),
    named(
      "all",
      dotMarks(all.filter((i) => isMark(n, i)).map(point), 2.5, { class: "none lthird" }) +
        dotMarks(all.filter((i) => !isMark(n, i)).map(point), 2.5, { class: "fthird" }),
    ),
    named(
      "head",
      dotMarks(
        row.map(({ weight, angle }) => [x(weight), y(angle)] as const),
        wide ? 6 : 5,
        { class: "fb" },
      ),
    ),
    text(bx - (wide ? 11 : 8), by + 4, `${n.words[best.j]}${wide ? "" : ` ${degrees(best.angle)}`}`, {
      class: "end tb bold s12 halo",
    }),
  ].join("");
}

/** The words of the head that is shown: weight and effect, a row each. */
function words({ numbers: n }: PageView): string {
  const row = rowOf(n);
  const step = Math.min(46, 380 / row.length);
  const [left, top] = [600, 92];
  const band = bandScale(row.length, [top, top + row.length * step], 0.2);
  const bars = (
    values: readonly number[],
    to: number,
    at: number,
    name: string,
    label: (i: number) => string,
  ) =>
    barX({
      values,
      band: bandScale(row.length, [top + at * step, top + row.length * step + at * step], 0.62),
      scale: scaleOf({ domain: [0, to], range: [left, left + 170] }),
      attributes: { class: name },
      label,
      labelAttributes: { class: "s11 mono" },
    });
  const { y } = axes(n, true);
  return [
    text(left - 76, 36, `layer ${n.layer}, head ${n.head}: “${n.words[n.query]}” looks at`, {
      class: "bold s12",
    }),
    text(left, 64, "weight", { class: "tw bold s12" }),
    text(left + 60, 64, "effect", { class: "tb bold s12" }),
    ...row.map(({ j }) => text(left - 10, band.middle(j) + 4, n.words[j], { class: "end s13" })),
    named(
      "weights",
      bars(
        row.map(({ weight }) => weight),
        1,
        -0.18,
        "fw",
        (i) => weightText(row[i].weight),
      ),
    ),
    named(
      "effects",
      bars(
        row.map(({ angle }) => angle),
        y.domain[1],
        0.18,
        "fb",
        (i) => degrees(row[i].angle),
      ),
    ),
  ].join("");
}

const picture = (view: PageView): string => plane(view) + (view.wide ? words : listed)(view);

const fields: StateFields<Explanation> = {
  data: oneOf(["time", "fruit"]),
  layer: integer(0, 0, 5),
  head: integer(TELLING, 0, 11),
  how: oneOf(["silent", "hidden"]),
  shown: oneOf(["head", "all"]),
  ownText: ownSentence,
};

const isCommon = ({ data, ownText }: Explanation) => ownText === "" && data === "time";

export const page = definePage<Explanation, ExplanationNumbers>({
  title: "Is attention an explanation?",
  point:
    "A large weight says where a head looked. Whether that made a difference to what the model makes of the word is another question, and it can be measured.",
  minutes: 8,
  needs: ["words", "becomes"],
  common: TEXTS.time,
  fields,
  steps: [
    {
      title: "Take a link away",
      state: {},
      about: (state) => state.how === "silent",
      text: ({ numbers: n, state }) => {
        const link = largestOf(n, TELLING);
        return isCommon(state)
          ? html`<p>In layer 0, head 4 of MiniLM, “flies” gives ${nameOf(n, link.j)} <b>${weightText(link.weight)}</b> of its attention. You have seen this link on the first page. Does the model need it?</p>
<p>There is one way to find out: take it away. Set this one weight to 0, leave everything else as it is, and let all later layers run. Then compare what “flies” has become in the end, its 384 numbers after the last layer, with what it was: the vector has turned by <b>${degrees(link.angle)}</b>.</p>
<p>The same for the other links of this head: each turns it by at most ${degrees(link.rest)}. Right is more weight, up is more effect.</p>`
          : html`<p>This is ${state.ownText === "" ? `“${TEXTS[state.data as keyof typeof TEXTS]}”` : html`your sentence, at most its first ${PIECES} pieces, read by ${OWN_MODEL}`}, and the links of “${n.words[n.query]}”. Each weight was set to 0 once, with everything else left as it is, and all later layers ran again. The picture says how far the last vector of “${n.words[n.query]}” turned.</p>
<p>In layer ${n.layer}, head ${n.head} the largest weight is ${weightText(Math.max(...n.row.weights))} and the largest effect ${degrees(Math.max(...n.row.angles))}.</p>`;
      },
    },
    {
      title: "A stronger link",
      state: {},
      about: isCommon,
      text: ({ numbers: n }) =>
        html`<p>Head 2 of the same layer looks one word back, whatever is there. So it gives ${nameOf(n, largestOf(n, PREVIOUS).j)} even more: <b>${weightText(largestOf(n, PREVIOUS).weight)}</b>. The same word looks at the same word, in the same layer, with more weight.</p>`,
      predict: {
        question: "Take that link away instead. By how many degrees does “flies” turn?",
        min: 0,
        max: 20,
        step: 0.5,
        start: 10,
        unit: "°",
        why: [
          [
            8,
            20,
            "You expected more weight to have more effect. A weight says how much of a value is taken; it does not say what later layers do with it.",
          ],
        ],
        show: { head: PREVIOUS, data: "time", how: "silent", layer: 0 },
        mark: (guess, { numbers: n, wide }) => {
          const { x, y } = axes(n, wide);
          const [from, at] = [x.range[1] + 4, y(guess)];
          return (
            line(from, at, from + 12, at, "link") +
            text(from + 16, at + 4, "your guess", { class: "bold s11 halo" })
          );
        },
        result: ({ numbers: n }) => {
          const [link, other] = [largestOf(n, PREVIOUS), largestOf(n, TELLING)];
          return html`It is <b>${degrees(link.angle)}</b>, ${number(other.angle / link.angle, 2)} times less than in head 4. Both heads take from the same word. What they take is not the same: each has values of its own.`;
        },
      },
    },
    {
      title: "Every link of the word",
      state: { shown: "all" },
      about: ({ shown, how }) => shown === "all" && how === "silent",
      text: ({
        numbers: n,
      }) => html`<p>Now all ${n.weights.length} links of “${n.words[n.query]}”: ${n.layers} layers, ${n.heads} heads, ${n.words.length} tokens. Open dots are links to the start and the end mark.</p>
<p>Of the ${n.strong.count} links with more than half of the attention, <b>${n.strong.marks}</b> go to a mark. The largest effect of any of those is ${degrees(n.strong.largestOfMarks)}. A picture of large weights is mostly a picture of heads that rest.</p>
<p>Over all links, the order by weight agrees with the order by effect with a rank correlation of <b>${number(n.correlation)}</b>; 1 would be the same order.</p>`,
    },
    {
      title: "Weight × value is arithmetic",
      state: { shown: "all" },
      about: ({ shown, how }) => shown === "all" && how === "silent",
      text: ({ numbers: n, state }) => {
        const [link, other] = [largestOf(n, PREVIOUS), largestOf(n, TELLING)];
        return html`<p>What a link adds to the output of its head is its weight times the value. So without the link that output moves by weight × length of the value, exactly. That is no finding: it follows from the formula.</p>
<p>It is a better guide than the weight: over all links its order agrees with that of the effects with <b>${number(n.correlationMoves)}</b>, because it knows that the values of the marks are short.${isCommon(state) ? html` But it does not know what comes later. It is ${number(other.move)} in head 4 and ${number(link.move)} in head 2, a ratio of ${(other.move / link.move).toFixed(1)}; the effects, ${degrees(other.angle)} and ${degrees(link.angle)}, have a ratio of ${(other.angle / link.angle).toFixed(1)}.` : ""}</p>`;
      },
    },
    {
      title: "Silenced is not hidden",
      state: { shown: "all", how: "hidden", layer: 1, head: 11 },
      about: ({ shown, how }) => shown === "all" && how === "hidden",
      text: ({ numbers: n }) => {
        const [start] = rowOf(n);
        return html`<p>There is another way to leave a word out: hide it with a mask. Then the shares of all others grow, to add up to 100 % again. In layer ${n.layer}, head ${n.head}, “${n.words[n.query]}” gives the start mark ${weightText(start.weight)}. Hidden, it turns the word by <b>${degrees(start.angle)}</b>: what it took kept the others small.</p>
<p>Now the links to marks have effects of up to ${degrees(n.strong.largestOfMarks)}, and the weight agrees with the effect: ${number(n.correlation)}. Both answers are right, but to different questions. What does this word add? What does its presence change? Before you ask whether attention is an explanation, say of what.</p>`;
      },
    },
    {
      title: "What may be said",
      state: { shown: "all" },
      text: ({ numbers: n }) => {
        const link = indexOfLargest(n.row.weights);
        return html`<p><i>This head gives ${weightText(n.row.weights[link])} of its attention to ${nameOf(n, link)}:</i> true, exactly. <i>The model understood the word because of it:</i> not shown by any weight. <i>Without it, what the model makes of the word turns by ${degrees(n.row.angles[link])}:</i> shown, in this sentence, by an experiment.</p>
<p>Between a head’s output and the end are other heads, residual connections and the layers above. Two links that do the same can each look useless, because the other one is still there.</p>`;
      },
    },
  ],
  picture,
  label: ({ numbers: n }) =>
    `Links of “${n.words[n.query]}” in layer ${n.layer}, head ${n.head}: ${rowOf(n)
      .map(({ j, weight, angle }) => `${n.words[j]} weight ${weightText(weight)}, effect ${degrees(angle)}`)
      .join("; ")}.`,
  caption: ({ numbers: n, state }) => {
    const row = rowOf(n);
    const [heaviest, best] = [indexOfLargest(n.row.weights), indexOfLargest(n.row.angles)];
    return html`${state.ownText === "" ? "MiniLM" : OWN_MODEL}, layer ${n.layer}, head ${n.head}: most weight, ${weightText(row[heaviest].weight)}, on ${nameOf(n, heaviest)}; ${state.how === "silent" ? "without" : "hidden"}, “${n.words[n.query]}” turns by <b>${degrees(row[heaviest].angle)}</b>.${best !== heaviest ? html` The largest effect of this head is that of ${nameOf(n, best)}: ${degrees(row[best].angle)}.` : ""}${state.ownText === "" ? "" : html` ${ownExplorer(state.ownText, n, n.query, heaviest, PIECES)}.${cutNote(n.cut, PIECES)}`}`;
  },
  control: ({ numbers: n }) =>
    html`<label>layer ${menu(
      "",
      Array.from({ length: n.layers }, (_, layer) => [layer, String(layer)] as const),
      n.layer,
      "layer",
    )}</label><label>head ${menu(
      "",
      Array.from({ length: n.heads }, (_, head) => [head, String(head)] as const),
      n.head,
      "head",
    )}</label>`,
  more: ({ state }) =>
    html`${choice(
      "",
      [
        ["silent", "set to 0"],
        ["hidden", "hidden by a mask"],
      ],
      state.how,
      "how",
    )}${choice(
      "",
      [
        ["head", "this head"],
        ["all", "all heads"],
      ],
      state.shown,
      "shown",
    )}${
      state.ownText === ""
        ? choice(
            "",
            [
              ["time", "time flies"],
              ["fruit", "fruit flies"],
            ],
            state.data,
            "data",
          )
        : ""
    }`,
  code: {
    typescript: ({ numbers: n }) => `import { tensor } from "heed";
import { matmul } from "heed/nn";

// Links of one head: weights, and by how many
// degrees the word turns without each.
const weights = [
${fives(n.row.weights)}];
const effects = [
${fives(n.row.angles)}];

// Places in the order of size; equal numbers share
// the mean of their places. The mean of all is 0.
const places = (list) => {
  const count = (test) => list.filter(test).length;
  return list.map((x) => count((y) => y < x) +
    (count((y) => y === x) - list.length) / 2);
};
const row = (list) => tensor(
  Float64Array.from(list), [1, list.length]);
const dot = (a, b) => matmul(row(a), row(b),
  { transposeB: true }).at(0, 0);
const [a, b] = [places(weights), places(effects)];
const correlation =
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
console.log(correlation.toFixed(4));`,
    python: ({ numbers: n }) => `import numpy as np

# Links of one head: weights, and by how many
# degrees the word turns without each.
weights = np.array([
${fives(n.row.weights)}])
effects = np.array([
${fives(n.row.angles)}])

# Places in the order of size; equal numbers share
# the mean of their places.
def places(x):
    smaller = (x[None] < x[:, None]).sum(1)
    same = (x[None] == x[:, None]).sum(1)
    return smaller + (same - 1) / 2

a, b = places(weights), places(effects)
correlation = np.corrcoef(a, b)[0, 1]
print(f"{correlation:.4f}")`,
    printed: ({ numbers: n }) => n.correlationRow.toFixed(4),
    highlight: () => ["const correlation", "correlation = "],
    names: { weights: "weights", effects: "effects", correlation: "head" },
  },
  table: ({ numbers: n, state }) => ({
    caption: `Links of “${n.words[n.query]}” in layer ${n.layer}, head ${n.head}, ${state.how === "silent" ? "each set to 0" : "each hidden by a mask"}`,
    columns: ["word", "weight", "weight × length of value", "turns by, degrees"],
    rows: rowOf(n).map(({ j, weight, move, angle }) => [
      n.words[j],
      ...[weight, move, angle].map((x) => Number(x.toPrecision(4))),
    ]),
  }),
  tasks: [
    {
      text: "Find a head that gives one token more than 90 % of its attention, and whose effect is less than 1° (with the weight set to 0).",
      reached: ({ state, numbers: n }) => {
        if (state.how !== "silent") return "With the weight set to 0, not hidden.";
        const without = rowOf(n).filter(({ angle }) => angle < 1);
        if (rowOf(n).some(({ weight }) => weight > 0.9))
          return without.some(({ weight }) => weight > 0.9) || "More than 90 %, but it has an effect.";
        return (
          without.some(({ weight }) => weight > 0.6) && "Little effect. A weight of more than 90 % is wanted."
        );
      },
    },
    {
      text: "In “fruit flies like a banana”, find the head in which a link of “flies” to another word has the largest effect of all 72 heads.",
      reached: ({ state, numbers: n }) => {
        if (state.data !== "fruit" || state.how !== "silent") return false;
        const isOther = (i: number) => !isMark(n, i) && i % n.words.length !== n.query;
        const best = indexOfLargest(n.angles.map((angle, i) => (isOther(i) ? angle : 0)));
        if (state.ownText === "" && Math.floor(best / n.words.length) === n.layer * n.heads + n.head)
          return true;
        const largest = Math.max(...n.row.angles);
        return (
          largest > 10 && `${degrees(largest)} here, and more in another head, or this link is to a mark.`
        );
      },
    },
  ],
  sentence: (ownText) => ({
    ...{
      layer: 0,
      head: ownText === "" ? TELLING : 0,
      how: "silent",
      shown: ownText === "" ? "head" : "all",
    },
    ...(plainSentence(ownText) === TEXTS.fruit
      ? { ownText: "", data: "fruit", head: TELLING, shown: "head" }
      : plainSentence(ownText) === TEXTS.time
        ? { ownText: "", data: "time", head: TELLING, shown: "head" }
        : { ownText, data: "time" }),
  }),
  carry: ({ ownText, data }) => (ownText === "" ? { data } : { ownText }),
  recall: [
    [
      "Two heads of one layer give the same word 80 % and 100 % of their attention. Which one matters more?",
      "The weights do not say. Here, without the link of 80 % the word turns by 17°, without the one of 100 % by 3°. Values differ, and so does what later layers do with them.",
    ],
    [
      "What is the difference between setting a weight to 0 and hiding a key?",
      "Set to 0, the others keep their shares: it shows what the link adds. Hidden, the others grow to 100 %: it shows what the presence of the key changes.",
    ],
  ],
  limits:
    "One word, two sentences and one model were tried, one link at a time: an effect of 0 does not show that a link is useless, because another link may do the same.",
  trained: {
    text: "See the row in the explorer, with its values",
    address: "time-flies.html#v1/row?l=0&h=4&i=2&j=1",
    more: [
      {
        text: "The same row of “fruit flies like a banana”",
        address: "fruit-flies.html#v1/row?l=0&h=4&i=2&j=1",
      },
    ],
  },
});

/** Numbers in lines of five. */
const fives = (numbers: readonly number[]): string => codeLines(numbers, 5, "  ");
