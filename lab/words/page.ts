/** Words: a word looks at other words, and how much at each is a share. */
import { choice, clamp, clampInteger } from "../frame/controls.ts";
import { html } from "../frame/markup.ts";
import type { Page, View } from "../frame/page.ts";
import { label, mark, named, textClass, weightClass } from "../frame/svg.ts";
import { descending, percent, roundScore } from "../frame/words.ts";
import type { Line, Words, WordsNumbers } from "./compute.ts";
import { type Box, layLine } from "./layout.ts";

type PageView = View<Words, WordsNumbers>;

const LINES = ["tired", "warm", "flies", "bank", "own"] as const;

/** Place of “it” in the sentences about the cat. */
const IT = 8;

export const initial: Words = { line: "tired", query: IT, hide: false, beads: [], own: "" };

/** Beads in all, and in one portion. */
const BEADS = 100;
const PORTION = 10;

const poured = (beads: readonly number[]) => beads.reduce((sum, count) => sum + count, 0);

/** The token that looks. */
const at = (line: Line, { query }: Words) => Math.min(query, line.tokens.length - 1);

/** A list broken into lines of at most 50 characters. */
function wrapped(items: readonly string[], indent: string): string {
  const lines = [""];
  for (const [i, item] of items.entries()) {
    const text = `${item}${i + 1 < items.length ? ", " : ""}`;
    if (lines[lines.length - 1].length + text.length > 46) lines.push("");
    lines[lines.length - 1] += text;
  }
  return `\n${lines.map((line) => `${indent}${line.trimEnd()}`).join("\n")}\n`;
}

/** A word as it is quoted in sentences. */
const quoted = (word: string) => `“${word}”`;
const name = (line: Line, i: number) =>
  line.marks[i] ? `the ${line.tokens[i]} mark` : quoted(line.tokens[i]);

/** One sentence with its light, arcs and beads. */
function sentence(
  view: PageView,
  line: Line,
  size: number,
  y: number,
  align: number | undefined,
  at: number,
): string {
  const { state, wide } = view;
  const width = wide ? 860 : 375;
  const boxes = layLine(line.tokens, line.marks, size, width - (wide ? 0 : 16), wide ? 0 : 8, align);
  const rows = boxes[boxes.length - 1].row + 1;
  // Beads of a large share need space below their row: more rows than three leave none on a narrow picture.
  const piles = at >= 0 && rows <= (wide ? 2 : 3);
  const q = Math.min(state.query, line.tokens.length - 1);
  const parts: string[] = [];
  const gap = !piles ? size * 2.5 : wide ? 190 : rows < 3 ? 104 : 84;
  const top = (box: Box) => y + box.row * gap;
  // Arcs first, under the words.
  // Between two rows an arc would cross the words of the upper one. Arcs of one row only would leave out the largest shares.
  if (!state.hide && rows === 1)
    for (const [j, box] of boxes.entries()) {
      const share = line.shares[j];
      const [a, b] = [boxes[q], box];
      if (j === q || share < 0.02) continue;
      const [x1, x2] = [a.x + a.width / 2, b.x + b.width / 2];
      const [y1, y2] = [top(a) - size * 1.05, top(b) - size * 1.05];
      const rise = Math.min(wide ? 120 : 34, 14 + Math.abs(x2 - x1) * 0.28);
      parts.push(
        mark("path", {
          d: `M${x1.toFixed(1)} ${y1.toFixed(1)}C${x1.toFixed(1)} ${(y1 - rise).toFixed(1)} ${x2.toFixed(1)} ${(y2 - rise).toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`,
          class: "arc",
          "stroke-width": Math.max(0.8, share * 12),
        }),
      );
    }
  const words: string[] = [];
  const beads: string[] = [];
  // Percentages under the words, the largest first: one that would cover another is left out.
  const percentages: string[] = [];
  const taken: { row: number; from: number; to: number }[] = [];
  if (!state.hide)
    for (const j of ranked(line)) {
      const [share, box] = [line.shares[j], boxes[j]];
      if (share < (wide ? 0.005 : 0.03)) break;
      const half = percent(share).length * (wide ? 3.9 : 3.6);
      const middle = Math.min(width - half, Math.max(half, box.x + box.width / 2));
      const place = { row: box.row, from: middle - half, to: middle + half };
      if (taken.some(({ row, from, to }) => row === place.row && from < place.to && place.from < to))
        continue;
      taken.push(place);
      percentages.push(
        label(middle, top(box) + size * 0.6 + (wide ? 10 : 6), percent(share), {
          class: `mid mono halo ${wide ? "s12" : "s11"} ${share > 0.1 ? "bold" : "second"}`,
        }),
      );
    }
  for (const [j, box] of boxes.entries()) {
    const share = state.hide ? 0 : line.shares[j];
    const isMark = line.marks[j];
    const description = state.hide
      ? `${line.tokens[j]}: place ${PORTION} beads, ${state.beads[j] ?? 0} so far`
      : j === q
        ? `${line.tokens[j]}, the word that looks; ${percent(share)} on itself`
        : `${line.tokens[j]}: ${percent(share)}`;
    words.push(
      mark(
        "g",
        {
          "data-act": `press:${j}`,
          "data-key": `press:${j}`,
          ...(!state.hide && { "data-hover": `look:${j}` }),
          tabindex: "0",
          role: "button",
          class: "press",
          "aria-label": description,
          "aria-pressed": String(j === q && !state.hide),
        },
        mark("rect", {
          x: box.x - box.pad,
          y: top(box) - size,
          width: box.width + 2 * box.pad,
          height: size * 1.35,
          rx: 3,
          class: share > 0 ? `${weightClass(share)} cell` : "hit cell",
        }) +
          (j === q
            ? mark("rect", {
                x: box.x - box.pad,
                y: top(box) - size,
                width: box.width + 2 * box.pad,
                height: size * 1.35,
                rx: 3,
                class: "none lq",
              })
            : "") +
          mark(
            "text",
            {
              x: box.x,
              y: top(box),
              textLength: box.width,
              lengthAdjust: "spacingAndGlyphs",
              "font-size": isMark ? size * 0.55 : size,
              class: `serif sized ${j === q && share < 0.1 ? "tq bold" : textClass(share)}`,
            },
            html`${line.tokens[j]}`.text,
          ),
      ),
    );
    if (piles)
      beads.push(
        pile(
          box,
          top(box) + size * 0.8 + (wide ? 18 : 12),
          pileAt(box, Math.max(Math.round(share * BEADS), state.beads[j] ?? 0), wide, rows),
          wide ? 860 : 375,
          state.hide ? 0 : Math.round(line.shares[j] * BEADS),
          state.beads[j] ?? 0,
        ),
      );
  }
  parts.push(
    named("words", words.join("") + percentages.join("")),
    beads.length > 0 ? named("shares", beads.join("")) : "",
  );
  return parts.join("");
}

/** Beads side by side, and the distance of two: small piles are as wide as their word, so that neighbors are apart. */
function pileAt(box: Box, beads: number, wide: boolean, rows: number): readonly [number, number] {
  const [across, step] = wide ? [5, 8] : rows < 3 ? [7, 3.8] : [10, 3];
  const fit = Math.max(2, Math.floor((box.width + 2 * box.pad) / step));
  return [beads > 40 ? across : Math.min(across, fit), step];
}

/** Beads under a word: filled ones are the head's, outlines the reader's guess. */
function pile(
  box: Box,
  y: number,
  [across, step]: readonly [number, number],
  right: number,
  filled: number,
  outlined: number,
): string {
  const half = step * 0.45;
  const width = (across - 1) * step;
  const x0 = clamp(box.x + box.width / 2 - width / 2, half, right - width - half);
  return Array.from({ length: Math.max(filled, outlined) }, (_, n) => {
    const [x, dy] = [x0 + (n % across) * step, Math.floor(n / across) * step];
    return (
      (n < filled ? mark("circle", { cx: x, cy: y + dy, r: step * 0.38, class: "fw" }) : "") +
      (n < outlined ? mark("circle", { cx: x, cy: y + dy, r: step * 0.45, class: "none lq thin" }) : "")
    );
  }).join("");
}

/** The largest size at which a sentence fits into one line. */
function sizeThatFits(line: Line, width: number, most: number): number {
  const at = (size: number) => layLine(line.tokens, line.marks, size, Number.POSITIVE_INFINITY, 0);
  const last = at(1).at(-1)!;
  return Math.min(most, (width - 8) / (last.x + last.width + last.pad));
}

/** Size and first line of a sentence on a wide picture: one row, or more where the words of one would be too small to read. */
function wideRows(line: Line): readonly [size: number, start: number] {
  const one = sizeThatFits(line, 860, 40);
  if (one >= 22) return [one, 240];
  const rows = layLine(line.tokens, line.marks, 24, 860, 0).at(-1)!.row + 1;
  return rows <= 2 ? [24, 130] : [24, Math.max(70, 270 - rows * 30)];
}

/** The largest size at which a sentence fits on a narrow picture, in as many rows as it needs. */
function sizeOfRows(line: Line): number {
  const fits = (size: number) => {
    const rows = layLine(line.tokens, line.marks, size, 359, 8).at(-1)!.row + 1;
    return rows <= 2 || (rows === 3 && size <= 21) || 66 + (rows - 1) * size * 2.5 < 280;
  };
  return [25, 21, 18].find(fits) ?? 15;
}

function picture(view: PageView): string {
  const { state, numbers, wide } = view;
  const [first, second] = numbers.lines;
  if (second !== undefined) {
    const size = wide ? 40 : 24;
    // Aligned on the word that looks.
    const lead = (line: Line) => {
      const boxes = layLine(line.tokens, line.marks, size, Number.POSITIVE_INFINITY, 0);
      return boxes[Math.min(2, boxes.length - 1)].x;
    };
    const most = Math.max(lead(first), lead(second));
    const left = wide ? 90 : 8;
    return (
      sentence(view, first, size, wide ? 200 : 80, wide ? left + most - lead(first) : undefined, -1) +
      sentence(view, second, size, wide ? 400 : 214, wide ? left + most - lead(second) : undefined, -1)
    );
  }
  const [size, start] = wide ? wideRows(first) : [sizeOfRows(first), 66];
  return (
    sentence(view, first, size, start, undefined, 0) +
    (state.hide
      ? label(wide ? 430 : 187, wide ? 60 : 20, `${BEADS - poured(state.beads)} of ${BEADS} beads left`, {
          class: `mid bold ${wide ? "s18" : ""}`,
        })
      : "")
  );
}

/** The keys in the order of their shares. */
const ranked = (line: Line) => descending(line.shares);

function sentenceOf(line: Line, query: number): string {
  const q = Math.min(query, line.tokens.length - 1);
  const [a, b, c] = ranked(line);
  return `${name(line, q)} gives ${percent(line.shares[a])} of its attention to ${a === q ? "itself" : name(line, a)}, ${percent(line.shares[b])} to ${b === q ? "itself" : name(line, b)} and ${percent(line.shares[c])} to ${c === q ? "itself" : name(line, c)}`;
}

/** What one word of a sentence gives to another, whichever word looks now. */
const share = (line: Line | undefined, from: string, to: string) =>
  line?.weights[line.tokens.indexOf(from)]?.[line.tokens.indexOf(to)] ?? 0;

export const page: Page<Words, WordsNumbers> = {
  name: "words",
  title: "Words",
  point:
    "A word looks at the other words of its sentence. How much it looks at each is a share, and the shares add up to 100 %.",
  initial,
  check: (state) => ({
    ...state,
    line:
      (LINES as readonly string[]).includes(state.line) && (state.line !== "own" || state.own.trim() !== "")
        ? state.line
        : "tired",
    query: clampInteger(state.query, 0, 63),
    beads: state.beads.length <= 64 ? state.beads.map((n) => clampInteger(n, 0, BEADS)) : [],
    own: state.own.slice(0, 120),
  }),
  steps: [
    {
      title: "Who was tired?",
      state: {},
      fixed: true,
      text: ({
        numbers: { lines },
      }) => html`<p>Read the sentence once. You know who was tired: when you reached “it”, you looked back to “cat”.</p>
<p>A trained language model does the same. Here is one of its 72 <em>heads</em>: a part of the model that compares each word with all others. “it” is the word that looks. The stronger the color of a word, the more “it” looks at it: <b>${percent(share(lines[0], "it", "cat"))}</b> at “cat”.</p>
<p>The shares of one word always add up to 100 %: each dot below a word is one of 100. That is attention: each word takes a weighted average of all words. “start” and “end” are marks that the model puts around every sentence. In papers, a share is called an <em>attention weight</em>, and a word <em>attends</em> to another.</p>
<p><b>Point at another word</b>, or press it, and it becomes the one that looks.</p>`,
    },
    {
      title: "Now it was warm",
      state: { line: "warm", hide: true, query: IT },
      still: { hide: false },
      about: ({ line }) => line === "warm",
      text: ({ state, numbers: { lines } }) => {
        const [line] = lines;
        const guess = (word: string) => state.beads[line.tokens.indexOf(word)] ?? 0;
        const answer = html`The head gives “cat” <b>${percent(share(line, "it", "cat"))}</b>, “mat” <b>${percent(share(line, "it", "mat"))}</b> and the start mark <b>${percent(share(line, "it", "start"))}</b>.`;
        const rest = html`<p>One word at the end changed, and “cat” lost most of its share. Little of it went to “mat”. Most went to the <em>start mark</em>, which has no meaning of its own. When a head finds no word that matches, its attention goes there, because the shares must still add up to 100 %. We say that the head <em>rests</em>. Papers call such a token an <em>attention sink</em>.</p>`;
        return html`<p>Change one word: the cat sat on the mat because it was <b>warm</b>. Now “it” could be the cat or the mat.</p>
${
  state.hide
    ? html`<div class="predict"><p><b>Predict.</b> You have 100 beads. Each press on a word puts ten beads there. Where will “it” look?</p><p><button type="button" data-act="show">Show</button></p></div><div class="still"><p>${answer}</p>${rest}</div>`
    : html`<div class="predict answered"><p>${poured(state.beads) > 0 && html`You gave “cat” ${guess("cat")} beads, “mat” ${guess("mat")} and the start mark ${guess("start")} (outlines). `}${answer}</p><p><button type="button" class="quiet" data-act="again">Try again</button></p></div>
${rest}`
}`;
      },
    },
    {
      title: "The same word in two sentences",
      state: { line: "flies", query: 2 },
      fixed: true,
      text: ({
        numbers: { lines },
      }) => html`<p>“Time flies like an arrow; fruit flies like a banana.” In the first, you read “flies” as an action. In the second, you read it as animals.</p>
<p>Here is the same head on both. In the first, “flies” gives “time” <b>${percent(share(lines[0], "flies", "time"))}</b>: who flies? In the second, it gives “fruit” only <b>${percent(share(lines[1], "flies", "fruit"))}</b>, and rests. Point at “like”: in the second sentence it is the verb, and it looks at “flies”, its subject.</p>
<p>In a dictionary, a word is one entry. In a sentence, its meaning depends on its neighbors. Attention is how a model takes them into account.</p>`,
    },
    {
      title: "Two banks",
      state: { line: "bank", query: 11 },
      fixed: true,
      text: ({
        numbers: { lines },
      }) => html`<p>This sentence has “bank” twice. The second one gives “river” <b>${percent(lines[0].weights[11]?.[14] ?? 0)}</b>. Point at the first one: it gives “river” ${percent(lines[0].weights[2]?.[14] ?? 0)}.</p>
<p>Nobody programmed this. The model was only trained to fill in missing words. Links such as this one came out of that training.</p>`,
    },
    {
      title: "Question, label, content",
      state: { line: "tired", query: IT },
      text: () => html`<p>How does “it” know where to look? Think of a library.</p>
<p>You come with a <b class="q">question</b>. Every drawer of the catalog has a <b class="k">label</b>. You compare your question with every label. The better a label matches, the longer you look into that drawer. What you take home is not the label but the <b class="v">content</b>: a little from each drawer you looked into.</p>
<p>In attention every word has all three, as lists of numbers: a <b class="q">query</b> (what it asks), a <b class="k">key</b> (what it is found by) and a <b class="v">value</b> (what it passes on). It is as if a vowel asked “is there a consonant before me?” and the label of every consonant said “I am one”.</p>
<p>The number that says how well a query matches a key is a <em>score</em>. Softmax turns the scores into shares. The next pages explain both.</p>`,
    },
    {
      title: "Your own sentence",
      state: {},
      text: ({
        state,
      }) => html`<p>Type a sentence into the field at the top and press Enter. A small encoder that comes with heed reads it in this page. Nothing is sent anywhere.</p>
${state.line === "own" && html`<p>This model is small. It splits rare words into pieces (a dot marks a piece that continues a word), and what it does not know becomes [?]. Of its 16 heads, this page shows the one with the strongest link between two pieces that are not neighbors.</p>`}`,
    },
  ],
  picture,
  label: ({ numbers: { lines }, state }) =>
    lines
      .map(
        (line) => `${line.tokens.join(" ")}: ${state.hide ? "shares hidden" : sentenceOf(line, state.query)}`,
      )
      .join(". "),
  caption: ({ numbers: { lines }, state }) =>
    lines.length > 1
      ? html`${lines.map((line, i) => {
          const q = at(line, state);
          const [most] = ranked(line);
          return html`${i > 0 ? " " : ""}In the ${["first", "second"][i]} sentence, ${name(line, q)} gives the most, ${percent(line.shares[most])}, to ${most === q ? "itself" : name(line, most)}.`;
        })}`
      : state.hide
        ? html`Where will “it” look? Press words to place your beads, then press Show.`
        : html`${lines.map((line, i) => html`${i > 0 ? " " : ""}${sentenceOf(line, state.query).replace(/^t/, "T")}.`)}${lines[0].tokens.some((token) => token.length > 1 && token.startsWith("·")) && " A dot marks a piece that continues a word."}`,
  control: ({ state, numbers: { lines } }) =>
    state.hide
      ? html`<button type="button" data-act="show">Show</button><button type="button" class="quiet" data-act="again">Take the beads back</button>`
      : html`<span class="choice"><button type="button" data-act="step:-1" aria-label="Word before">‹</button><button type="button" data-act="step:1" aria-label="Next word">›</button></span><span><b class="q">${lines[0].tokens[Math.min(state.query, lines[0].tokens.length - 1)]}</b> looks</span>`,
  more: ({ state }) =>
    !state.hide &&
    choice(
      "line",
      LINES.filter((line) => line !== "own" || state.own !== "").map((line) => [line, line] as const),
      state.line,
    ),
  actions: {
    look: (_, i) => ({ query: Number(i) }),
    press: ({ state, numbers }, i) => {
      if (!state.hide) return { query: Number(i) };
      if (poured(state.beads) + PORTION > BEADS) return undefined;
      const count = numbers.lines[0].tokens.length;
      return {
        beads: Array.from(
          { length: count },
          (_, j) => (state.beads[j] ?? 0) + (j === Number(i) ? PORTION : 0),
        ),
      };
    },
    show: () => ({ hide: false }),
    again: () => ({ hide: true, beads: [] }),
    step: ({ state, numbers }, by) => {
      const count = numbers.lines[0].tokens.length;
      return { query: (Math.min(state.query, count - 1) + Number(by) + count) % count };
    },
    line: (_, line) => ({
      line,
      hide: false,
      query: line === "flies" ? 2 : line === "bank" ? 11 : line === "own" ? 1 : IT,
    }),
  },
  drags: {},
  sentence: (text) => (text === "" ? initial : { own: text, line: "own", query: 1, hide: false, beads: [] }),
  carry: ({ line, query, own }) =>
    own === "" ? {} : { own, line: "own", query: line === "own" ? query : 1 },
  code: {
    typescript: ({ numbers: { lines }, state }) => `import { scaledDotProductAttention,
  tensor } from "heed";

const words = [${wrapped(
      lines[0].tokens.map((token) => JSON.stringify(token)),
      "  ",
    )}];
// How well the query of ${JSON.stringify(lines[0].tokens[at(lines[0], state)])}
// matches each key: q · k / √32.
const scores = [${wrapped(lines[0].scores.map(String), "  ")}];

// Softmax: one query of 1, the scores as keys.
const n = scores.length;
const column = (x) =>
  tensor(Float64Array.from(x), [x.length, 1]);
const { weights } = scaledDotProductAttention(
  column([1]), column(scores), column(scores),
  { scale: 1, returnWeights: true });
const shares = [...weights.toFloat64()];

for (let j = 0; j < n; j++)
  console.log(words[j].padEnd(9) +
    (100 * shares[j]).toFixed(1).padStart(5));`,
    python: ({ numbers: { lines }, state }) => `import numpy as np

words = [${wrapped(
      lines[0].tokens.map((token) => JSON.stringify(token)),
      "    ",
    )}]
# How well the query of ${JSON.stringify(lines[0].tokens[at(lines[0], state)])}
# matches each key: q @ k / sqrt(32).
scores = np.array([${wrapped(lines[0].scores.map(String), "    ")}])

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

shares = softmax(scores)

for word, share in zip(words, shares):
    print(f"{word:<9}{100 * share:5.1f}")`,
    printed: ({ numbers: { lines, rounded } }) =>
      rounded
        .map((weight, j) => `${lines[0].tokens[j].padEnd(9)}${(100 * weight).toFixed(1).padStart(5)}`)
        .join("\n"),
    lit: () => ["scaledDotProductAttention(", "shares = softmax("],
    names: { words: "words", scores: "words", shares: "shares" },
  },
  table: ({ numbers: { lines }, state }) => ({
    caption: lines
      .map((line) => `What ${name(line, Math.min(state.query, line.tokens.length - 1))} looks at`)
      .join("; "),
    columns: ["word", "score", "share"],
    rows: state.hide
      ? [["hidden until you press Show", "", ""]]
      : lines.flatMap((line) =>
          line.tokens.map((token, j) => [
            token,
            roundScore(line.scores[j]),
            Number(line.shares[j].toPrecision(4)),
          ]),
        ),
  }),
  tasks: [
    {
      text: "In the first sentence, find a word that rests: it gives more than 85 % to the start mark.",
      done: ({ state, numbers: { lines } }) => state.line === "tired" && lines[0].shares[0] > 0.85,
    },
    {
      text: "In the second sentence about flies, find the verb that gives its subject more than 30 %.",
      done: ({ state, numbers: { lines } }) => state.line === "flies" && (lines[1]?.shares[2] ?? 0) > 0.3,
    },
  ],
  recall: [
    [
      "The shares of one word add up to 100 %. Where does its attention go when the head finds nothing?",
      "To a token that is always there, such as the start mark. A large share there means “nothing found”, not “the start is important”.",
    ],
    [
      "What are query, key and value in the library?",
      "The question you come with, the label on each drawer, and the content you take home, more of it from the drawers with larger shares.",
    ],
  ],
  limits:
    "One head that looks from “it” to “cat” does not prove that the model understands who was tired: it has 71 other heads, and this one may not have changed its answer (the last page measures that).",
  trained: {
    text: "See this head in the explorer: layer 3, head 1",
    address: "tired-cat.html#v1/head?l=3&h=1&i=8&j=2&at=8.2",
    more: [
      {
        text: "“The cat sat on the mat because it was tired”: it looks at cat",
        address: "tired-cat.html#v1/head?l=5&h=11&i=8&j=2&at=8.2",
      },
      {
        text: "“time flies like an arrow”: flies looks at time",
        address: "time-flies.html#v1/head?l=2&h=11&i=2&j=1&at=2.1",
      },
      {
        text: "“fruit flies like a banana”: flies looks at banana",
        address: "fruit-flies.html#v1/head?l=5&h=11&i=2&j=5&at=2.5",
      },
      {
        text: "“they walked along the river bank”: bank looks at river",
        address: "river-bank.html#v1/head?l=2&h=11&i=6&j=5&at=6.5",
      },
      {
        text: "“they walked to the savings bank”: bank looks at savings",
        address: "savings-bank.html#v1/head?l=2&h=11&i=6&j=5&at=6.5",
      },
    ],
  },
};
