/** Step by step: the formula on four words with whole numbers, one step at a time, with the arithmetic written out. */

import { check } from "../../ui/controls.ts";
import { html, type TemplateResult } from "../../ui/markup.ts";
import { integer, numbers, ownSentence, type StateFields, toggle } from "../frame/fields.ts";
import { guessText } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { percent } from "../frame/words.ts";
import type { Steps, StepsNumbers } from "./compute.ts";
import { flow, projected } from "./flow.ts";
import type { StepsView } from "./picture.ts";
import { cellsAt, D, fourWords, geometry, integerText, N, picture, STAGES, short } from "./picture.ts";

/** The products that add up to the chosen score. */
const products = ({ q, k, row, column }: Steps) =>
  Array.from(
    { length: D },
    (_, d) => `${integerText(q[row * D + d])} × ${integerText(k[column * D + d])}`,
  ).join(" + ");

function caption({ numbers: n, state }: StepsView): TemplateResult {
  const words = fourWords(state.ownText);
  const { row: i, column: j, stage } = state;
  const [a, b] = [html`<b class="q">“${words[i]}”</b>`, html`<b class="k">“${words[j]}”</b>`];
  const share = n.shares[i][j];
  switch (stage) {
    case 0:
      return html`The query of ${a} times the key of ${b}, number by number: ${products(state)} = <b>${short(n.dots[i][j])}</b>, their score.`;
    case 1:
      return html`Each score is divided by √2, because a list has two numbers: ${short(n.dots[i][j])} becomes ${short(n.scaled[i][j])}.`;
    case 2:
      return state.causal
        ? html`Later words are hidden: their scores are −∞.`
        : html`No mask here: every word may look at every word.`;
    case 3:
      return state.unsafe
        ? html`The maximum is not subtracted. Scores go into the exponential as they are, up to ${short(n.maxima[i])}.`
        : html`From every score of the row of ${a} its maximum, ${short(n.maxima[i])}, is subtracted. The largest is now 0.`;
    case 4:
      if (!Number.isFinite(n.exps[i][j]))
        return html`<i>e</i> to the power of each: too large for a floating-point number, so ∞.`;
      return state.unsafe
        ? html`<i>e</i> to the power of each score: the largest of the row is ${short(Math.max(...n.exps[i]))}.`
        : html`<i>e</i> to the power of each: no number is negative now, and the largest of a row is 1.`;
    case 5:
      return html`The row of ${a} adds up to ${short(n.sums[i])}.`;
    case 6:
      return Number.isNaN(share)
        ? html`∞ ÷ ∞ is not a number. The whole row is lost.`
        : html`Each is divided by the sum: ${a} gives ${percent(share)} of its attention to ${b}.`;
    default:
      return Number.isNaN(share)
        ? html`NaN spreads: the output is NaN too.`
        : html`The output of ${a} is the average of the values, by these shares: (${n.output[i].map(short).join(", ")}).`;
  }
}

const dragged = (name: "q" | "k" | "v" | "x" | "wq" | "wk" | "wv") => ({
  move: (
    { state }: StepsView,
    at: string,
    { y }: { y: number },
    gesture: { first: boolean; memo?: unknown },
  ) => {
    const index = Number(at);
    if (gesture.first) gesture.memo = { y, value: state[name][index] };
    const from = gesture.memo as { y: number; value: number };
    return {
      [name]: state[name].map((value, n) =>
        n === index ? from.value + Math.round((from.y - y) / 14) : value,
      ),
      ...focus(state, name, index),
    };
  },
  key: ({ state }: StepsView, at: string, dx: number, dy: number) => {
    const index = Number(at);
    return {
      [name]: state[name].map((value, n) => (n === index ? value + Math.sign(dx + dy) : value)),
      ...focus(state, name, index),
    };
  },
});

/** The row or column that a changed number is in becomes the chosen one. */
const focus = (_: Steps, name: string, index: number): Partial<Steps> =>
  name === "q" || name === "x"
    ? { row: Math.floor(index / D) }
    : name === "k"
      ? { column: Math.floor(index / D) }
      : {};

/** The numbers of a matrix. */
const cellsOf = (initial: readonly number[]) => numbers(initial, integer(0, -9, 9));

const list = (numbers: readonly number[], from: number, to: number) => numbers.slice(from, to).join(", ");
/** Rows of two numbers, as an array is written. */
const pairs = (numbers: readonly number[]) =>
  Array.from({ length: numbers.length / D }, (_, i) => `[${list(numbers, i * D, i * D + D)}]`).join(", ");

const fields: StateFields<Steps> = {
  q: cellsOf([1, 0, 0, 2, 1, 1, 3, 1]),
  k: cellsOf([3, 1, 0, 1, 1, 2, 1, 0]),
  v: cellsOf([4, 0, 0, 4, 2, 2, -2, 0]),
  x: cellsOf([2, 0, 0, 1, 1, 1, 0, 2]),
  wq: cellsOf([1, 0, 1, 1]),
  wk: cellsOf([-1, 2, -1, 1]),
  wv: cellsOf([1, 2, 2, -1]),
  flow: toggle(),
  stage: integer(0, 0, 7),
  row: integer(3, 0, N - 1),
  column: integer(0, 0, N - 1),
  causal: toggle(),
  big: toggle(),
  unsafe: toggle(),
  ownText: ownSentence,
};

export const page = definePage<Steps, StepsNumbers>({
  title: "Step by step",
  point:
    "The formula in eight small steps, on four words. You can change every number and see where each one comes from.",
  minutes: 8,
  needs: ["arrows"],
  fields,
  // In the flow, queries, keys and values are what X and the matrices make.
  check: (state) => (state.flow ? { ...state, ...projected(state), big: false, unsafe: false } : state),
  steps: [
    {
      title: "A score for every pair",
      state: {},
      text: () => html`<p>Four words. Each has a query, a vector of two numbers (a row of <b class="q">Q</b>) and a key of two numbers (a column of <b class="k">K<sup>T</sup></b>). Where the row of one word meets the column of another, there is their score: multiply number by number, and add up.</p>
<p>All sixteen at once are one matrix product, Q·K<sup>T</sup>. Press any cell; its arithmetic is written below.</p>
<p class="formula"><math><mtext>softmax</mtext><mo>(</mo><mfrac><mrow><mi>Q</mi><msup><mi>K</mi><mo>⊤</mo></msup></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>)</mo><mi>V</mi></math></p>`,
    },
    {
      title: "From scores to shares",
      // The scores that the question names; later steps would answer it.
      state: { stage: 0 },
      text: ({
        state,
      }) => html`<p>Scores can be anything. Shares must be positive and add up to 100 %. The exponential makes everything positive, and dividing by the sum of the row makes the row add up to 100 %.</p>
<p>Subtracting the maximum changes no share, since <i>e</i><sup>s − m</sup> = <i>e</i><sup>s</sup> ÷ <i>e</i><sup>m</sup> and the factor cancels. You will see below what it is for.${state.unsafe ? " It is left out now." : ""}</p>`,
      predict: {
        question: ({ state }) =>
          `“${fourWords(state.ownText)[3]}” has the scores 10, 1, 5 and 3 before the division by √2. What share will the 10 get?`,
        min: 0,
        max: 100,
        step: 1,
        start: 50,
        unit: " %",
        why: [
          [48, 58, "You divided 10 by 19, as if shares were proportions of scores."],
          [0, 47, "That is less than its part of the sum. A higher score always gets more than its part."],
          [
            59,
            88,
            "The exponential is stronger than that: after ÷ √2 the 10 is 3.5 above the 5, and e^3.5 is 34.",
          ],
        ],
        show: {
          stage: 6,
          q: fields.q.initial,
          k: fields.k.initial,
          row: 3,
          column: 0,
          causal: false,
          big: false,
          unsafe: false,
        },
        mark: (guess, { wide }) => {
          const { h, sx, sy } = geometry(wide);
          return wide
            ? guessText(834, 480, `${guess} %`, "end")
            : guessText(sx, sy + N * h + 34, `${guess} %`);
        },
        result: ({ numbers: n }) =>
          html`Its share is <b>${percent(n.shares[3][0])}</b>. 10 is 53 % of the sum 19, but softmax depends on differences, not on proportions. Move the slider under the picture back, and from step to step.`,
      },
    },
    {
      title: "An average of values",
      state: { stage: 7 },
      text: () => html`<p>Each word has a third list, its value: a row of <b class="v">V</b>. The output of a word is the sum of all values, each times its share. A row of shares times a column of values is the same kind of product as at the start.</p>
<p>Change a number of V by dragging it up or down. Scores and shares stay as they are: values do not change where a word looks.</p>`,
    },
    {
      title: "With a mask",
      state: { stage: 6, causal: true, row: 1 },
      about: ({ causal }) => causal,
      text: ({ numbers: n }) =>
        html`<p>A causal mask sets the scores of later words to −∞. <i>e</i><sup>−∞</sup> is 0, and the shares of the other words add up to 100 % again: the second word now gives ${percent(n.shares[1][0])} to the first. The first word can only look at itself.</p>`,
    },
    {
      title: "Why − max",
      state: { stage: 4, big: true, unsafe: true },
      about: ({ big }) => big,
      text: ({
        state,
      }) => html`<p>Add 1,000 to every score. That changes no difference, so it should change no share. But <i>e</i><sup>1000</sup> is too large for a floating-point number: it becomes ∞, and ∞ ÷ ∞ is NaN. Move the slider to “share”${state.unsafe ? ": the whole row is NaN" : " with and without the subtraction"}.</p>
<p><button type="button" data-act="unsafe">${state.unsafe ? "Subtract the maximum" : "Leave the subtraction out"}</button></p>
<p>${state.unsafe ? "With the subtraction the largest exponent is 0, whatever the scores." : "Now the largest exponent is 0, and the shares are what they were without the 1,000."} Every serious implementation does this, and so does heed.</p>`,
    },
    {
      title: "All of it, as a flow",
      state: { flow: true, stage: 7 },
      about: ({ flow }) => flow,
      text: ({ state, numbers: n }) => {
        const words = fourWords(state.ownText);
        return html`<p>Where do queries, keys and values come from? A word comes in as a row of <b>X</b>. Three matrices, the same for all words, make the rest: <b class="q">Q = X·W<sup>q</sup></b>, <b class="k">K = X·W<sup>k</sup></b>, <b class="v">V = X·W<sup>v</sup></b>. Then come the steps above, a box for each: product, scale, mask, softmax, product. Of all this, training changes only the matrices (and X, which is a table of numbers for each word).</p>
<p>Drag a number of X, and follow it through the boxes. It changes one row of Q, K and V; so a row <em>and</em> a column of the scores; so the output of every word that looks there. “${words[state.row]}” gives ${percent(n.shares[state.row][state.column])} to “${words[state.column]}”.</p>`;
      },
    },
  ],
  picture: (view) => (view.state.flow ? flow(view) : picture(view)),
  label: (view) =>
    `Matrices of four words at the stop “${STAGES[view.state.stage]}”. ${fourWords(view.state.ownText)[view.state.row]} and ${fourWords(view.state.ownText)[view.state.column]}: ${short(cellsAt(view.numbers, view.state.stage)[view.state.row][view.state.column])}.`,
  caption,
  control: ({ state }) =>
    html`<label>step <input type="range" min="0" max="7" step="1" value="${state.stage}" data-act="stage" aria-label="Step" aria-valuetext="${STAGES[state.stage]}"><output>${STAGES[state.stage]}</output></label>`,
  more: ({ state }) =>
    html`${check("mask", state.causal, "causal")}${state.flow ? "" : html`${check("+ 1000", state.big, "big", "roomy")}${check("− max", !state.unsafe, "safe", "roomy")}`}`,
  actions: {
    cell: (_, at) => {
      const [row, column] = at.split(",").map(Number);
      return { row, column };
    },
    safe: (_, __, value) => ({ unsafe: value !== "1" }),
    unsafe: ({ state }) => ({ unsafe: !state.unsafe, stage: Math.max(4, state.stage) }),
  },
  drags: Object.fromEntries(
    (["q", "k", "v", "x", "wq", "wk", "wv"] as const).map((name) => [name, dragged(name)]),
  ),
  sentence: (ownText) => ({ ownText }),
  carry: ({ ownText }) => ({ ownText }),
  code: {
    typescript: ({ state }) => {
      const { q, k, v, causal, big, unsafe } = state;
      const sums = unsafe
        ? `const e = exp(${causal ? "masked" : "scores"});`
        : `const top = max(${causal ? "masked" : "scores"}, 1, keep);
const e = exp(sub(${causal ? "masked" : "scores"}, top));`;
      const names = ["divide", "exp", "matmul", ...(unsafe ? [] : ["max", "sub"]), "sum"];
      const more = causal ? ["tril", "where"] : [];
      return `import { ${causal ? "ones, " : ""}tensor${big ? "" : ",\n  scaledDotProductAttention"} } from "heed";
import { ${[...(big ? ["add"] : []), ...names].join(", ")}${more.length > 0 ? `,\n  ${more.join(", ")}` : ""} }
  from "heed/nn";

${
  state.flow
    ? `const x = tensor([${pairs(state.x)}],
  "float64");
const wq = tensor([${pairs(state.wq)}], "float64");
const wk = tensor([${pairs(state.wk)}], "float64");
const wv = tensor([${pairs(state.wv)}], "float64");
const [q, k, v] = [wq, wk, wv]
  .map((w) => matmul(x, w));`
    : `const q = tensor([${pairs(q)}],
  "float64");
const k = tensor([${pairs(k)}],
  "float64");
const v = tensor([${pairs(v)}],
  "float64");`
}
const keep = { keepAxis: true };

const dots = matmul(q, k.transpose());
${big ? "const divided = divide(dots, Math.sqrt(2));\nconst scores = add(divided, 1000);" : "const scores = divide(dots, Math.sqrt(2));"}
${causal ? "const attend = tril(ones([4, 4]));\nconst masked = where(attend, scores, -Infinity);\n" : ""}${sums}
const sums = sum(e, 1, keep);
const shares = divide(e, sums);
const output = matmul(shares, v);
${
  big
    ? ""
    : `
// The same in one call.
const once = scaledDotProductAttention(
  q, k, v${causal ? ", { isCausal: true }" : ""});
`
}
const text =
  (x) => (x !== x ? "nan" : x.toFixed(3));
for (const t of [shares, ${big ? "output" : "once.output"}])
  for (const row of t.toArray())
    console.log(row.map(text).join(" "));`;
    },
    python: ({ state, state: { q, k, v, causal, big, unsafe } }) => `import numpy as np

${
  state.flow
    ? `X = np.array([${pairs(state.x)}])
Wq = np.array([${pairs(state.wq)}])
Wk = np.array([${pairs(state.wk)}])
Wv = np.array([${pairs(state.wv)}])

Q, K, V = X @ Wq, X @ Wk, X @ Wv`
    : `Q = np.array(
    [${list(q, 0, 8)}])
K = np.array(
    [${list(k, 0, 8)}])
V = np.array(
    [${list(v, 0, 8)}])

Q, K, V = (x.reshape(4, 2) for x in (Q, K, V))`
}

np.seterr(over="ignore", invalid="ignore")
scores = Q @ K.T
scores = scores / np.sqrt(2)${big ? " + 1000" : ""}
${causal ? "later = np.triu(np.ones((4, 4)), 1) == 1\nscores = np.where(later, -np.inf, scores)\n" : ""}${unsafe ? "" : "scores = scores - scores.max(1, keepdims=True)\n"}e = np.exp(scores)
sums = e.sum(1, keepdims=True)
shares = e / sums
output = shares @ V

for row in [*shares, *output]:
    print(" ".join(f"{x:.3f}" for x in row))`,
    printed: ({ numbers: n }) =>
      [...n.shares, ...n.output]
        .map((row) =>
          row.map((x) => (Number.isNaN(x) ? "nan" : x.toFixed(3).replace(/^-0\.000$/, "-0.000"))).join(" "),
        )
        .join("\n"),
    highlight: ({ state: { stage, causal, unsafe } }) =>
      [
        ["matmul(q, k", "Q @ K.T"],
        ["Math.sqrt(2)", "np.sqrt(2)"],
        // A step that is left out has no line: the one that it would change is marked.
        causal ? ["where(", "np.where"] : ["Math.sqrt(2)", "np.sqrt(2)"],
        unsafe ? ["exp("] : ["max(", "scores.max"],
        ["exp("],
        ["sum(e", "e.sum"],
        ["divide(e", "e / sums"],
        ["matmul(shares", "shares @ V"],
      ][stage],
    names: {
      ...Object.fromEntries(
        ["x", "wq", "wk", "wv"].flatMap((name) => [
          [name, name],
          [`${name[0].toUpperCase()}${name.slice(1)}`, name],
        ]),
      ),
      Q: "q",
      K: "k",
      V: "v",
      q: "q",
      k: "k",
      v: "v",
      scores: "scores",
      e: "scores",
      sums: "sums",
      shares: "shares",
      weights: "shares",
      output: "output",
      dots: "scores",
      masked: "scores",
      once: "output",
    },
  },
  table: ({ numbers: n, state }) => {
    const words = fourWords(state.ownText);
    const cell = (value: number) => (Number.isFinite(value) ? Number(value.toPrecision(4)) : short(value));
    return {
      caption: `Row of “${words[state.row]}”`,
      columns: ["word", ...STAGES.slice(0, 5), "share", "value"],
      rows: [
        ...words.map((word, j) => [
          word,
          ...[n.dots, n.scaled, n.masked, n.shifted, n.exps, n.shares].map((m) => cell(m[state.row][j])),
          state.v.slice(j * D, j * D + D).join(", "),
        ]),
        ["sum", "", "", "", "", cell(n.sums[state.row]), "", ""],
        ["output", "", "", "", "", "", "", n.output[state.row].map((x) => String(cell(x))).join(", ")],
      ],
    };
  },
  tasks: [
    {
      text: "Change one number of Q or K so that the second word looks most at the fourth.",
      reached: ({ numbers: n, state }) => {
        const first = [...fields.q.initial, ...fields.k.initial];
        const changed = [...state.q, ...state.k].filter((value, i) => value !== first[i]).length;
        const [, [a, b, c, d]] = n.shares;
        if (d > Math.max(a, b, c))
          return (
            changed === 1 || "It looks there, but more than one number was changed. Reset, and find the one."
          );
        return state.row === 1 && d > 0.25 && "The fourth has gained. Another word still has more.";
      },
    },
    {
      text: "Make the second word look at all four words equally by changing only its query.",
      reached: ({ numbers: n, state }) => {
        const [, second] = n.shares;
        const isPlain = state.k.join() === fields.k.initial.join();
        if (isPlain && second.every((share) => Math.abs(share - 0.25) < 1e-9)) return true;
        if (!(Math.max(...second) - Math.min(...second) < 0.2)) return false;
        return isPlain
          ? "Nearly. Which query makes every score the same, whatever the keys are?"
          : "Keys were changed, too. Reset, and change only its query.";
      },
    },
  ],
  recall: [
    [
      "Which of Q, K and V decide where a word looks, and which decides what it gets?",
      "Q and K make the scores, and so the shares: where it looks. V holds what is averaged: what it gets.",
    ],
    [
      "Why is it safe to subtract the maximum of a row from all its scores?",
      "Softmax depends only on differences. The factor e^(−max) is in every exponential and in their sum, so it cancels.",
    ],
  ],
  limits:
    "These numbers were chosen by hand, so the page shows how attention computes, and nothing about what a trained model looks at.",
  trained: {
    text: "See the same steps for one cell of a trained model",
    address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2",
  },
});
