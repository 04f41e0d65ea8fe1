import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import {
  initialOf,
  integer,
  numbers,
  oneOf,
  ownSentence,
  type StateFields,
  toggle,
} from "../frame/fields.ts";
import { definePage } from "../frame/page.ts";
import { percent, roundScore } from "../frame/words.ts";
import type { Line, Words, WordsNumbers } from "./compute.ts";
import { BEADS, PORTION, picture, poured, ranked } from "./picture.ts";

const LINES = ["tired", "warm", "flies", "bank", "own"] as const;

/** Place of “it” in the sentences about the cat. */
const IT = 8;

/** The token that looks. */
const at = (line: Line, { query }: Words) => Math.min(query, line.tokens.length - 1);

/** A list broken into lines of at most 50 characters. */
function wrapped(items: readonly string[], indent: string): string {
  const lines = [""];
  for (const [i, item] of items.entries()) {
    const word = `${item}${i + 1 < items.length ? ", " : ""}`;
    if (lines[lines.length - 1].length + word.length > 46) lines.push("");
    lines[lines.length - 1] += word;
  }
  return `\n${lines.map((line) => `${indent}${line.trimEnd()}`).join("\n")}\n`;
}

/** A word as it is quoted in sentences. */
const quoted = (word: string) => `“${word}”`;
const name = (line: Line, i: number) =>
  line.marks[i] ? `the ${line.tokens[i]} mark` : quoted(line.tokens[i]);

function sentenceOf(line: Line, query: number): string {
  const q = Math.min(query, line.tokens.length - 1);
  const [a, b, c] = ranked(line);
  return `${name(line, q)} gives ${percent(line.shares[a])} of its attention to ${a === q ? "itself" : name(line, a)}, ${percent(line.shares[b])} to ${b === q ? "itself" : name(line, b)} and ${percent(line.shares[c])} to ${c === q ? "itself" : name(line, c)}`;
}

/** The model and the head of the reader's own sentence, which are not those of the other sentences. */
const headName = ({ lines: [line], link }: WordsNumbers): string =>
  link === undefined
    ? ""
    : ` This is heed’s small encoder, layer ${link.layer}, head ${link.head}: of its heads, the one with the strongest link between pieces that are not neighbors, here from ${name(line, link.from)} to ${name(line, link.to)}.`;

/** What one word of a sentence gives to another, whichever word looks now. */
const share = (line: Line | undefined, from: string, to: string) =>
  line?.weights[line.tokens.indexOf(from)]?.[line.tokens.indexOf(to)] ?? 0;

const fields: StateFields<Words> = {
  line: oneOf(LINES),
  query: integer(IT, 0, 63),
  hide: toggle(),
  beads: numbers([], integer(0, 0, BEADS), (length) => length <= 64),
  ownText: ownSentence,
};

export const page = definePage<Words, WordsNumbers>({
  title: "Words",
  point:
    "A word looks at the other words of its sentence. How much it looks at each is a share, and the shares add up to 100 %.",
  minutes: 7,
  needs: [],
  fields,
  check: (state) => (state.line === "own" && state.ownText === "" ? { ...state, line: "tired" } : state),
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
      // An answer given before this stop is reached stays.
      state: ({ line, hide }) => ({ line: "warm", hide: line !== "warm" || hide, query: IT }),
      staticState: { hide: false },
      about: ({ line }) => line === "warm",
      text: ({ state, numbers: { lines } }) => {
        const [line] = lines;
        const guess = (word: string) => state.beads[line.tokens.indexOf(word)] ?? 0;
        const answer = html`The head gives “cat” <b>${percent(share(line, "it", "cat"))}</b>, “mat” <b>${percent(share(line, "it", "mat"))}</b> and the start mark <b>${percent(share(line, "it", "start"))}</b>.`;
        const rest = html`<p>One word at the end changed, and “cat” lost most of its share. Little of it went to “mat”. Most went to the <em>start mark</em>, which has no meaning of its own. When a head finds no word that matches, its attention goes there, because the shares must still add up to 100 %. We say that the head <em>rests</em>. Papers call such a token an <em>attention sink</em>.</p>`;
        return html`<p>Change one word: the cat sat on the mat because it was <b>warm</b>. Now “it” could be the cat or the mat.</p>
${
  state.hide
    ? html`<div class="predict"><p><b>Predict.</b> You have 100 beads. Each press on a word puts ten beads there. Where will “it” look?</p><p><button type="button" data-act="show:warm">Show</button></p></div><div class="still"><p>${answer}</p>${rest}</div>`
    : html`<div class="predict answered"><p>${poured(state.beads) > 0 ? html`You gave “cat” ${guess("cat")} beads, “mat” ${guess("mat")} and the start mark ${guess("start")} (outlines). ` : ""}${answer}</p><p><button type="button" class="quiet" data-act="again">Try again</button></p></div>
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
<p>Nobody programmed this. The model was only trained to fill in missing words. Links such as this one are a result of that training.</p>`,
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
${state.line === "own" ? html`<p>This model is small. It splits rare words into pieces (a dot marks a piece that continues a word), and what it does not know becomes [?]. Of its 16 heads, this page shows the one with the strongest link between two pieces that are not neighbors.</p>` : ""}`,
    },
  ],
  picture,
  label: ({ numbers: { lines }, state }) =>
    lines
      .map(
        (line) => `${line.tokens.join(" ")}: ${state.hide ? "shares hidden" : sentenceOf(line, state.query)}`,
      )
      .join(". "),
  caption: ({ numbers, numbers: { lines }, state }) =>
    lines.length > 1
      ? html`${lines.map((line, i) => {
          const q = at(line, state);
          const [best] = ranked(line);
          return html`${i > 0 ? " " : ""}In the ${["first", "second"][i]} sentence, ${name(line, q)} gives the most, ${percent(line.shares[best])}, to ${best === q ? "itself" : name(line, best)}.`;
        })}`
      : state.hide
        ? html`Where will “it” look? Press words to place your beads, then press Show.`
        : html`${lines.map((line, i) => html`${i > 0 ? " " : ""}${sentenceOf(line, state.query).replace(/^t/, "T")}.`)}${lines[0].tokens.some((token) => token.length > 1 && token.startsWith("·")) ? " A dot marks a piece that continues a word." : ""}${headName(numbers)}`,
  control: ({ state, numbers: { lines } }) =>
    state.hide
      ? html`<button type="button" data-act="show">Show</button><button type="button" class="quiet" data-act="again">Take the beads back</button>`
      : html`<span class="choice"><button type="button" data-act="step:-1" aria-label="Word before">‹</button><button type="button" data-act="step:1" aria-label="Next word">›</button></span><span><b class="q">${lines[0].tokens[Math.min(state.query, lines[0].tokens.length - 1)]}</b> looks</span>`,
  more: ({ state }) =>
    !state.hide
      ? choice(
          "",
          LINES.filter((line) => line !== "own" || state.ownText !== "").map((line) => [line, line] as const),
          state.line,
          "line",
        )
      : undefined,
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
    // Beside the text, the question can be in view while the picture still has the sentence before it.
    show: (_, line) => ({ hide: false, ...(line !== "" && { line, query: IT }) }),
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
  sentence: (text) =>
    text === "" ? initialOf(fields) : { ownText: text, line: "own", query: 1, hide: false, beads: [] },
  carry: ({ line, query, ownText }) =>
    ownText === "" ? {} : { ownText, line: "own", query: line === "own" ? query : 1 },
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
    highlight: () => ["scaledDotProductAttention(", "shares = softmax("],
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
        text: "“The cat sat on the mat because it was tired”: in this head every word looks at cat",
        address: "tired-cat.html#v1/head?l=5&h=11&i=8&j=2&at=8.2",
      },
      {
        text: "“time flies like an arrow”: flies looks at time",
        address: "time-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
      },
      {
        text: "“fruit flies like a banana”: flies looks at fruit",
        address: "fruit-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
      },
      {
        text: "“they walked along the river bank”: bank looks at river",
        address: "river-bank.html#v1/head?l=0&h=4&i=6&j=5&at=6.5",
      },
      {
        text: "“they walked to the savings bank”: bank looks at savings",
        address: "savings-bank.html#v1/head?l=0&h=4&i=6&j=5&at=6.5",
      },
    ],
  },
});
