/** Many heads: twelve ways of looking from one word at once; what their average hides. */

import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import type { StateFields } from "../frame/fields.ts";
import { clamp, initialOf, integer, numbers, oneOf, ownSentence, toggle } from "../frame/fields.ts";
import { squeezed } from "../frame/fit.ts";
import { guessText, line, named, pressable, rect, weightCells } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { codeLines, indexOfLargest, literal, number, percent } from "../frame/words.ts";
import type { Heads, HeadsNumbers } from "./compute.ts";
import { keyHeadsOf } from "./groups.ts";

type PageView = LabView<Heads, HeadsNumbers>;

const HEADS = 12;
/** Numbers of a key or value. */
const WIDTH = 32;
const ALL = Array<number>(HEADS).fill(1);
/** The head that gives most to the word that is asked about, alone. */
const FINDER: readonly number[] = [];

const headsOn = (on: readonly number[]) => on.flatMap((one, h) => (one === 1 ? [h] : []));
/** Numbers of heads, as words. */
const COUNTS = [
  "no",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
] as const;
const capital = (word: string) => word[0].toUpperCase() + word.slice(1);
/** The word that a head gives most. */
const favorite = ({ words, weights }: HeadsNumbers, head: number) => words[indexOfLargest(weights[head])];
/** How many heads give the word that is asked about the most. */
const finders = ({ weights, target }: HeadsNumbers) =>
  weights.filter((row) => indexOfLargest(row) === target).length;

/** Where the grid is. Four heads have space for rows of twice the height. */
function layout(wide: boolean, heads: number) {
  const g = wide ? { x: 78, y: 64, w: 44, h: 29, bar: 640 } : { x: 34, y: 34, w: 25, h: 17, bar: 340 };
  return heads < HEADS ? { ...g, h: 2 * g.h } : g;
}

/** The words above the columns. */
function words({ numbers: n, state, wide }: PageView): string {
  const g = layout(wide, n.weights.length);
  const limit = wide ? 7 : state.ownText === "" ? 5 : 4;
  const labels = n.words.map((word, j) => {
    const name = word.length > limit ? `${word.slice(0, wide ? 6 : 3)}…` : word;
    return text(g.x + (j + 0.5) * g.w, g.y - (wide ? 8 : 6), name, {
      class: `mid ${wide ? "s12" : "s10"} ${j === n.query ? "tq bold" : ""}`,
      ...squeezed(name, wide ? 12 : 10, g.w - 2),
    });
  });
  const title = wide
    ? `“${n.words[n.query]}” looks, in percent: each row is a head, press it to mute it`
    : `“${n.words[n.query]}” looks; each row is a head`;
  return (
    labels.join("") +
    text(wide ? g.x - 8 : 8, wide ? g.y - 34 : 10, title, { class: "second s12" }) +
    (wide ? text(g.bar, g.y - 8, "length of its output", { class: "second s12" }) : "")
  );
}

/** A row for each head: its weights, and in a wide picture the length of its output. */
function rows({ numbers: n, wide }: PageView): string {
  const g = layout(wide, n.weights.length);
  const grid = { x: g.x, width: g.w, height: g.h, labelFrom: wide ? 0.1 : 2 };
  const cells = n.weights.map((row, h) => {
    const [y, on] = [g.y + h * g.h, n.on[h] === 1];
    const [best, width] = [indexOfLargest(row), row.length * g.w];
    return (
      weightCells([row], { ...grid, y, ...(!on && { labelFrom: 2, color: () => "fhover" }) }) +
      text(g.x - 6, y + g.h / 2 + 4, wide ? `head ${h}` : String(h), {
        class: `end ${wide ? "s12" : "s11"} ${on ? "" : "third"}`,
      }) +
      // On top of what it names, so that its name is all that is read.
      pressable(
        `head:${h}`,
        `Head ${h}: most, ${percent(row[best])}, at ${n.words[best]}`,
        on,
        rect(0, y, g.x + width, y + g.h, { class: "hit" }),
      )
    );
  });
  // The same for every state of the common sentence; another sentence can have longer outputs.
  const scale = scaleOf({ domain: [0, Math.max(4.6, ...n.lengths)], range: [g.bar, g.bar + 184] });
  const outputs = barX({
    values: n.lengths.map((length, h) => (n.on[h] === 1 ? length : 0)),
    band: bandScale(n.lengths.length, [g.y, g.y + n.lengths.length * g.h], 12 / g.h),
    scale,
    attributes: { class: "fv" },
    label: (h) => (n.on[h] === 1 ? number(n.lengths[h]) : "muted"),
    labelAttributes: (h) => ({ class: `s11 mono ${n.on[h] === 1 ? "" : "third"}` }),
    labelGap: 5,
  });
  return named("weights", cells.join("")) + named("outputs", wide ? outputs : "");
}

/** The average of the rows, and in a wide picture what becomes of the outputs. */
function average({ numbers: n, wide }: PageView): string {
  const g = layout(wide, n.weights.length);
  const y = g.y + n.weights.length * g.h + (wide ? 12 : 6);
  const row = weightCells([n.average], { x: g.x, y, width: g.w, height: g.h, labelFrom: 0 });
  const name = text(g.x - 6, y + g.h / 2 + 4, wide ? "average" : "ave", {
    class: `end bold ${wide ? "s12" : "s11"}`,
  });
  if (!wide) return name + named("average", row);
  const [left, top] = [g.x, y + g.h + 23];
  const values = [n.averageOfOutputs, n.outputOfAverages];
  const band = bandScale(2, [top, top + 48], 10 / 24);
  const names = ["average of the outputs", "average weights × average values"];
  const bars = barX({
    values,
    band,
    scale: scaleOf({ domain: [0, Math.max(...values, 0.01)], range: [left + 260, left + 510] }),
    attributes: (i) => ({ class: i === 0 ? "fv" : "fv soft" }),
    label: (i) => `length ${number(values[i])}`,
    labelAttributes: { class: "s12 mono" },
  });
  return [
    name,
    named("average", row),
    line(left, top - 5, 840, top - 5, "lline"),
    ...names.map((title, i) => text(left, band.middle(i) + 4, title, { class: "s12" })),
    bars,
  ].join("");
}

const picture = (view: PageView): string => words(view) + rows(view) + (view.state.hide ? "" : average(view));

const fields: StateFields<Heads> = {
  on: numbers(ALL, integer(1, 0, 1), (length) => length === 0 || length === HEADS),
  groups: oneOf([12, 4, 1]),
  hide: toggle(true),
  ownText: ownSentence,
};

export const page = definePage<Heads, HeadsNumbers>({
  title: "Many heads",
  point:
    "A layer looks in many ways at the same time. Each head has its own shares and its own output. The average of all the shares describes none of the heads.",
  minutes: 7,
  needs: ["words", "steps"],
  fields,
  steps: [
    {
      title: ({ numbers: n }) => `${capital(COUNTS[n.weights.length])} at once`,
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>One head has one query for each word, so it can ask one question. Language needs many: what does a pronoun stand for? What does a verb act on? Where does the sentence begin?</p>
<p>So a layer has several heads side by side, each with its own queries, keys and values.${
        state.ownText === ""
          ? html` These are the twelve of the last layer of a trained model, all looking from “it”. Head ${n.finder} gives “cat” <b>${percent(n.weights[n.finder][n.target])}</b>. Head 9 looks at “${favorite(n, 9)}”, head 3 at “${favorite(n, 3)}”.`
          : html` This is your sentence, at most its first ten pieces, read by the small encoder that comes with heed. Its layers have ${COUNTS[n.weights.length]} heads each. All ${COUNTS[n.weights.length]} of one layer are here, looking from “${n.words[n.query]}”: head ${n.finder} gives “${n.words[n.target]}” <b>${percent(n.weights[n.finder][n.target])}</b>.`
      }</p>
<p><b>Press a row</b> to mute a head.</p>`,
    },
    {
      title: "The average",
      state: {},
      text: () =>
        html`<p>It is tempting to average the rows and call that “the attention” of the layer. Many pictures do.</p>`,
      predict: {
        question: ({ numbers: n }) =>
          `Head ${n.finder} gives “${n.words[n.target]}” ${percent(n.weights[n.finder][n.target])}. What does the average of all ${COUNTS[n.weights.length]} give it?`,
        min: 0,
        max: 100,
        step: 1,
        start: 40,
        unit: " %",
        show: { hide: false, on: ALL, groups: HEADS },
        mark: (guess, { numbers: n, wide }) => {
          const g = layout(wide, n.weights.length);
          const x = g.x + (n.target + 0.5) * g.w;
          const bottom = g.y + (n.weights.length + 1) * g.h + (wide ? 12 : 6);
          return guessText(clamp(x, 60, wide ? 800 : 315), bottom + 12, `${guess} %`, "mid");
        },
        result: ({ numbers: n }) =>
          html`It is <b>${percent(n.average[n.target])}</b>${n.target !== 0 ? html`; the start mark has ${percent(n.average[0])}` : ""}. Of ${COUNTS[n.weights.length]} heads, only ${finders(n) === 1 ? "one looks" : `${COUNTS[finders(n)]} look`} at “${n.words[n.target]}” most${indexOfLargest(n.average) !== n.target ? ", and the average hides it" : ""}.`,
      },
    },
    {
      title: "Heads pass on outputs, not weights",
      state: { hide: false },
      text: ({
        numbers: n,
      }) => html`<p>A head does not pass on its weights. It passes on its <em>output</em>: weights times values, 32 numbers. Average the outputs of the heads, and the result has length ${number(n.averageOfOutputs)}. Average the weights and the values first, then multiply: length ${number(n.outputOfAverages)}. The distance between the two is <b>${percent(n.apart)}</b> of the first length.</p>
<p>A product of averages is not an average of products. A head with sharp weights often has large values for just those words, and averaging first throws that away. Take number ${n.part.index + 1} of the outputs: “${n.words[n.target]}” adds ${number(n.part.printed[1])} to the average of the outputs, but average weight × average value is ${number(n.part.printed[2])}. The code below computes both.</p>`,
    },
    {
      title: "Side by side, then mixed",
      state: { on: FINDER, hide: false },
      text: ({
        numbers: n,
      }) => html`<p>A layer does not average outputs either. It concatenates them, ${n.weights.length} × ${WIDTH} = ${n.weights.length * WIDTH} numbers, and a learned matrix W<sup>o</sup> mixes them. It decides how much of which head goes where.</p>
<p class="formula"><math><mtext>concat</mtext><mo>(</mo><msub><mi>o</mi><mn>1</mn></msub><mo>,</mo><mo>…</mo><mo>,</mo><msub><mi>o</mi><mn>${n.weights.length}</mn></msub><mo>)</mo><msup><mi>W</mi><mi>o</mi></msup></math></p>
<p>They cost about as much as one head of ${n.weights.length * WIDTH} numbers: the same matrices, cut into pieces. The difference is ${COUNTS[n.weights.length]} rows of shares instead of one. ${headsOn(n.on).length === 1 ? html`Now only head ${headsOn(n.on)[0]} is on.` : ""}</p>`,
    },
    {
      title: "Sharing keys and values",
      state: { groups: 4, hide: false },
      about: ({ groups }) => groups < HEADS,
      text: ({
        numbers: n,
      }) => html`<p>A model that writes text keeps the keys and values of all words so far. With ${COUNTS[n.weights.length]} heads that is ${(n.weights.length * WIDTH * 2 * 2).toLocaleString("en-US")} bytes per word and layer in float16. Newer models let several query heads share one key head and one value head: <em>grouped-query</em> attention. With ${n.keyHeads} key ${n.keyHeads === 1 ? "head" : "heads"} it is <b>${n.cache.toLocaleString("en-US")}</b>.</p>
<p>This model was not trained for it, so most queries now meet keys that were trained for another head: the largest share of all heads is now ${percent(Math.max(...n.weights.flat()))}. A model trained that way from the start loses very little.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n }) =>
    `${n.weights.length} heads looking from “${n.words[n.query]}” at ${n.words.length} words; ${headsOn(n.on).length} of them are on. Their average gives “${n.words[n.target]}” ${percent(n.average[n.target])}.`,
  caption: ({ numbers: n, state }) => {
    const list = headsOn(n.on);
    if (state.hide)
      return html`${list
        .map((h) => [h, Math.max(...n.weights[h])] as const)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3)
        .map(
          ([h, share], i) =>
            html`${i > 0 ? ", " : "Sharpest: "}head ${h} gives ${percent(share)} to “${n.words[indexOfLargest(n.weights[h])]}”`,
        )}. What is their average?`;
    if (list.length === 0) return html`All heads are muted: nothing is passed on.`;
    const best = indexOfLargest(n.average);
    return html`${list.length === 1 ? html`Head ${list[0]} alone` : html`${list.length} heads on average`}: ${percent(n.average[best])} to “${n.words[best]}”${best !== n.target ? html`, ${percent(n.average[n.target])} to “${n.words[n.target]}”` : ""}. ${
      list.length === 1
        ? html`Averages of one head are that head’s own.`
        : html`The average of the outputs and average weights × average values are <b>${percent(n.apart)}</b> apart.`
    }`;
  },
  control: ({ numbers: n }) =>
    html`<button type="button" data-act="solo">Head ${n.finder} alone</button><button type="button" data-act="all">All</button>`,
  more: ({ state }) =>
    choice(
      "",
      [12, 4, 1].map((groups) => {
        const name = `${keyHeadsOf(groups, state.ownText)} key ${groups === 1 ? "head" : "heads"}`;
        return [groups, name] as const;
      }),
      state.groups,
      "groups",
    ),
  actions: {
    head: ({ numbers: n }, h) => ({
      hide: false,
      on: ALL.map((_, i) => (i === Number(h) ? 1 - n.on[i] : (n.on[i] ?? 1))),
    }),
    solo: () => ({ on: FINDER, hide: false }),
    all: () => ({ on: ALL, hide: false }),
    groups: (_, groups) => ({ groups: Number(groups) }),
  },
  sentence: (ownText) => ({ ...initialOf(fields), ownText }),
  carry: ({ ownText }) => ({ ownText }),
  code: {
    typescript: ({ numbers: n, state }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// What each head gives to ${target(n)}, number ${n.part.index + 1} of
// its value of ${target(n)}, and which heads are on.
const ${variable(state.ownText)} = [
${codeLines(n.part.weights.map(literal), 6, "  ")}];
const value = [
${codeLines(n.part.values.map(String), 6, "  ")}];
const on = Uint8Array.of(
${codeLines(n.on.map(String), 6, "  ")});

// An average is attention with equal scores.
const column = (x) =>
  tensor(Float64Array.from(x), [${n.on.length}, 1]);
const one = tensor(Float64Array.of(1), [1, 1]);
const zeros = column(Array(${n.on.length}).fill(0));
const attnMask = tensor(on, [1, ${n.on.length}], "bool");
const average = (x) =>
  scaledDotProductAttention(one, zeros, column(x),
    { attnMask }).output.at(0, 0);

// The average weight; the average of the outputs;
// the output of the averages.
const outputs =
  ${variable(state.ownText)}.map((weight, h) => weight * value[h]);
const show = (x) => console.log(x.toFixed(3));
show(average(${variable(state.ownText)}));
show(average(outputs));
show(average(${variable(state.ownText)}) * average(value));`,
    python: ({ numbers: n, state }) => `import numpy as np

# What each head gives to ${target(n)}, number ${n.part.index + 1} of
# its value of ${target(n)}, and which heads are on.
${variable(state.ownText)} = np.array([
${codeLines(n.part.weights.map(literal), 6, "    ")}])
value = np.array([
${codeLines(n.part.values.map(String), 6, "    ")}])
on = np.array([
${codeLines(n.on.map(String), 6, "    ")}]) == 1

def average(x):
    return x[on].mean() if on.any() else 0

# The average weight; the average of the outputs;
# the output of the averages.
outputs = ${variable(state.ownText)} * value
print(f"{average(${variable(state.ownText)}):.3f}")
print(f"{average(outputs):.3f}")
print(f"{average(${variable(state.ownText)}) * average(value):.3f}")`,
    printed: ({ numbers: n }) => n.part.printed.map((x) => x.toFixed(3)).join("\n"),
    highlight: ({ state }) =>
      state.hide
        ? [`(average(${variable(state.ownText)}));`, `{average(${variable(state.ownText)}):`]
        : ["average(outputs)"],
    names: { cat: "weights", word: "weights", average: "average", outputs: "outputs" },
  },
  table: ({ numbers: n }) => ({
    caption: `Shares of “${n.words[n.query]}” by head, ${n.keyHeads} key heads`,
    columns: ["head", ...n.words, "output"],
    rows: [
      ...n.weights.map((row, h) => [
        `${h}${n.on[h] === 1 ? "" : " (muted)"}`,
        ...row.map((weight) => Number(weight.toPrecision(3))),
        Number(n.lengths[h].toPrecision(3)),
      ]),
      [
        "average",
        ...n.average.map((weight) => Number(weight.toPrecision(3))),
        Number(n.averageOfOutputs.toPrecision(3)),
      ],
      [
        "average weights × average values",
        ...n.words.map(() => ""),
        Number(n.outputOfAverages.toPrecision(3)),
      ],
    ],
  }),
  tasks: [
    {
      text: "In the sentence about the cat, mute heads until the average gives “cat” more than the start mark, with at least three of the twelve heads still on.",
      done: ({ numbers: n, state }) =>
        state.ownText === "" &&
        state.groups === HEADS &&
        headsOn(n.on).length >= 3 &&
        n.average[n.target] > n.average[0],
    },
    {
      text: "Find a pair of heads for which the average of the outputs and average weights × average values are more than 60 % apart.",
      done: ({ numbers: n, state }) => state.groups === HEADS && headsOn(n.on).length === 2 && n.apart > 0.6,
    },
  ],
  recall: [
    [
      "Why is the average of the weights of all heads not “the attention of the layer”?",
      "Each head passes on its output: its weights times its values. A product of averages is not an average of products.",
    ],
    [
      "What do twelve small heads cost, compared with one large one?",
      "The same number of parameters and of multiplications. They are the same matrices cut into twelve, with twelve softmaxes instead of one.",
    ],
  ],
  limits:
    "That a head looks sharply at one word does not show that the model needs it: in many models most heads can be removed, one at a time, with little loss.",
  trained: {
    text: "See the twelve heads on the sentence about the cat in the explorer",
    address: "tired-cat.html#v1/head?l=5&h=11&i=8&j=2&at=8.2",
  },
});

/** The word of the listings: its name in quotes, and the variable of its shares. */
const target = ({ words, target }: HeadsNumbers) => JSON.stringify(words[target]);
const variable = (ownText: string) => (ownText === "" ? "cat" : "word");
