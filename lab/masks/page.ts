/** Masks: which words a word may look at, and what happens to a row in which everything is masked. */
import { choice, clamp, clampInteger, menu } from "../frame/controls.ts";
import { squeezed, widthOf } from "../frame/fit.ts";
import { html } from "../frame/markup.ts";
import type { Page, View } from "../frame/page.ts";
import { guessLine, guessText, label, line, mark, named, textClass, weightClass } from "../frame/svg.ts";
import { codeLines, indexOfLargest, number, percent } from "../frame/words.ts";
import type { Masks, MasksNumbers } from "./compute.ts";
import { callOf, JOINS, joined, RECIPES, realOf, SIZE } from "./recipes.ts";

type PageView = View<Masks, MasksNumbers>;

/** The words that the page speaks of, “on” and “sat”; of a short sentence, the last word. */
const onOf = (own: string) => Math.min(4, realOf(own) - 2);
const satOf = (own: string) => Math.min(3, realOf(own) - 2);
const ON = onOf("");

/** Masks at hand, each as two that are joined. */
const CHOICES: Readonly<Record<string, readonly [string, string, string]>> = {
  none: ["none", "and", "none"],
  causal: ["causal", "and", "none"],
  padding: ["padding", "and", "none"],
  "causal + padding": ["causal", "and", "padding"],
  "window ± 2": ["window", "and", "none"],
};
const presetsOf = (own: string) =>
  Object.fromEntries(Object.entries(CHOICES).map(([name, choice]) => [name, joined(...choice, realOf(own))]));
const PRESETS = presetsOf("");

const wiped = (mask: readonly number[], row: number) =>
  mask.map((bit, at) => (Math.floor(at / SIZE) === row ? 0 : bit));

export const initial: Masks = {
  mask: PRESETS.causal,
  row: ON,
  column: 6,
  low: false,
  inverted: false,
  hide: false,
  show: "grid",
  first: "causal",
  join: "and",
  second: "none",
  own: "",
  guess1: -1,
  guess3: -1,
};

const sum = (shares: readonly number[]) => shares.reduce((a, b) => a + b, 0);
/** How many tokens are padding, as a word. */
const padsOf = (own: string) => COUNTS[SIZE - realOf(own)];
const COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"] as const;

/** A token in a narrow column. */
const short = (token: string, most: number) => (token.length > most ? `${token.slice(0, most - 1)}…` : token);

const sees = ({ state }: PageView, i: number, j: number) =>
  (state.mask[i * SIZE + j] === 1) !== state.inverted;
const isEmpty = (view: PageView, i: number) =>
  !Array.from({ length: SIZE }, (_, j) => sees(view, i, j)).some(Boolean);
const hidden = (view: PageView, i: number) =>
  Array.from({ length: SIZE }, (_, j) => j).filter((j) => !sees(view, i, j));

/** Where the grid is. */
const gridAt = (wide: boolean) => (wide ? { x: 72, y: 72, cell: 36 } : { x: 52, y: 34, cell: 26 });

function grid(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const { x, y, cell } = gridAt(wide);
  const parts: string[] = [
    label(
      x,
      y - (wide ? 46 : 22),
      wide ? "row: the word that looks · column: the word it looks at · in percent" : "rows look at columns",
      { class: "second s12" },
    ),
  ];
  const cells: string[] = [];
  for (let i = 0; i < SIZE; i++)
    for (let j = 0; j < SIZE; j++) {
      const [cx, cy] = [x + j * cell, y + i * cell];
      const weight = n.weights[i][j];
      cells.push(
        mark("rect", {
          x: cx + 0.5,
          y: cy + 0.5,
          width: cell - 1,
          height: cell - 1,
          class: sees(view, i, j) && !(state.hide && i === state.row) ? weightClass(weight) : "fhover",
        }),
      );
      if (!sees(view, i, j))
        cells.push(mark("path", { d: hatch(cx + 1, cy + 1, cell - 2), class: "hatched" }));
      else if (wide && weight >= 0.095 && !(state.hide && i === state.row))
        cells.push(
          label(cx + cell / 2, cy + cell / 2 + 4, (100 * weight).toFixed(0), {
            class: `mid s12 mono ${textClass(weight)}`,
          }),
        );
    }
  parts.push(
    mark(
      "g",
      {
        "data-drag": "paint:",
        "data-key": "paint:",
        "data-enter": "",
        tabindex: "0",
        role: "application",
        class: "drag free",
        "aria-label": `Mask of ${SIZE} by ${SIZE}. Arrow keys move, Enter changes. ${n.tokens[state.row]} looks at ${n.tokens[state.column]}: ${sees(view, state.row, state.column) ? percent(n.weights[state.row][state.column]) : "hidden"}`,
      },
      named("mask", named("weights", cells.join(""))) +
        mark("rect", {
          x: x + state.column * cell,
          y: y + state.row * cell,
          width: cell,
          height: cell,
          class: "none cursor",
        }) +
        mark("rect", { x, y, width: SIZE * cell, height: SIZE * cell, class: "hit" }),
    ),
    mark("rect", {
      x: x - 1,
      y: y + state.row * cell - 1,
      width: SIZE * cell + 2,
      height: cell + 2,
      class: "none lq",
    }),
  );
  for (const [i, token] of n.tokens.entries()) {
    const quiet = i === 0 || i >= realOf(state.own) - 1;
    parts.push(
      mark(
        "g",
        {
          "data-act": `row:${i}`,
          "data-key": `row:${i}`,
          tabindex: "0",
          role: "button",
          class: "press",
          "aria-label": `Show the row of ${token}`,
          "aria-pressed": String(i === state.row),
        },
        mark("rect", { x: 0, y: y + i * cell, width: x - 4, height: cell, class: "hit" }) +
          label(x - 8, y + i * cell + cell / 2 + 4, short(token, wide ? 8 : 6), {
            class: `end ${i === state.row ? "tq bold" : quiet ? "third" : ""}`,
            ...squeezed(short(token, wide ? 8 : 6), 13, x - 10),
          }),
      ),
      label(x + i * cell + cell / 2, y - 8, short(token, wide ? 5 : 4), {
        class: `mid ${wide ? "s12" : "s11"} ${quiet ? "third" : ""}`,
        ...squeezed(short(token, wide ? 5 : 4), wide ? 12 : 11, cell - 2),
      }),
    );
  }
  return parts.join("");
}

/** Slanted lines over a square. All but the corner is the same for every square of a size, which packs well. */
const hatch = (x: number, y: number, size: number) => {
  const path = [`M${x} ${y}`];
  let [x0, y0] = [0, 0];
  for (let d = 6; d < 2 * size; d += 6) {
    const [x1, y1] = d <= size ? [0, d] : [d - size, size];
    path.push(`m${x1 - x0} ${y1 - y0}l${y1 - x1} ${x1 - y1}`);
    [x0, y0] = [y1, x1];
  }
  return path.join("");
};

/** A number of a row: NaN is a word, 0 is 0. */
const shown = (weight: number) => (Number.isNaN(weight) ? "NaN" : percent(weight));

/** Where the three columns are. */
const answersAt = (wide: boolean) =>
  wide
    ? { left: 478, top: 72, width: 66, step: 126, row: 26 }
    : { left: 58, top: 52, width: 40, step: 104, row: 21 };
/** Baseline of the line below the columns. */
const footOf = (wide: boolean) => answersAt(wide).top + SIZE * answersAt(wide).row + 20;

function answers(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const columns = [
    ["the formula, −∞", n.formula, "formula"],
    ["−1e9 instead", n.finite, "finite"],
    ["heed", n.heed, "heed"],
  ] as const;
  const { left, top, width, step, row } = answersAt(wide);
  const parts: string[] = [
    label(wide ? left : 8, wide ? 26 : 14, `“${n.tokens[state.row]}” looks: three ways to hide`, {
      class: wide ? "s15 bold" : "bold",
    }),
  ];
  for (const [j, token] of n.tokens.entries()) {
    const y = top + j * row;
    const off = !sees(view, state.row, j);
    parts.push(
      label(left - 8, y + 14, short(token, wide ? 9 : 7), { class: `end ${off ? "third" : ""}` }),
      off
        ? line(left - 8 - 0.9 * widthOf(short(token, wide ? 9 : 7), 13), y + 10, left - 8, y + 10, "lthird")
        : "",
    );
  }
  for (const [c, [title, weights, name]] of columns.entries()) {
    const x = left + c * step;
    parts.push(
      label(x, top - 10, wide ? title : title.replace("the ", ""), { class: `${wide ? "s12" : "s11"} bold` }),
    );
    const bars: string[] = [];
    for (const [j, weight] of weights.entries()) {
      const y = top + j * row;
      const off = !sees(view, state.row, j);
      const leak = off && weight > 0;
      const bad = Number.isNaN(weight);
      if (state.hide) {
        bars.push(
          mark("rect", { x, y: y + 3, width, height: row - 8, class: "fhover" }),
          label(x + width + 4, y + 14, "?", { class: "s12 second" }),
        );
        continue;
      }
      bars.push(
        mark("rect", { x, y: y + 3, width, height: row - 8, class: "fhover" }),
        c === 2
          ? mark("rect", {
              x: x + 0.5,
              y: y + 3.5,
              width: Math.max(0, n.plain[state.row][j] * width - 1),
              height: row - 9,
              class: "none lthird dash",
            })
          : "",
        bad
          ? ""
          : mark("rect", {
              x,
              y: y + 3,
              width: Math.max(weight > 0 ? 1 : 0, weight * width),
              height: row - 8,
              class: leak ? "fb" : "fw",
            }),
        label(x + width + 4, y + 14, shown(weight), {
          class: `${wide ? "s12" : "s11"} mono ${leak || bad ? "tb bold" : weight > 0 ? "" : "third"}`,
        }),
      );
    }
    parts.push(named(name, bars.join("")));
  }
  const foot = footOf(wide);
  if (state.hide) return parts.join("");
  const outputs = [n.outputs.formula, n.outputs.finite, n.outputs.heed];
  parts.push(
    label(left - 8, foot, wide ? "output" : "out", { class: "end second s12" }),
    ...outputs.map((size, c) =>
      label(
        left + c * step,
        foot,
        Number.isNaN(size) ? "NaN" : size === 0 ? "all zeros" : `length ${number(size)}`,
        { class: `s12 ${Number.isNaN(size) ? "tb bold" : ""}` },
      ),
    ),
  );
  return parts.join("");
}

/** The chosen row of the bitmap, read by both kinds of interface. */
function polarity(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const [left, top] = wide ? [72, 462] : [8, 60];
  const cell = 36;
  const bits = state.mask.slice(state.row * SIZE, (state.row + 1) * SIZE);
  const parts: string[] = [
    label(left, top - 12, `the bits of “${n.tokens[state.row]}”:`, { class: "second s12" }),
  ];
  const [bx, by] = wide ? [left + 130, top - 26] : [left, top];
  for (const [j, bit] of bits.entries())
    parts.push(
      mark("rect", {
        x: bx + j * cell,
        y: by,
        width: cell - 2,
        height: 20,
        class: bit ? "fq soft" : "fhover",
      }),
      label(bx + j * cell + cell / 2 - 1, by + 14, bit ? "True" : "False", { class: "mid s11" }),
    );
  const readings = [
    [
      "True = may look",
      "PyTorch’s scaled_dot_product_attention, Keras, heed",
      (bit: number) => bit === 1,
      !state.inverted,
    ],
    [
      "True = is hidden",
      "PyTorch’s nn.MultiheadAttention, key_padding_mask",
      (bit: number) => bit === 0,
      state.inverted,
    ],
  ] as const;
  for (const [r, [title, who, keeps, chosen]] of readings.entries()) {
    const y = wide ? top + 16 + r * 30 : top + 60 + r * 84;
    parts.push(label(left, y, title, { class: `${chosen ? "bold" : "second"}` }));
    parts.push(label(wide ? left + 500 : left, wide ? y : y + 18, who, { class: "second s12" }));
    const x0 = wide ? left + 130 : left;
    const wy = wide ? y : y + 42;
    for (const [j, token] of n.tokens.entries()) {
      const x = x0 + j * cell + cell / 2 - 1;
      parts.push(label(x, wy, short(token, 5), { class: `mid s12 ${keeps(bits[j]) ? "" : "third"}` }));
      if (!keeps(bits[j])) parts.push(line(x - 14, wy - 4, x + 14, wy - 4, "lthird"));
    }
  }
  return named("polarity", parts.join(""));
}

const list = (words: readonly string[]) =>
  words.length === 0
    ? "nothing"
    : words
        .map((word) => `“${word}”`)
        .join(", ")
        .replace(/, ([^,]*)$/, " and $1");

export const page: Page<Masks, MasksNumbers> = {
  name: "masks",
  title: "Masks",
  point:
    "A mask says which words a word may look at. Hidden words get a share of exactly 0. If a row may look at nothing, programs give different answers.",
  initial,
  check: (state) => {
    const checked = {
      ...state,
      mask: state.mask.length === SIZE * SIZE ? state.mask.map((bit) => (bit === 1 ? 1 : 0)) : PRESETS.causal,
      row: clampInteger(state.row, 0, SIZE - 1),
      column: clampInteger(state.column, 0, SIZE - 1),
      show: ["grid", "row", "polarity"].includes(state.show) ? state.show : "grid",
      first: Object.hasOwn(RECIPES, state.first) ? state.first : "causal",
      join: (JOINS as readonly string[]).includes(state.join) ? state.join : "and",
      second: Object.hasOwn(RECIPES, state.second) ? state.second : "none",
      own: state.own.trim().slice(0, 120),
    };
    // A mask that is one of the presets has the preset's name in the menus.
    const preset = CHOICES[presetOf(checked)];
    if (preset === undefined || isRecipe(checked)) return checked;
    const [first, join, second] = preset;
    return { ...checked, first, join, second };
  },
  steps: [
    {
      title: "No looking ahead",
      state: ({ own }) => ({ row: onOf(own) }),
      text: ({ numbers: n, state }) => html`${
        state.own === ""
          ? html`<p>This head of a trained model looks ahead to the next noun: without a mask, “on” gives <b>${percent(n.plain[ON][6])}</b> of its attention to “mat”<span class="wide-only"> (the dashed outline under “heed”)</span>.</p>
<p>But a model that writes text has not written “mat” yet when it is at “on”.`
          : html`<p>Your sentence, read by the small encoder that comes with heed: as many pieces as it has words, at most ${SIZE - 4} (a dot marks a piece that continues a word), then padding up to ${SIZE} tokens. Without a mask, “${n.tokens[onOf(state.own)]}” gives <b>${percent(sum(n.plain[onOf(state.own)].slice(onOf(state.own) + 1)))}</b> of its attention to what comes after it<span class="wide-only"> (the dashed outlines under “heed”)</span>.</p>
<p>But a model that writes text has not written that yet when it is at “${n.tokens[onOf(state.own)]}”.`
      } So every word may look only at itself and at what came before it: the <em>causal</em> mask. Hatched cells are hidden.</p>
<p>The share of a hidden word is not just small. It is 0. The other shares have grown: shares add up to 100 %, so what the hidden words had went to “${n.tokens[onOf(state.own)]}” and the words before it.</p>
<p><b>Paint</b>: drag over the cells to hide or show them.</p>`,
    },
    {
      title: "Padding",
      state: ({ own }) => ({ mask: PRESETS.none, row: satOf(own), hide: true }),
      text: ({ state }) =>
        html`<p>All sentences of a batch must have the same length. Short ones are filled up with <em>pad</em>, a token without meaning. Here there are ${padsOf(state.own)} of them at the end, and no mask.</p>
<p>Masks can be combined. For a model that writes text and reads padded batches, use <code>and(causal(), keyLengths(${realOf(state.own)}))</code>: it allows what both masks allow. <code>or</code> allows what either allows. Once you have changed something, two menus are under the picture: choose two masks and see what they make together.</p>`,
      predict: {
        question: ({ state, numbers: n }) =>
          `“${n.tokens[satOf(state.own)]}” should ignore the ${padsOf(state.own)} pads. How much of its attention do they get together?`,
        min: 0,
        max: 100,
        step: 1,
        start: 0,
        unit: " %",
        show: ({ own }) => ({
          mask: PRESETS.none,
          row: satOf(own),
          show: "row",
          hide: false,
          inverted: false,
        }),
        mark: (guess, { state, wide }) => {
          // A bracket beside the rows of the pads.
          const { top, row } = answersAt(wide);
          const [from, to] = [top + realOf(state.own) * row + 3, top + SIZE * row - 5];
          const x = wide ? 840 : 352;
          return (
            line(x, from, x, to, "lk") +
            guessText(wide ? 850 : 367, wide ? footOf(wide) + 22 : 28, `${guess} % together`, "end")
          );
        },
        result: ({ state, numbers: n }) =>
          html`Without a mask they get <b>${percent(sum(n.plain[satOf(state.own)].slice(realOf(state.own))))}</b>. With the padding mask: 0. The result must not depend on how many pads were added, and without a mask it does.`,
      },
    },
    {
      title: "−∞, or just a very small number?",
      state: ({ own }) => ({ row: onOf(own), low: false, show: "row" }),
      text: (
        view,
      ) => html`<p>To hide a key, set its score to −∞ before softmax: <i>e</i><sup>−∞</sup> is exactly 0. Many programs write −1e9 instead, minus a billion, because <i>e</i> to the power of that is 0 as well.</p>
<p>Compare the first two columns: they are equal. Now <button type="button" data-act="low">${view.state.low ? "put the scores back" : "set the visible scores to −1e30"}</button>. ${view.state.low ? html`All visible scores are still finite, and equal. But −1e9 is now the <em>largest</em> number in the row: the hidden words get everything.` : ""}</p>
<p>In float16 there is no −1e9 at all. The lowest number is −65,504, and −1e9 becomes ${view.numbers.half === Number.NEGATIVE_INFINITY ? "−∞" : number(view.numbers.half)} by itself.</p>`,
    },
    {
      title: "A row that may look at nothing",
      state: ({ own }) => ({
        mask: wiped(PRESETS.causal, onOf(own)),
        row: onOf(own),
        show: "row",
        hide: true,
      }),
      text: ({ numbers: n, state }) =>
        html`<p>Hide every word from “${n.tokens[onOf(state.own)]}”. This happens in practice: a row of padding, a document of length 0, a window that ends too early. What should the answer be?</p>`,
      predict: {
        question: "With −1e9 for all ten words: what share does each hidden word get?",
        min: 0,
        max: 100,
        step: 1,
        start: 0,
        unit: " %",
        show: ({ own }) => ({
          mask: wiped(PRESETS.causal, onOf(own)),
          row: onOf(own),
          show: "row",
          hide: false,
          inverted: false,
          low: false,
        }),
        mark: (guess, { wide }) => {
          const { left, top, width, step, row } = answersAt(wide);
          const x = left + step + (guess / 100) * width;
          return guessLine(x, top, x, top + SIZE * row - 5, x, wide ? footOf(wide) + 22 : 28);
        },
        result: (view) =>
          html`Each gets <b>${shown(view.numbers.finite[0])}</b>. Ten equal scores, so ten equal shares: the output is <em>the mean of the words it must not see</em>, and it looks like any other number. The bare formula divides 0 by 0 and gives <b>${shown(view.numbers.formula[0])}</b>, which then spreads to everything computed from it. heed gives <b>0</b>: the output of a word that sees nothing is zeros.`,
      },
    },
    {
      title: "True means keep. Or drop.",
      state: ({ own }) => ({ row: onOf(own), show: "polarity" }),
      about: ({ mask }) => mask.join() === PRESETS.causal.join(),
      text: ({
        numbers: n,
        state,
      }) => html`<p>One library reads <code>True</code> as “may look”, another as “is hidden”, and PyTorch does both: its function one way, its module the other. No error appears when you mix them up: the causal mask is simply inverted.</p>
<p><button type="button" data-act="invert">${state.inverted ? "Read it as “may look” again" : "Read the same bits the other way"}</button></p>
${state.inverted && html`<p>“${n.tokens[state.row]}” now sees ${list(n.tokens.filter((_, j) => n.heed[j] > 0))}, and not itself. A model trained like this copies the next word instead of predicting it, and its loss is low for the wrong reason.</p>`}`,
    },
    {
      title: "After softmax is too late",
      state: ({ own }) => ({ row: onOf(own), show: "row" }),
      text: ({ numbers: n, state }) => {
        const on = onOf(state.own);
        const rest = n.plain[on].slice(0, on + 1).reduce((a, b) => a + b, 0);
        return html`<p>Why not compute the shares first and set the hidden ones to 0 afterwards? Because then the row of “${n.tokens[on]}” adds up to ${percent(rest)} and not to 100 %. The hidden words were still in the denominator of softmax. So the mask comes before softmax: score, scale, <b>mask</b>, softmax.</p>
<p class="formula"><math><mtext>softmax</mtext><mo>(</mo><mfrac><mrow><mi>Q</mi><msup><mi>K</mi><mo>⊤</mo></msup></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>+</mo><mi>M</mi><mo>)</mo><mi>V</mi><mo>,</mo><mspace width="1em"></mspace><msub><mi>M</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><mn>0</mn><mtext> or </mtext><mo>−</mo><mi>∞</mi></math></p>`;
      },
    },
  ],
  picture: (view) =>
    view.wide
      ? grid(view) + answers(view) + polarity(view)
      : view.state.show === "grid"
        ? grid(view)
        : view.state.show === "row"
          ? answers(view)
          : polarity(view),
  label: (view) =>
    `A mask of ${SIZE} by ${SIZE} cells, and the row of ${view.numbers.tokens[view.state.row]} computed in three ways. Hidden from it: ${list(hidden(view, view.state.row).map((j) => view.numbers.tokens[j]))}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    const word = n.tokens[state.row];
    if (state.hide)
      return html`“${word}” and the ten words. What does it give to each? Predict, then press Show.`;
    if (isEmpty(view, state.row))
      return html`“${word}” may look at nothing. The formula gives ${shown(n.formula[0])}, −1e9 gives ${shown(n.finite[0])} to every hidden word, heed gives 0.`;
    const best = indexOfLargest(n.heed);
    const off = hidden(view, state.row);
    const leaks = n.finite.reduce((sum, weight, j) => sum + (off.includes(j) ? weight : 0), 0);
    const moved = n.changed.filter(Boolean).length;
    return html`“${word}” gives the most, ${percent(n.heed[best])}, to “${n.tokens[best]}”. Hidden from it: ${off.length === 0 ? "nothing" : `${off.length} of ${SIZE}`}${leaks > 0.001 ? html`; with −1e9 the hidden ones get <b>${percent(leaks)}</b>` : ""}. The mask changes the output of ${moved === 0 ? "no row" : moved === SIZE ? "every row" : moved === 1 ? "one row" : `${moved} rows`}.`;
  },
  control: ({ state }) => html`<button type="button" data-act="wipe">Hide the whole row</button>
${choice(
  "show",
  [
    ["grid", "mask"],
    ["row", "row"],
    ["polarity", "bits"],
  ],
  state.show,
  "narrow-only",
)}`,
  more: ({ state }) => html`${choice(
    "preset",
    Object.keys(CHOICES).map((name) => [name, name] as const),
    presetOf(state),
  )}
<span class="recipe">${menu("first", recipeNames, state.first, "First mask")} ${menu(
    "join",
    JOINS.map((join) => [join, join] as const),
    state.join,
    "Joined by",
  )} ${menu("second", recipeNames, state.second, "Second mask")} <code>${isRecipe(state) ? callOf(state.first, state.join, state.second, realOf(state.own)) || "no mask" : "painted by hand"}</code></span>`,
  sentence: (own) => ({ ...initial, row: onOf(own), own }),
  carry: ({ own }) => ({ own }),
  actions: {
    row: (_, i) => ({ row: Number(i), hide: false }),
    wipe: ({ state }) => ({
      mask: state.inverted
        ? state.mask.map((bit, at) => (Math.floor(at / SIZE) === state.row ? 1 : bit))
        : wiped(state.mask, state.row),
      show: "row",
    }),
    preset: ({ state }, name) => recipe(state.own, ...CHOICES[name]),
    first: ({ state }, _, value) => recipe(state.own, value, state.join, state.second),
    join: ({ state }, _, value) => recipe(state.own, state.first, value, state.second),
    second: ({ state }, _, value) => recipe(state.own, state.first, state.join, value),
    low: ({ state }) => ({ low: !state.low, row: onOf(state.own) }),
    invert: ({ state }) => ({ inverted: !state.inverted }),
    show: (_, show) => ({ show }),
    paint: ({ state }) => ({
      mask: state.mask.map((bit, at) => (at === state.row * SIZE + state.column ? 1 - bit : bit)),
    }),
  },
  drags: {
    paint: {
      move: ({ state, wide }, _, point, gesture) => {
        const { x, y, cell } = gridAt(wide);
        const [row, column] = [point.y - y, point.x - x].map((d) => clamp(Math.floor(d / cell), 0, SIZE - 1));
        const at = row * SIZE + column;
        if (gesture.first) gesture.memo = 1 - state.mask[at];
        return {
          hide: false,
          row,
          column,
          mask: state.mask.map((bit, n) => (n === at ? (gesture.memo as number) : bit)),
        };
      },
      key: ({ state }, _, dx, dy) => ({
        column: state.column + Math.sign(dx),
        row: state.row - Math.sign(dy),
      }),
    },
  },
  code: {
    typescript: (view) => `import { scaledDotProductAttention,
  tensor } from "heed";
import { finiteMask, withoutMaximum } from
  "heed/reference";

// The scores of ${JSON.stringify(view.numbers.tokens[view.state.row])} before the mask, and
// which of the ten words it may look at.
const scores = Float64Array.of(
${codeLines(view.numbers.scores, 5, "  ")});
const see = Uint8Array.of(
  ${visibleKeys(view).map(Number).join(", ")});

const one = Float64Array.of(1);
const sizes = { Nq: 1, Nk: 10, dk: 1, dv: 1 };
const options =
  { scale: 1, allowed: (i, j) => see[j] === 1 };
const formula = withoutMaximum(
  one, scores, scores, sizes, options);
const finite = finiteMask(
  one, scores, scores, sizes, options);

const key = tensor(scores, [10, 1]);
const mask = tensor(see, [1, 10], "bool");
const heed = scaledDotProductAttention(
  tensor(one, [1, 1]), key, key,
  { scale: 1, attnMask: mask,
    returnWeights: true });

const text =
  (x) => (x !== x ? "nan" : x.toFixed(2));
const show = (row) =>
  console.log([...row].map(text).join(" "));
show(formula.weights);
show(finite.weights);
show(heed.weights.toFloat64());`,
    python: (view) => `import numpy as np

# The scores of ${JSON.stringify(view.numbers.tokens[view.state.row])} before the mask, and
# which of the ten words it may look at.
scores = np.array([
${codeLines(view.numbers.scores, 5, "    ")}])
see = np.array([${visibleKeys(view).map(Number).join(", ")}]) == 1

def divide(e):
    with np.errstate(invalid="ignore"):
        return e / e.sum()

masked = np.where(see, scores, -np.inf)
formula = divide(np.exp(masked))

masked = np.where(see, scores, -1e9)
finite = divide(np.exp(masked - masked.max()))

heed = np.zeros(10)
if see.any():
    top = scores[see].max()
    heed[see] = divide(np.exp(scores[see] - top))

for row in formula, finite, heed:
    print(" ".join(f"{x:.2f}" for x in row))`,
    printed: ({ numbers: { listing } }) =>
      listing.map((row) => row.map((x) => (Number.isNaN(x) ? "nan" : x.toFixed(2))).join(" ")).join("\n"),
    lit: (view) =>
      isEmpty(view, view.state.row) || view.state.low
        ? ["const finite", "finite = divide"]
        : view.state.show === "polarity"
          ? ["const see", "see = np.array"]
          : ["attnMask: mask", "heed[see] = divide"],
    names: { see: "mask", mask: "mask", formula: "formula", finite: "finite", heed: "heed" },
  },
  table: ({ numbers: n, state }) => ({
    caption: `Row of “${n.tokens[state.row]}”`,
    columns: ["word", "without a mask", "formula, −∞", "−1e9", "heed"],
    rows: n.tokens.map((token, j) => [
      token,
      ...[n.plain[state.row], n.formula, n.finite, n.heed].map((row) =>
        Number.isNaN(row[j]) ? "NaN" : Number(row[j].toPrecision(4)),
      ),
    ]),
  }),
  tasks: [
    {
      text: "Build the mask for a model that writes this text: causal, and no word looks at a pad, not even the pads themselves.",
      done: ({ state }) =>
        !state.inverted &&
        state.mask.every((bit, at) => bit === presetsOf(state.own)["causal + padding"][at]),
    },
    {
      text: "In the sentence about the cat, make the “the” before “mat” give “mat” more than 90 %.",
      done: ({ state, numbers: n }) => state.own === "" && n.weights[5][6] > 0.9,
    },
  ],
  recall: [
    [
      "Why is a large negative number not the same as −∞?",
      "It is a score like any other. It is higher than even lower scores, and if every score of a row is that number, softmax gives all words equal shares.",
    ],
    [
      "Why must the mask come before softmax?",
      "Because softmax divides by the sum over all words. Set to 0 afterwards, hidden words still count in that sum, and the row no longer adds up to 100 %.",
    ],
  ],
  limits:
    "A share of 0 says that this head in this layer did not read a word, not that the model does not know it: the word may reach it through another head or layer.",
  trained: {
    text: "See this head in the explorer, unmasked: “on” looks ahead to “mat”",
    address: "tired-cat.html#v1/head?l=1&h=7&i=4&j=6&at=4.6",
  },
};

/** A mask of two that are joined. */
const recipe = (own: string, first: string, join: string, second: string): Partial<Masks> => ({
  hide: false,
  mask: joined(first, join, second, realOf(own)),
  first,
  join,
  second,
  inverted: false,
  low: false,
});
const recipeNames = Object.entries(RECIPES).map(([name, { title }]) => [name, title] as const);
const isRecipe = ({ mask, first, join, second, own }: Masks) =>
  joined(first, join, second, realOf(own)).every((bit, at) => bit === mask[at]);

/** The preset that has the state's mask; "" if none has. */
const presetOf = ({ mask, own }: Masks) =>
  Object.entries(presetsOf(own)).find(([, preset]) => preset.join() === mask.join())?.[0] ?? "";

/** For each key, whether the chosen row may look at it. */
const visibleKeys = (view: PageView) => Array.from({ length: SIZE }, (_, j) => sees(view, view.state.row, j));
