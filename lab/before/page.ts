/** Before transformers: a recurrent network learns where to look while one watches. */

import { element, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { menu } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, oneOf, shortText } from "../frame/fields.ts";
import { axisOf, guessLine, line, named, pressable, rect, weightCells } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { count, indexOfLargest, number, percent, superscript } from "../frame/words.ts";
import type { Before, BeforeNumbers } from "./compute.ts";
import { pacePlot } from "./draw-pace.ts";
import { reach, reachAt } from "./draw-reach.ts";
import { isWord, LONGEST, PACE_WORDS, paceOperations, WORD } from "./letters.ts";
import { code, frameOf, type PageView, WORDS } from "./listing.ts";

const N = 6;
const STEPS = 120;

/** Where the grid is: its corner, and the side of a cell. */
const gridAt = (wide: boolean) => (wide ? [96, 76, 54] : [52, 50, 36]);

function alignment(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const frame = frameOf(view);
  const [x, y, cell] = gridAt(wide);
  const large = wide ? "s22" : "s18";
  const rows = Array.from({ length: N }, (_, i) => {
    const isRight = frame.wrote[i] === n.word[N - 1 - i];
    return pressable(
      `row:${i}`,
      `Letter ${i + 1} written: ${frame.wrote[i]}`,
      i === state.row,
      rect(x - cell, y + i * cell, x - 4, y + (i + 1) * cell, { class: "hit" }) +
        text(x - 14, y + (i + 0.5) * cell + 7, frame.wrote[i] ?? "", {
          class: `end mono ${large} ${isRight ? "tq bold" : "tb"}`,
        }),
    );
  });
  const weights = Array.from({ length: N }, (_, i) =>
    Array.from({ length: N }, (_, j) => frame.weights[i]?.[j] ?? 0),
  );
  const grid = { x, y, width: cell, height: cell, labelFrom: 0.05, label: wide ? "s12" : "s11" };
  return [
    text(x, y - (wide ? 42 : 34), wide ? "it reads →" : "reads →", { class: "tk bold s12" }),
    text(wide ? x - 84 : 8, y - 10, wide ? "it writes ↓" : "writes", { class: "tq bold s12" }),
    text(wide ? x : x + 64, wide ? y + N * cell + 20 : y - 34, "bold: the right letter", {
      class: `tq ${wide ? "s12" : "s11"}`,
    }),
    ...Array.from(n.word, (letter, j) =>
      text(x + (j + 0.5) * cell, y - 10, letter, { class: `mid tk mono ${large}` }),
    ),
    ...rows,
    named("weights", weightCells(weights, grid)),
    rect(x, y + state.row * cell, x + N * cell, y + (state.row + 1) * cell, { class: "none lq" }),
  ].join("");
}

/** The loss, a dot a step, on an axis that never changes. */
function loss(
  { numbers: n, state, wide }: PageView,
  [x0, x1, y0, y1]: readonly [number, number, number, number],
): string {
  const x = scaleOf({ domain: [0, STEPS], range: [x0, x1] });
  const y = scaleOf({ domain: [0, 2.5], range: [y1, y0], clamp: true });
  const chance = y(Math.log(9));
  const title = wide ? "loss: surprise at the right letter, in nats" : "loss, in nats";
  return [
    text(x0 - (wide ? 0 : 12), y0 - 12, title, { class: `second ${wide ? "s12" : "s11"}` }),
    axisOf("bottom", x, y1, wide ? [0, 60, 120] : [0, 120], { gap: 15 }),
    axisOf("left", y, x0, [0, 1, 2]),
    line(x0, chance, x1, chance, "lline dash"),
    text(x1 - 5, chance - 5, "guessing", { class: "end third s11" }),
    // Earlier throws, so that one curve is not taken for all.
    ...n.earlier.map((losses) =>
      lineMark(
        losses.map((value, i) => [x(i + 1), y(value)]),
        { class: "lthird thin" },
      ),
    ),
    named(
      "loss",
      lineMark(
        n.losses.map((value, i) => [x(i + 1), Math.round(y(value))]),
        { class: "link" },
      ),
    ),
    line(x(state.at), y0, x(state.at), y1, "lb"),
  ].join("");
}

/** The decoder's state before each letter, the query, as strips of colors; a narrow picture has the chosen letter's only. */
function states(view: PageView): string {
  const { state, wide } = view;
  const [x0, y0, width, height] = wide ? [500, 310, 320, 15] : [8, 286, 352, 11];
  const frame = frameOf(view);
  const cell = width / Math.max(1, frame.states[0]?.length ?? 0);
  const shown = wide ? [...frame.states.keys()] : [state.row];
  // Cells of one color and opacity are one path.
  const paths = new Map<string, string>();
  for (const [at, i] of shown.entries())
    for (const [d, value] of (frame.states[i] ?? []).entries()) {
      const key = `${value < 0 ? "fthird" : "fq"} ${Math.min(1, Math.abs(value)).toFixed(1)}`;
      const cellAt = `M${x0 + d * cell} ${y0 + at * 18}h${cell - 0.5}v${height}h-${cell - 0.5}`;
      paths.set(key, `${paths.get(key) ?? ""}${cellAt}`);
    }
  const strips = Array.from(paths, ([key, d]) => {
    const [color, opacity] = key.split(" ");
    return element("path", { d, class: color, "fill-opacity": opacity });
  });
  const chosen = y0 + state.row * 18 - 1;
  if (wide)
    strips.push(element("rect", { x: x0 - 1, y: chosen, width: width + 1, height: 17, class: "none lq" }));
  const small = wide ? "s12" : "s11";
  const [above, below, row] = wide ? [x0, x0 + 56, y0 + N * 18 + 14] : [274, 322, y0 - 5];
  return (
    text(
      x0,
      y0 - (wide ? 12 : 5),
      wide
        ? "the decoder’s state before each letter: the query"
        : `the query: the state before letter ${state.row + 1}`,
      { class: `second ${small}` },
    ) +
    text(above, row, "above 0", { class: `tq ${small}` }) +
    text(below, row, "below 0", { class: `second ${small}` }) +
    named("states", strips.join(""))
  );
}

/** Letters whose largest share is on the letter that they write. */
const lookingRight = (view: PageView) =>
  frameOf(view).weights.filter((row, i) => indexOfLargest(row) === N - 1 - i).length;

/** A share of the gradient as a power of ten with one digit before it: 4·10⁻⁸. */
const tiny = (share: number) => {
  const power = Math.floor(Math.log10(share));
  return power >= -3 ? percent(share) : `${(share / 10 ** power).toFixed(0)}·10${superscript(power)}`;
};

const [LONG, OPERATIONS] = [LONGEST.toLocaleString("en-US"), paceOperations(LONGEST)];

/** What the race measured on the longest text; nothing before it. */
function measured({ pace }: BeforeNumbers) {
  const [recurrent, attention] = [pace?.recurrent.at(-1) ?? Number.NaN, pace?.attention.at(-1) ?? Number.NaN];
  return Number.isNaN(recurrent)
    ? ""
    : html`the recurrent network takes ${number(recurrent)} ms and attention <b>${number(attention)} ms</b>`;
}

/** Says it where a later step is wrong again after an earlier one was right. */
function unsteady({ numbers: n }: PageView) {
  const right = n.frames.map(({ wrote }) => wrote === [...n.word].reverse().join(""));
  const first = right.indexOf(true);
  const wrong = first < 0 ? -1 : right.indexOf(false, first);
  const again = wrong < 0 ? -1 : right.indexOf(true, wrong);
  if (wrong < 0) return "";
  return ` Training is not steady: all six letters are right at step ${n.frames[first].step}, not at step ${n.frames[wrong].step}${again < 0 ? "" : `, and right again at step ${n.frames[again].step}`}.`;
}

const DEVICES = [
  ["cpu", "the CPU"],
  ["gpu", "the GPU"],
] as const;

/** What trains: the reader's choice, and in words what does. */
const deviceControl = ({ device }: Before, numbers: BeforeNumbers) =>
  html`<label>compute on ${menu("", DEVICES, device as "cpu", "device")}</label><span class="small" role="status">${numbers.device}</span>`;

export const page = definePage<Before, BeforeNumbers>({
  title: "Before transformers",
  point:
    "Attention was invented for networks that read and write one step at a time. Here such a network learns where to look, in seconds, while you watch.",
  minutes: 8,
  needs: ["words"],
  fields: {
    steps: { ...integer(0, 0, STEPS), accept: (steps) => (steps > 0 ? STEPS : 0) },
    at: integer(0, 0, STEPS),
    row: integer(0, 0, N - 1),
    seed,
    reach: integer(0, 0, 2),
    pace: integer(0, 0, 99),
    device: oneOf(["cpu", "gpu"]),
    word: shortText(12, WORD),
  },
  check: (state) => ({ ...state, at: Math.min(state.at, state.steps) }),
  steps: [
    {
      title: "A network that forgets",
      state: {},
      about: ({ steps, at }) => steps === 0 || at === 0,
      text: (
        view,
      ) => html`<p>In 2014 a translator was two recurrent networks. One read the sentence word by word and kept what it had read in a list of numbers, its state. The other wrote the translation from that list alone. Long sentences did not fit into it.</p>
<p>Bahdanau, Cho and Bengio let the writing network <em>look back</em> at all words that were read, before each word it writes. Where it looks is a row of shares. They called it alignment. Today we call it attention.</p>
<p>Here is one that should write six letters backwards. It has ${view.numbers.parameters.toLocaleString("en-US")} parameters, all random: it writes “${frameOf(view).wrote}”, and every letter looks everywhere.</p>`,
    },
    {
      title: "Train it",
      state: {},
      text: () =>
        html`<p>Training shows it 32 random words at a time, computes the loss (how improbable the right letters were to it), and changes every number a little so that the loss falls. That is one step. 120 of them take a few seconds in this page.</p>`,
      predict: {
        question: "After 120 steps, what share does the first letter written give to the last letter read?",
        min: 0,
        max: 100,
        step: 1,
        start: 20,
        unit: " %",
        why: (view) =>
          view.numbers.losses.length < STEPS
            ? []
            : [
                [
                  0,
                  25,
                  "One in six would be looking everywhere. Without looking there it cannot write the last letter read.",
                ],
                [
                  26,
                  Math.floor(100 * (frameOf(view).weights[0]?.[N - 1] ?? 0)) - 6,
                  "More: a share on other letters mixes them into what it writes, and the loss counts that.",
                ],
              ],
        show: { steps: STEPS, at: STEPS, row: 0 },
        mark: (guess, { wide }) => {
          const [x, y, cell] = gridAt(wide);
          const [right, middle] = [x + N * cell + 5, y + cell / 2];
          const name = "bold s11 halo";
          return (
            text(right, middle - 3, "your guess", { class: name }) +
            text(right, middle + 11, `${guess} %`, { class: name })
          );
        },
        result: (view) => {
          const weight = frameOf(view).weights[0]?.[N - 1] ?? 0;
          return view.numbers.losses.length < STEPS
            ? html`It is training now: step ${view.numbers.losses.length} of ${STEPS}.`
            : html`It is <b>${percent(weight)}</b>. It writes “${frameOf(view).wrote}”. No rule says that backwards means from right to left: looking there lowered its loss.`;
        },
      },
    },
    {
      title: "From even weights to a diagonal",
      state: { steps: STEPS, at: STEPS },
      text: (
        view,
      ) => html`<p>Drag the slider back. At first all shares are nearly equal. Then strong cells line up from the upper right to the lower left.</p>
<p>At step ${frameOf(view).step} it writes “${frameOf(view).wrote}” and the loss is ${Number.isNaN(frameOf(view).loss) ? "that of guessing" : number(frameOf(view).loss)}. ${lookingRight(view) === N ? "Every letter gives the most to the letter that it writes." : `${lookingRight(view)} of the six letters give the most to the letter that they write. The state of a neighbor has read that letter, too, so looking beside it can be enough.`}${unsteady(view)}</p>
<p><b>Throw again</b>: other parameters, and other words to train on. Earlier losses stay as thin lines.</p>`,
    },
    {
      title: "The state is the query",
      state: { steps: STEPS, at: STEPS, row: 2 },
      text: () => html`<p>What asks here is the writing network’s own state: a query that holds what was written so far. The keys are the states of the reading network, one for each letter. The score is not a product yet but a small network of its own:</p>
<p class="formula"><math><mi>s</mi><mo>(</mo><mi>q</mi><mo>,</mo><mi>k</mi><mo>)</mo><mo>=</mo><msup><mi>w</mi><mo>⊤</mo></msup><mi>tanh</mi><mo>(</mo><msup><mi>W</mi><mi>q</mi></msup><mi>q</mi><mo>+</mo><msup><mi>W</mi><mi>k</mi></msup><mi>k</mi><mo>)</mo></math></p>
<p>Then softmax, then an average, as on the other pages. Press a letter on the left to see its row and the state that asked.</p>
<p>The letters written look at the letters read, which is another text: this is <em>cross-attention</em>. When both are the same sentence, as on the other pages, it is self-attention.</p>`,
    },
    {
      title: "The same, without the recurrence",
      state: { pace: 1 },
      about: ({ pace }) => pace > 0,
      text: ({
        numbers,
      }) => html`<p>The recurrence was the slow part: word ${LONG} waits for the ${(LONGEST - 1).toLocaleString("en-US")} before it. In 2017 it was left out. Every word makes its own query from itself and its position, and all rows can be computed at the same time. What is left is attention: hence the title of that paper, “Attention Is All You Need”.</p>
<p>Press <b>Race</b>: both, untrained, read texts of ${PACE_WORDS[0]} to ${LONG} words. ${measured(numbers) && html`At ${LONG} words ${measured(numbers)}. `}There attention has ${number(OPERATIONS.attention / OPERATIONS.recurrent, 2)} times as many operations, but in a few large products. The recurrent network has ${LONG} small ones, and each needs the result of the one before.</p>
<p>This page computes on one thread. Many cores or a GPU can share a large product, and not a chain of small ones. But the work of attention grows with n², that of the recurrent network with n.</p>`,
    },
    {
      title: "How far back?",
      state: { reach: 1 },
      about: ({ reach }) => reach > 0,
      text: ({ numbers: { reach } }) =>
        html`<p>A network learns from gradients: how much would the last output change if a word changed? Take ${WORDS} random words, and a recurrent network and an attention layer before any training. The purple curve is each word’s share in that gradient through attention. The first word has ${reach === undefined ? "" : tiny(reach.attention.middle[0])}. The band has the smallest and the largest of eight draws.</p>
<p>Through attention the first word is one step from the last. Through the recurrent network it is ${WORDS - 1} steps away, each after the other, and each lets only a part pass.</p>`,
      predict: {
        question: `Through the recurrent network, what share of the gradient has the first of ${WORDS} words?`,
        min: 0,
        max: 8,
        step: 1,
        start: 2,
        unit: "",
        formatGuess: (guess) => (guess === 0 ? "all of it" : `10${superscript(-guess)}`),
        why: [
          [0, 1, "Attention gives it 3 %. The nearest words have nearly all."],
          [2, 5, "Less: a part of a part, thirty-one times. The share falls by a factor with every step."],
        ],
        show: { reach: 2 },
        mark: (guess, { wide }) => {
          const { x0, y } = reachAt(wide);
          return guessLine(x0, y(-guess), x0 + 24, y(-guess), x0 + 64, y(-guess) + 4);
        },
        result: ({ numbers: { reach } }) =>
          reach === undefined
            ? html`It is being computed.`
            : html`It is <b>${tiny(reach.recurrent.middle[0])}</b>, and the last word has ${percent(reach.recurrent.middle[WORDS - 1])}. Training cannot find a word that is not in the gradient. Gates that are held open help, and must be learned through this gradient, too.`,
      },
    },
  ],
  picture: (view) =>
    view.numbers.reach !== undefined
      ? reach(view.numbers.reach, view.wide, view.state.reach === 2)
      : view.numbers.pace !== undefined
        ? pacePlot(view.numbers.pace, view.wide)
        : alignment(view) +
          (view.wide ? loss(view, [500, 800, 60, 220]) : loss(view, [302, 362, 142, 214])) +
          states(view),
  label: (view) =>
    view.numbers.reach !== undefined
      ? `The share of ${WORDS} words in the gradient of the last output; the first has ${tiny(view.numbers.reach.attention.middle[0])} through attention${view.state.reach === 2 ? ` and ${tiny(view.numbers.reach.recurrent.middle[0])} through the recurrent network` : ""}.`
      : view.numbers.pace !== undefined
        ? "Milliseconds of both, for texts of four lengths."
        : `Alignment at step ${frameOf(view).step}: ${[...frameOf(view).wrote].map((letter, i) => `${letter} looks at letter ${indexOfLargest(frameOf(view).weights[i]) + 1} with ${percent(Math.max(...frameOf(view).weights[i]))}`).join(", ")}.`,
  caption: (view) => {
    const { reach } = view.numbers;
    if (reach !== undefined)
      return html`The first of ${WORDS} words has ${tiny(reach.attention.middle[0])} of the gradient through attention${view.state.reach === 2 ? html`, and <b>${tiny(reach.recurrent.middle[0])}</b> through the recurrent network (${tiny(reach.recurrent.low[0])} to ${tiny(reach.recurrent.high[0])} in eight draws)` : ""}. Before training; seeds ${view.state.seed} to ${view.state.seed + 7}.`;
    if (view.numbers.pace !== undefined)
      return html`${LONG} words: ${measured(view.numbers) || `${LONG} steps one after the other, or all words at once`}. Operations: ${count(OPERATIONS.recurrent)} and ${count(OPERATIONS.attention)}.`;
    const frame = frameOf(view);
    const row = frame.weights[view.state.row] ?? [1];
    return html`${isWord(view.state.word) ? "" : html`<b>“${view.state.word}” is not six letters from a to h</b>, so the network reads “${view.numbers.word}” instead. `}${view.state.steps > view.numbers.losses.length ? html`<b>Training: step ${view.numbers.losses.length} of ${STEPS}.</b> The slider and the word work when it ends. ` : ""}Step ${frame.step}: it reads “${view.numbers.word}” and writes “${frame.wrote}”${frame.wrote === [...view.numbers.word].reverse().join("") ? ", which is right" : ""}. Letter ${view.state.row + 1} gives the most, ${percent(Math.max(...row))}, to “${view.numbers.word[indexOfLargest(row)]}”.`;
  },
  control: ({ state, numbers: n }) =>
    state.reach > 0
      ? throwControl(state.seed)
      : state.pace > 0
        ? html`<button type="button" data-act="race">Race</button>`
        : state.steps === 0
          ? html`<button type="button" data-act="train">Train, ${STEPS} steps</button>${deviceControl(state, n)}`
          : html`<label>step <input type="range" min="0" max="${STEPS}" step="8" value="${Math.min(state.at, Math.floor(n.losses.length / 8) * 8)}" data-act="at" aria-label="Step of training" ?disabled=${n.losses.length < STEPS}><output>${Math.min(state.at, n.losses.length)}</output></label>${throwControl(state.seed)}`,
  more: ({ state, numbers: n }) =>
    state.steps > 0 && state.reach + state.pace === 0
      ? html`${deviceControl(state, n)}<label>word <input type="text" size="8" maxlength="6" value="${state.word}" data-act="word" aria-label="Six letters, a to h" autocomplete="off" spellcheck="false" ?disabled=${n.losses.length < STEPS}> six letters, a to h</label>`
      : undefined,
  carry: ({ seed, device }) => ({ seed, device }),
  actions: {
    throw: throwAgain,
    race: ({ state }) => ({ pace: state.pace > 98 ? 2 : state.pace + 1 }),
    train: () => ({ steps: STEPS, at: STEPS }),
  },
  code,
  table: (view) => {
    const { reach } = view.numbers;
    if (reach !== undefined)
      return {
        caption: "Share in the gradient of the last output, the middle of eight draws",
        columns: ["word", "attention", ...(view.state.reach === 2 ? ["recurrent network"] : [])],
        rows: reach.attention.middle.map((share, i) => [
          i + 1,
          ...[share, ...(view.state.reach === 2 ? [reach.recurrent.middle[i]] : [])].map((one) =>
            Number(one.toPrecision(3)),
          ),
        ]),
      };
    const { pace } = view.numbers;
    if (pace !== undefined)
      return {
        caption: "Two layers, one thread",
        columns: /* text */ [
          "words",
          "ms, recurrent",
          "ms, attention",
          "operations, recurrent",
          "operations, attention",
        ],
        rows: PACE_WORDS.map((n, i) => [
          n,
          ...[pace.recurrent[i], pace.attention[i]].map((ms) =>
            Number.isNaN(ms) ? "not raced" : Number(ms.toPrecision(3)),
          ),
          ...Object.values(paceOperations(n)),
        ]),
      };
    const frame = frameOf(view);
    return {
      caption: `Alignment at step ${frame.step}: rows are letters written`,
      columns: ["", ...[...view.numbers.word].map((letter, j) => `${letter} (${j + 1})`)],
      rows: frame.weights.map((row, i) => [
        `${frame.wrote[i]} (${i + 1})`,
        ...row.map((weight) => Number(weight.toPrecision(3))),
      ]),
    };
  },
  tasks: [
    {
      text: "Train it, then find the first step at which all six letters are right.",
      reached: ({ state, numbers: n }) => {
        const first = n.frames.find(({ wrote }) => wrote === [...n.word].reverse().join(""))?.step;
        if (state.at === 0) return false;
        if (first === state.at && state.word === n.word) return true;
        if (n.losses.length < STEPS) return false;
        if (first === undefined) return "It is right at no step with this word. Try another.";
        return state.at > first ? "There is an earlier one." : "Not yet right.";
      },
    },
    {
      text: "Give the trained network a word of at least three different letters, two of them the same and beside each other. Does it tell the two apart? Either answer is one.",
      reached: ({ state, numbers: { word, losses } }) => {
        if (losses.length < STEPS) return false;
        const letters = new Set(word).size;
        if (!/(.)\1/.test(word))
          return letters < word.length && "Two are the same, but not beside each other.";
        return (
          (letters >= 3 && state.at === STEPS) || "Now at least three different letters, and the last step."
        );
      },
    },
  ],
  recall: [
    [
      "What was too small in the networks before attention?",
      "The one state between reading and writing. A whole sentence had to fit into it, however long.",
    ],
    [
      "What are query, keys and values in this network?",
      "The query is the state of the decoder before it writes. Keys and values are the states of the encoder at each letter read.",
    ],
  ],
  limits:
    "Some seeds give a network that looks beside the letter that it writes, whose neighbor has read it, too: an alignment shows where a network looks, and not all that it uses.",
  trained: {
    text: "See attention of a model without recurrence, all rows at once",
    address: "tired-cat.html#v1/head?l=3&h=1",
  },
});
