/** Many heads: twelve ways of looking from one word at once; what their average hides. */

import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import type { StateFields } from "../frame/fields.ts";
import { clamp, initialOf, integer, numbers, oneOf, ownSentence, toggle } from "../frame/fields.ts";
import { squeezed } from "../frame/fit.ts";
import { guessText, line, named, pressable, rect, weightCells } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { codeLines, indexOfLargest, literal, number, PIECES, percent } from "../frame/words.ts";
import { cutNote, OWN_MODEL, ownExplorer } from "../head/link.ts";
import type { Heads, HeadsNumbers } from "./compute.ts";
import { keyHeadsOf } from "./groups.ts";
import { mixed } from "./mixed.ts";

type PageView = LabView<Heads, HeadsNumbers>;

const HEADS = 12;
/** Numbers of a key or value. */
const WIDTH = 32;
const ALL = Array<number>(HEADS).fill(1);
/** The head with the link of the largest contrast, alone. */
const FINDER: readonly number[] = [];

const headsOn = (on: readonly number[]) => on.flatMap((one, h) => (one === 1 ? [h] : []));
/** Numbers of heads, as words. */
const COUNTS = /* text */ [
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
/** A word as it is named in sentences. */
const nameOf = ({ words }: HeadsNumbers, j: number) =>
  j === 0 || j === words.length - 1 ? `the ${words[j]} mark` : `“${words[j]}”`;
/** How many heads give the word that is asked about the most. */
const finders = ({ weights, target }: HeadsNumbers) =>
  weights.filter((row) => indexOfLargest(row) === target).length;

/** Where the grid is. Few words have wider columns, and four heads rows of twice the height. */
function layout(wide: boolean, { weights, words: { length } }: HeadsNumbers) {
  const g = wide
    ? { x: 78, y: 64, w: Math.min(72, 528 / length), h: 29, bar: 640 }
    : { x: 34, y: 34, w: Math.min(44, 310 / length), h: 17, bar: 340 };
  return weights.length < HEADS ? { ...g, h: 2 * g.h } : g;
}

/** The words above the columns. */
function words({ numbers: n, wide }: PageView): string {
  const g = layout(wide, n);
  const limit = Math.floor(g.w / 6);
  const labels = n.words.map((word, j) => {
    const name = word.length > limit ? `${word.slice(0, limit - 1)}…` : word;
    return text(g.x + (j + 0.5) * g.w, g.y - (wide ? 8 : 6), name, {
      class: `mid ${wide ? "s12" : "s10"} ${j === n.query ? "tq bold" : ""}`,
      ...squeezed(name, wide ? 12 : 10, g.w - 2),
    });
  });
  const title = wide
    ? `“${n.words[n.query]}” looks, in percent: each row is a head, press it to mute it`
    : `“${n.words[n.query]}” looks, in %; each row is a head`;
  return (
    labels.join("") +
    text(wide ? g.x - 8 : 8, wide ? g.y - 34 : 10, title, { class: "second s12" }) +
    (wide ? text(g.bar, g.y - 8, "length of its output", { class: "second s12" }) : "")
  );
}

/** A row for each head: its weights, and in a wide picture the length of its output. */
function rows({ numbers: n, wide }: PageView): string {
  const g = layout(wide, n);
  const grid = { x: g.x, width: g.w, height: g.h, labelFrom: 0.1 };
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
  const scale = scaleOf({ domain: [0, Math.max(3.2, ...n.lengths)], range: [g.bar, g.bar + 184] });
  const outputs = barX({
    values: n.lengths.map((length, h) => (n.on[h] === 1 ? length : 0)),
    band: bandScale(n.lengths.length, [g.y, g.y + n.lengths.length * g.h], 12 / g.h),
    scale,
    attributes: { class: "fv" },
    label: (h) => (n.on[h] === 1 ? number(n.lengths[h]) : /* text */ "muted"),
    labelAttributes: (h) => ({ class: `s11 mono ${n.on[h] === 1 ? "" : "third"}` }),
    labelGap: 5,
  });
  return named("weights", cells.join("")) + named("outputs", wide ? outputs : "");
}

/** The average of the rows, and in a wide picture what becomes of the outputs. */
function average({ numbers: n, wide }: PageView): string {
  const g = layout(wide, n);
  const y = g.y + n.weights.length * g.h + (wide ? 12 : 6);
  const row = weightCells([n.average], { x: g.x, y, width: g.w, height: g.h, labelFrom: 0 });
  const name = text(g.x - 6, y + g.h / 2 + 4, wide ? "average" : "avg", {
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

const picture = (view: PageView): string =>
  view.state.shown === "mixed"
    ? mixed(view)
    : words(view) + rows(view) + (view.state.hide ? "" : average(view));

const fields: StateFields<Heads> = {
  on: numbers(ALL, integer(1, 0, 1), (length) => length === 0 || length === HEADS),
  groups: oneOf([12, 4, 1]),
  hide: toggle(true),
  shown: oneOf(["weights", "mixed"]),
  ownText: ownSentence,
};

export const page = definePage<Heads, HeadsNumbers>({
  title: "Many heads",
  point:
    "A layer looks in many ways at the same time. Each head has its own shares and its own output. The average of all the shares describes none of the heads.",
  minutes: 7,
  needs: ["words", "steps"],
  common: "time flies like an arrow",
  fields,
  // What W^O makes is known of heads with keys of their own.
  check: (state) => (state.groups < HEADS ? { ...state, shown: "weights" } : state),
  steps: [
    {
      title: ({ numbers: n }) => `${capital(COUNTS[n.weights.length])} at once`,
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>One head has one query for each word, so it can ask one question. Language needs many: which meaning does a word have here? What is the word before it? Where does the sentence begin?</p>
<p>So a layer has several heads side by side, each with its own queries, keys and values.${
        state.ownText === ""
          ? html` These are the twelve of layer 0 of MiniLM, all looking from “flies” in the sentence of the first page. You know head ${n.finder}, which gives “time” <b>${percent(n.weights[n.finder][n.target])}</b>. Head 2 gives it ${percent(n.weights[2][n.target])}, for another reason: it looks at the word before, whatever that is. Head 11 gives ${percent(Math.max(...n.weights[11]))} to ${nameOf(n, indexOfLargest(n.weights[11]))}.`
          : html` This is your sentence, at most its first ten pieces, read by the small encoder that comes with heed. Its layers have ${COUNTS[n.weights.length]} heads each. All ${COUNTS[n.weights.length]} of one layer are here, looking from “${n.words[n.query]}”: head ${n.finder} gives ${nameOf(n, n.target)} <b>${percent(n.weights[n.finder][n.target])}</b>.`
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
        why: ({ state }) =>
          state.ownText !== ""
            ? []
            : [
                [33, 100, "You expected the others to look there, too. Most look elsewhere, or rest."],
                [0, 8, "One head alone makes 80 ÷ 12 ≈ 7 points of the average, and it is not alone."],
              ],
        show: { hide: false, on: ALL, groups: HEADS },
        mark: (guess, { numbers: n, state, wide }) => {
          if (state.shown === "mixed") return "";
          const g = layout(wide, n);
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
      state: { on: ALL, hide: false, shown: "mixed" },
      about: ({ shown }) => shown === "mixed",
      text: ({
        numbers: { mix, weights },
      }) => html`<p>A layer does not average outputs either. It concatenates them, ${weights.length} × ${WIDTH} = ${weights.length * WIDTH} numbers, and multiplies them by a learned matrix W<sup>O</sup>. Each number of the result is mixed from all of them.</p>
<p class="formula"><math><mtext>concat</mtext><mo>(</mo><msub><mi>o</mi><mn>1</mn></msub><mo>,</mo><mo>…</mo><mo>,</mo><msub><mi>o</mi><mn>${weights.length}</mn></msub><mo>)</mo><msup><mi>W</mi><mi>O</mi></msup><mo>=</mo><munder><mo>∑</mo><mi>h</mi></munder><msub><mi>o</mi><mi>h</mi></msub><msubsup><mi>W</mi><mi>h</mi><mi>O</mi></msubsup></math></p>
<p>The same result is a sum: each head adds a vector of its own, through its ${WIDTH} rows of W<sup>O</sup>. Head ${mix.largest[0]} makes <b>${percent(mix.parts[mix.largest[0]])}</b> of the sum, head ${mix.largest[1]} ${percent(mix.parts[mix.largest[1]])}; the cosine of these two vectors is ${number(mix.cosine)}. The layer adds the sum to the word’s own vector, whose length is ${number(mix.state)} here. <b>Mute a head</b> and see what is left.</p>
<p>${capital(COUNTS[weights.length])} heads cost about as much as one head of ${weights.length * WIDTH} numbers: the same matrices, cut into pieces. The difference is ${COUNTS[weights.length]} rows of shares instead of one.</p>`,
    },
    {
      title: "Sharing keys and values",
      state: { groups: 4, hide: false },
      about: ({ groups }) => groups < HEADS,
      text: ({
        numbers: n,
      }) => html`<p>A model that writes text keeps the keys and values of all words so far. With ${COUNTS[n.weights.length]} heads that is ${(n.weights.length * WIDTH * 2 * 2).toLocaleString("en-US")} bytes per word and layer in float16. Newer models let several query heads share one key head and one value head: <em>grouped-query</em> attention. With ${n.keyHeads} key ${n.keyHeads === 1 ? "head" : "heads"} it is <b>${n.cache.toLocaleString("en-US")}</b>.</p>
<p>This model was not trained for it, so most queries now meet keys that were trained for another head: the largest share of all heads is now ${percent(Math.max(...n.weights.flat()))}. Ainslie and others (2023) found that a model trained that way loses very little.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n, state }) =>
    state.shown === "mixed"
      ? `What ${headsOn(n.on).length} heads add to “${n.words[n.query]}” through W^O: a vector of length ${number(Math.hypot(...n.mix.sum))}, ${percent(n.mix.parts[n.mix.largest[0]])} of it from head ${n.mix.largest[0]}.`
      : `${n.weights.length} heads looking from “${n.words[n.query]}” at ${n.words.length} words; ${headsOn(n.on).length} of them are on. Their average gives “${n.words[n.target]}” ${percent(n.average[n.target])}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    const list = headsOn(n.on);
    if (state.hide)
      return html`${list
        .map((h) => [h, Math.max(...n.weights[h])] as const)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3)
        .map(
          ([h, share], i) =>
            html`${i > 0 ? ", " : "Sharpest: "}head ${h} gives ${percent(share)} to ${nameOf(n, indexOfLargest(n.weights[h]))}`,
        )}. What is their average? ${modelOf(view)}`;
    if (list.length === 0) return html`All heads are muted: nothing is passed on. ${modelOf(view)}`;
    if (state.shown === "mixed") {
      const [first] = n.mix.largest;
      return html`${list.length === 1 ? html`Head ${list[0]} adds` : html`${list.length} heads add`} a vector of length <b>${number(Math.hypot(...n.mix.sum))}</b> to “${n.words[n.query]}”${list.length === 1 ? "" : html`, ${percent(n.mix.parts[first])} of it from head ${first}`}. ${modelOf(view)}`;
    }
    const best = indexOfLargest(n.average);
    return html`${list.length === 1 ? html`Head ${list[0]} alone` : html`${list.length} heads on average`}: ${percent(n.average[best])} to ${nameOf(n, best)}${best !== n.target ? html`, ${percent(n.average[n.target])} to ${nameOf(n, n.target)}` : ""}. ${
      list.length === 1
        ? html`Averages of one head are that head’s own.`
        : html`The average of the outputs and average weights × average values are <b>${percent(n.apart)}</b> apart.`
    } ${modelOf(view)}`;
  },
  control: ({ numbers: n }) =>
    html`<button type="button" data-act="solo">Head ${n.finder} alone</button><button type="button" data-act="all">All</button>`,
  more: ({ state }) =>
    html`${choice(
      "",
      [
        ["weights", "weights"],
        ["mixed", "through Wᴼ"],
      ],
      state.shown,
      "shown",
    )}${choice(
      "",
      [12, 4, 1].map((groups) => {
        const name = `${keyHeadsOf(groups, state.ownText)} key ${groups === 1 ? "head" : "heads"}`;
        return [groups, name] as const;
      }),
      state.groups,
      "groups",
    )}`,
  actions: {
    // From the state, not from the heads of the picture, which may be those before the last press.
    head: ({ state, numbers: n }, h) => {
      const on =
        state.on.length > 0 ? state.on : ALL.map((_, i) => (i === n.finder || i >= n.on.length ? 1 : 0));
      return { hide: false, on: on.map((one, i) => (i === Number(h) ? 1 - one : one)) };
    },
    solo: () => ({ on: FINDER, hide: false }),
    all: () => ({ on: ALL, hide: false }),
    groups: (_, groups) => ({ groups: Number(groups) }),
    shown: (_, shown) => ({ shown, hide: false, groups: HEADS }),
  },
  sentence: (ownText) => ({ ...initialOf(fields), ownText }),
  carry: ({ ownText }) => ({ ownText }),
  code: {
    typescript: ({ numbers: n }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// What each head gives to ${target(n)}, number ${n.part.index + 1} of
// its value of ${target(n)}, and which heads are on.
const weights = [
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
  weights.map((weight, h) => weight * value[h]);
const show = (x) => console.log(x.toFixed(3));
show(average(weights));
show(average(outputs));
show(average(weights) * average(value));`,
    python: ({ numbers: n }) => `import numpy as np

# What each head gives to ${target(n)}, number ${n.part.index + 1} of
# its value of ${target(n)}, and which heads are on.
weights = np.array([
${codeLines(n.part.weights.map(literal), 6, "    ")}])
value = np.array([
${codeLines(n.part.values.map(String), 6, "    ")}])
on = np.array([
${codeLines(n.on.map(String), 6, "    ")}]) == 1

def average(x):
    return x[on].mean() if on.any() else 0

# The average weight; the average of the outputs;
# the output of the averages.
outputs = weights * value
print(f"{average(weights):.3f}")
print(f"{average(outputs):.3f}")
print(f"{average(weights) * average(value):.3f}")`,
    printed: ({ numbers: n }) => n.part.printed.map((x) => x.toFixed(3)).join("\n"),
    highlight: ({ state }) =>
      state.hide ? ["(average(weights));", "{average(weights):"] : ["average(outputs)"],
    names: { weights: "weights", average: "average", outputs: "outputs" },
  },
  table: ({ numbers: n, state }) =>
    state.shown === "mixed"
      ? mixTable(n)
      : {
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
        },
  tasks: [
    {
      text: "In “time flies like an arrow”, mute heads until the average gives “time” more than the start mark, with at least seven of the twelve heads still on.",
      reached: ({ numbers: n, state }) =>
        state.ownText === "" &&
        state.groups === HEADS &&
        n.average[n.target] > n.average[0] &&
        (headsOn(n.on).length >= 7 ||
          "“time” leads, with fewer than seven heads. Which of the muted ones rests less than the others?"),
    },
    {
      text: "Find a pair of heads for which the average of the outputs and average weights × average values are more than 60 % apart.",
      reached: ({ numbers: n, state }) =>
        state.groups === HEADS &&
        headsOn(n.on).length === 2 &&
        (n.apart > 1 || `This pair: ${percent(n.apart)}.`),
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
    text: "See the twelve heads in the explorer: flies looks at time",
    address: "time-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
  },
});

/** What each head adds, as a table. */
const mixTable = ({ mix, on }: HeadsNumbers) => ({
  caption: "What each head adds through W^O",
  columns: ["head", "length", "part of the sum"],
  rows: on.map((one, h) => [
    `${h}${one === 1 ? "" : " (muted)"}`,
    Number(mix.lengths[h].toPrecision(3)),
    Number(mix.parts[h].toPrecision(3)),
  ]),
});

/** The model and its layer; of the reader's own sentence with the link into the explorer. */
const modelOf = ({ numbers: { link }, state }: PageView) =>
  link === undefined
    ? html`MiniLM, layer 0.`
    : html`${OWN_MODEL}, layer ${link.layer}. ${ownExplorer(state.ownText, link, link.from, link.to, PIECES)}.${cutNote(link.cut, PIECES)}`;

/** The word of the listings, in quotes. */
const target = ({ words, target }: HeadsNumbers) => JSON.stringify(words[target]);
