/** Shapes: boxes to scale whose edges can be pulled. Boxes that share an edge stretch together; those that do not fit are refused. */

import { element, text } from "../../src/view/plot/svg.ts";
import { check, choice } from "../../ui/controls.ts";
import { html, type TemplateResult } from "../../ui/markup.ts";
import { guessText } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import type { Shapes, ShapesNumbers } from "./compute.ts";
import { call } from "./draw-call.ts";
import { layer } from "./draw-layer.ts";
import { askedRow, cellMark, translation } from "./draw-translation.ts";
import { code } from "./listing.ts";
import { changed, drags } from "./pull.ts";
import {
  callAt,
  cells,
  fields,
  guessSide,
  LARGEST_GUESS,
  LONG,
  numberOf,
  TRANSLATION,
  tuple,
  WRONG_NAMES,
} from "./sizes.ts";

/** The English words of the translator's sentence. */
const ENGLISH = "today the man has not seen the old dog".split(" ");

/** What is shown, and its button. */
const VIEW_NAMES = [
  ["call", "one call"],
  ["layer", "a layer"],
] as const;

export const page = definePage<Shapes, ShapesNumbers>({
  title: "Shapes",
  point:
    "Two boxes can be multiplied if they share an edge. If you know the edges, you know every shape, its cost, and where a program breaks.",
  minutes: 7,
  needs: ["steps", "heads"],
  fields,
  // Words that look at themselves are as many keys as queries.
  check: (state) =>
    state.view === "translation"
      ? { ...state, ...TRANSLATION }
      : state.self
        ? { ...state, m: state.n }
        : state,
  steps: [
    {
      title: "Many sentences at once",
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>A <em>shape</em> says how many numbers an array has along each edge. ${tuple(n.query)} is ${numberOf(state.b, "sentence", "sentences")}, ${numberOf(state.n, "word", "words")} in each, and ${numberOf(state.dk, "number", "numbers")} for each word.</p>
<p>Every box is drawn to scale, and each sentence is one card of the stack. <b class="q">Q</b> has a row for each word that looks. <b class="k">K</b> is transposed, Kᵀ, so that it has a column for each word that is looked at. Where a row meets a column is a cell of <b class="w">S</b>: ${state.dk} products, added up to one score.</p>
<p>Then each row of S becomes shares, and shares × <b class="v">V</b> give the output, a row for each row of Q.</p>
<p>The letters: n words look, m words are looked at, a query and a key have d<sub>k</sub> numbers, a value d<sub>v</sub>. <b>Pull an edge</b> by its handle. Every box that shares it stretches.</p>`,
    },
    {
      title: "What grows with the sentence",
      state: {},
      text: () =>
        html`<p>S has a row <em>and</em> a column for every word. The other boxes have words along one edge only. So what happens when sentences get longer?</p>`,
      predict: {
        question: "Sentences of 40 words instead of 10: how many times as many numbers are in S?",
        min: 1,
        max: LARGEST_GUESS,
        step: 1,
        start: 4,
        unit: " times",
        why: [
          [
            2,
            7,
            "Queries grow 4 times, and so do keys. S has a cell for every pair, so both factors count: 4 · 4.",
          ],
          [1, 1, "S has a row for each query and a column for each key: it cannot stay as it is."],
          [25, 40, "Too many: the words grow 4 times along two edges, which is 4 · 4."],
        ],
        formatGuess: (guess) => numberOf(guess, "time", "times"),
        show: { n: LONG, m: LONG, view: "call", wrong: "" },
        mark: (guess, { wide }) => {
          const { u, sLeft: x, row: y } = callAt(wide);
          const length = guessSide(guess, u);
          return (
            element("rect", { x, y, width: length, height: length, class: "none link dash" }) +
            // Below the largest, so that no guess crosses a label.
            text(x + 20 * u, y + guessSide(LARGEST_GUESS, u) + (wide ? 15 : 14), "dashed: your guess", {
              class: "mid bold s11",
            })
          );
        },
        result: ({ numbers: n, state }) =>
          html`With 10 words it was ${state.b * state.h} · 10 · 10 = ${(state.b * state.h * 100).toLocaleString("en-US")}. Now it is ${state.b * state.h} · ${state.n} · ${state.m} = <b>${cells(n.weights).toLocaleString("en-US")}</b>, ${Number((cells(n.weights) / (state.b * state.h * 100)).toFixed(1))} times as many. Q, K, V and the output only grew ${state.n / 10} times. This square is the reason for the next page.`,
      },
    },
    {
      title: "Looking at something else",
      state: { self: false, n: 4, m: 16, dv: 96 },
      about: ({ self, wrong }) => !self && wrong === "",
      text: ({
        state,
      }) => html`<p>The words that look need not be the words that are looked at: the ${state.n} words that a translator has written so far look at the ${state.m} words of the other language. That is <em>cross-attention</em>. And values may have a length of their own, here ${state.dv}.</p>
<p>Which edges must agree? Pull each and see what follows it:</p>
<p class="formula"><math><munder><mi>Q</mi><mrow><mi>n</mi><mo>×</mo><msub><mi>d</mi><mi>k</mi></msub></mrow></munder><mo>·</mo><munder><msup><mi>K</mi><mo>⊤</mo></msup><mrow><msub><mi>d</mi><mi>k</mi></msub><mo>×</mo><mi>m</mi></mrow></munder><mo>=</mo><munder><mi>S</mi><mrow><mi>n</mi><mo>×</mo><mi>m</mi></mrow></munder><mspace width="1em"></mspace><munder><mi>S</mi><mrow><mi>n</mi><mo>×</mo><mi>m</mi></mrow></munder><mo>·</mo><munder><mi>V</mi><mrow><mi>m</mi><mo>×</mo><msub><mi>d</mi><mi>v</mi></msub></mrow></munder><mo>=</mo><munder><mi>O</mi><mrow><mi>n</mi><mo>×</mo><msub><mi>d</mi><mi>v</mi></msub></mrow></munder></math></p>
<p>In a product the two inner sizes must be equal, and they disappear. The outer ones stay: queries give the output its rows, values its columns.</p>
<p>A small translator comes with heed. It reads “today the man has not seen the old dog” and writes “heute hat der Mann den alten Hund nicht gesehen”: word for word, today has the man the old dog not seen.</p>`,
      predict: {
        question:
          "The row of “Hund” (dog) has just read that word and helps to write the next one. Which English word does it look at, counted from 1?",
        min: 1,
        max: ENGLISH.length,
        step: 1,
        start: 1,
        unit: "",
        why: [
          [9, 9, "“dog” is the word that was just read. The row needs the one that comes next."],
          [6, 6, "“seen” comes last in German, after “nicht” (not)."],
          [1, 4, "That word was written earlier in the German sentence. After “Hund” comes “nicht” (not)."],
          [7, 8, "That word was written just before “Hund”. After “Hund” comes “nicht” (not)."],
        ],
        formatGuess: (guess) => `${guess}: ${ENGLISH[guess - 1]}`,
        show: { view: "translation" },
        mark: (guess, { wide }) => cellMark(Math.max(1, guess) - 1, wide),
        result: (view) =>
          html`${askedRow(view)}: “nicht” comes next. The row of “heute” looks ahead at “has”, because the verb is second in German, and “seen” waits until the end. Nobody wrote these rules down for it: this is layer 1, head 0, after training.`,
      },
    },
    {
      title: "A product that does not fit",
      state: { wrong: "key", kd: 48 },
      about: ({ wrong, kd, dk, dv, m }) => (wrong === "key" && kd !== dk) || (wrong === "value" && dv !== m),
      text: ({ state }) => html`<p>${
        state.wrong === "value"
          ? html`Here V is transposed: it has a row for each of the ${numberOf(state.dv, "number", "numbers")} of a value, and S has a column for each of the ${numberOf(state.m, "word", "words")}.`
          : html`Here keys have ${numberOf(state.kd, "number", "numbers")} and queries ${state.dk}.`
      } A row and a column of different lengths cannot be multiplied, so nothing is computed. The box at the bottom is what heed says: which arguments, which sizes, which rule.</p>
<p><button type="button" data-act="wrong:value">Transpose V instead</button> <button type="button" data-act="wrong:key">Keys of another length</button></p>
<p>The end of the message lists the shapes, in the order of the arguments. Find the edge that should be shared.</p>`,
    },
    {
      title: "Worse: a product that fits",
      state: { wrong: "axes", h: 8 },
      about: ({ wrong }) => wrong === "axes",
      text: ({
        state,
        numbers: n,
      }) => html`<p>Some libraries order the axes as sentence, <em>word</em>, head; others as sentence, <em>head</em>, word. Give one what the other expects, ${tuple(n.query)}, and nothing fails.</p>
<p>But S is now ${state.h} × ${state.h}. Within each of the ${numberOf(state.n, "word", "words")}, its ${state.h} heads look at each other, and no word ever sees another word. The output even has the shape you expected, ${tuple(n.output)}.</p>
<p>Only the shape of S gives it away. In heed you say which order you have: <code>layout: "bshd"</code>.</p>`,
    },
    {
      title: "Where the heads come from",
      state: { view: "layer", h: 8 },
      about: ({ view }) => view === "layer",
      text: ({ state }) =>
        html`<p>Where do Q, K and V come from? Each word’s ${state.d} numbers are multiplied by three learned matrices. Then the columns are cut into pieces, one for each head. At the end, the outputs of the heads are put side by side again and mixed by W<sup>O</sup>.</p>`,
      predict: {
        question: "16 heads instead of 8, everything else the same: how many percent more parameters?",
        min: 0,
        max: 200,
        step: 5,
        start: 100,
        unit: " %",
        why: [[5, 200, "Each head is cut out of the same matrices. Twice as many pieces are half as wide."]],
        show: { view: "layer", h: 16 },
        mark: (guess, { wide }) =>
          guessText(wide ? 24 : 8, wide ? 508 : 272, `${guess} % more than with 8 heads`),
        result: ({ numbers: { layer: n }, state }) =>
          html`The layer has ${n.error === "" ? html`<b>${n.parameters.toLocaleString("en-US")}</b> parameters, 4 · ${state.d} · ${state.d}, with any number of heads` : "no size at all now: it is refused"}. More heads are thinner heads. Pull the first cut: what happens when the pieces are not equal?`,
      },
    },
  ],
  picture: (view) =>
    view.state.view === "translation"
      ? translation(view)
      : view.state.view === "layer"
        ? layer(view)
        : call(view),
  label: (view) => {
    const { numbers: n, state } = view;
    if (state.view === "translation")
      return `A translator's cross-attention: German rows, English columns. ${askedRow(view)}.`;
    return state.view === "layer"
      ? `A layer on ${state.n} words of ${state.d} numbers with ${numberOf(state.h, "head", "heads")}. ${n.layer.error || `It has ${n.layer.parameters} parameters.`}`
      : `Boxes to scale: Q ${tuple(n.query)}, K ${tuple(n.key)}, V ${tuple(n.value)}. ${n.error || `S is ${tuple(n.weights)}, the output ${tuple(n.output)}.`}`;
  },
  caption: (view): TemplateResult => {
    const { numbers: n, state } = view;
    if (state.view === "translation")
      return html`${askedRow(view)}. Ten German words look at ten English ones: S is <b>10 × 10</b>, from Q and K of 32 numbers a word. The translator that comes with heed, layer 1, head 0.`;
    if (state.view === "layer")
      return n.layer.error
        ? html`${state.d} columns cannot be cut into ${state.h} equal pieces, and the layer is refused before anything is computed.`
        : html`${numberOf(state.n, "word", "words")} of ${state.d} numbers, cut into ${numberOf(state.h, "head", "heads")} of <b>${n.layer.query[2]}</b>. ${n.layer.parameters.toLocaleString("en-US")} parameters.`;
    if (n.error !== "")
      return html`${state.wrong === "key" ? html`Queries have ${state.dk} numbers and keys ${state.kd}` : state.wrong === "value" ? html`V should have a row for each of the ${numberOf(state.m, "word", "words")} and has ${state.dv}` : html`The axes are swapped`}: the boxes share no edge, and nothing is computed.`;
    if (state.wrong === "axes")
      return html`Nothing failed. But S is <b>${state.h} × ${state.h}</b>: heads look at heads, and no word sees another.`;
    if (state.wrong === "value")
      return html`V is transposed and nothing failed, because m and d<sub>v</sub> are both <b>${state.m}</b>. Every output is wrong.`;
    return html`${numberOf(state.b, "sentence", "sentences")}${state.h > 1 ? html` × ${state.h} heads` : ""}: S has ${state.n} × ${state.m} cells on each card, <b>${cells(n.weights).toLocaleString("en-US")}</b> weights in all. The output has ${n.output.slice(-2).join(" × ")} on each.`;
  },
  control: ({ state }) => {
    if (state.view === "translation") return choice("", VIEW_NAMES, state.view, "view");
    const size = /* text */ state.self || state.view === "layer" ? "words" : "query words";
    return html`<label>${size} <input type="range" min="1" max="40" step="1" value="${state.n}" data-act="n" aria-label="Number of ${size}" aria-valuetext="${state.n}"><output>${state.n}</output></label>`;
  },
  more: ({ state }) =>
    state.view === "translation"
      ? undefined
      : html`${state.view === "call" ? html`${choice("", WRONG_NAMES, state.wrong, "wrong")}${check("words look at themselves", state.self, "self")}` : ""}${choice("", VIEW_NAMES, state.view, "view")}`,
  actions: {
    n: ({ state }, _, value) => changed(state, "n", Number(value)),
    wrong: ({ state }, name) => ({
      wrong: name,
      view: "call",
      ...(name === "key" && state.kd === state.dk && { kd: Math.max(1, state.dk - 16) }),
      ...(name === "axes" && state.h === 1 && { h: 8 }),
    }),
    self: ({ state }, _, value) => ({ self: value === "1", m: state.n }),
  },
  drags,
  code,
  table: ({ numbers: n, state }) =>
    state.view === "translation"
      ? {
          caption: "What each German word looks at, in percent",
          columns: ["", ...n.translation.columns],
          rows: n.translation.rows.map((word, i) => [
            word,
            ...n.translation.weights[i].map((weight) => Number((100 * weight).toPrecision(4))),
          ]),
        }
      : state.view === "layer"
        ? {
            caption: n.layer.error || `A layer on one sentence, ${numberOf(state.h, "head", "heads")}`,
            columns: ["", "shape", "numbers"],
            rows: [
              ["X", `${state.n} × ${state.d}`, state.n * state.d],
              ["four matrices", `${state.d} × ${state.d} each`, n.layer.parameters],
              ...(n.layer.error === ""
                ? /* text */ ([
                    ["queries, cut", n.layer.query.join(" × "), cells(n.layer.query)],
                    ["output", n.layer.output.join(" × "), cells(n.layer.output)],
                    ["multiplications and additions", "", n.layer.operations],
                  ] as const)
                : []),
            ],
          }
        : {
            caption: n.error || "One call of attention",
            columns: ["", "shape", "numbers"],
            rows: [
              .../* text */ (
                [
                  ["query", n.query],
                  ["key", n.key],
                  ["value", n.value],
                  ["weights", n.weights],
                  ["output", n.output],
                ] as const
              )
                .filter(([, shape]) => shape.length > 0)
                .map(([name, shape]) => [name, shape.join(" × "), cells(shape)] as const),
              ...(n.error === ""
                ? ([
                    ["multiplications and additions", "", n.operations],
                    ["bytes of the weights", "", n.bytes],
                  ] as const)
                : []),
            ],
          },
  tasks: [
    {
      text: "Make the score matrix 3 × 7: three words look at seven others.",
      reached: ({ state, numbers: n }) => {
        const [rows, columns] = [n.weights.at(-2), n.weights.at(-1)];
        if (rows === 7 && columns === 3) return "That is 7 × 3: rows are the words that look.";
        if (state.view !== "call" || rows !== 3) return false;
        if (columns === 7) return state.wrong === "";
        return state.self
          ? "Three look. At others: they must not look at themselves."
          : "Three look. Now the words that are looked at.";
      },
    },
    {
      text: "Transpose V, then pull edges until nothing is refused, though every output is wrong.",
      reached: ({ state, numbers: n }) =>
        state.view === "call" &&
        state.wrong === "value" &&
        (n.error === "" || `Refused: V has ${state.dv} rows, and S ${state.m} columns.`),
    },
  ],
  recall: [
    [
      "Q is 5 × 32 and K is 9 × 32. What are the shapes of S and of the output, if a value has 8 numbers?",
      "S is 5 × 9: a row for each query, a column for each key. The output is 5 × 8: the rows of Q, the columns of V.",
    ],
    [
      "Why do twice as many heads not need twice as many parameters?",
      "The heads share the columns of the same matrices. With twice as many, each has half of the columns.",
    ],
  ],
  limits:
    "Shapes that fit do not make a result right: swapped axes, a transposed V that is square, and words in another order all pass every check of sizes.",
  trained: {
    text: "See the same boxes filled by a trained model: one row of Q, K and V",
    address: "tired-cat.html#v1/row?l=5&h=11&i=8&j=2",
  },
});
