import { choice, menu } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, numbers, oneOf, ownSentence, type StateFields, toggle } from "../frame/fields.ts";
import { wrapped } from "../frame/fit.ts";
import { definePage } from "../frame/page.ts";
import { percent, roundScore } from "../frame/words.ts";
import { cutNote, headChoices, OWN_MODEL, ownCaption, ownExplorer } from "../head/link.ts";
import type { Line, Words, WordsNumbers } from "./compute.ts";
import { BEADS, PORTION, picture, poured, ranked } from "./picture.ts";
import { LINES, looksIn, placeIn, SENTENCES, sentenceOf } from "./sentences.ts";

/** The lines that the page has buttons for. */
const BUTTONS = [
  ["time", "time flies"],
  ["flies", "both flies"],
  ["banks", "two banks"],
  ["green", "green bank"],
  ["own", "own"],
] as const;

/** Where “bank” and its neighbors are in “they walked along the green bank”. */
const BANK = placeIn("green", "bank");

const quotedCode = (token: string) => JSON.stringify(token);
/** A list broken into lines. */
const listed = (items: readonly string[], indent: string) =>
  `\n${wrapped(items.join(", "), 45)
    .map((line) => indent + line)
    .join("\n")}\n`;

/** A word as it is quoted in sentences. */
const quoted = (word: string) => `“${word}”`;
const name = (line: Line, i: number) =>
  line.marks[i] ? `the ${line.tokens[i]} mark` : quoted(line.tokens[i]);

function lineText(line: Line): string {
  const q = line.looks;
  const [a, b, c] = ranked(line);
  return `${name(line, q)} gives ${percent(line.shares[a])} of its attention to ${a === q ? "itself" : name(line, a)}, ${percent(line.shares[b])} to ${b === q ? "itself" : name(line, b)} and ${percent(line.shares[c])} to ${c === q ? "itself" : name(line, c)}`;
}

/** The captured model and head, which are not those of the reader's own sentence. */
const MODEL = "MiniLM, layer 0, head 4";

const fields: StateFields<Words> = {
  line: oneOf(LINES),
  query: integer(looksIn("time"), -1, 63),
  hide: toggle(),
  beads: numbers([], integer(0, 0, BEADS), (length) => length <= 64),
  ownText: ownSentence,
  head: integer(-1, -1, 63),
};

/** The state of a line: the word that looks first in it. */
const lineState = (line: string) => ({ line, query: looksIn(line), hide: false });

export const page = definePage<Words, WordsNumbers>({
  title: "Words",
  point:
    "A word looks at the other words of its sentence. How much it looks at each is a share, and the shares add up to 100 %.",
  minutes: 7,
  needs: [],
  common: SENTENCES.time.text,
  fields,
  check: (state) =>
    state.line === "own" && state.ownText === "" ? { ...state, ...lineState("time") } : state,
  steps: [
    {
      title: "What kind of flies?",
      state: {},
      fixed: true,
      text: ({
        numbers: { linkShares },
      }) => html`<p>Read the sentence once. Is “flies” something that one does, or are flies animals? You looked back to “time”, and you knew.</p>
<p>A trained language model does the same. Here is one of its 72 <em>heads</em>: a part of the model that compares each word with all others. “flies” is the word that looks. The stronger the color of a word, the more “flies” looks at it: <b>${percent(linkShares.time)}</b> at “time”.</p>
<p>The shares of one word always add up to 100 %: each dot below a word is one of 100. That is attention: each word takes a weighted average of all words. “start” and “end” are marks that the model puts around every sentence. In papers, a share is called an <em>attention weight</em>, and a word <em>attends</em> to another.</p>
<p><b>Point at another word</b>, or press it, and it becomes the one that looks.</p>`,
    },
    {
      title: "The same word in two sentences",
      state: lineState("flies"),
      fixed: true,
      text: ({
        numbers: { linkShares },
      }) => html`<p>“Time flies like an arrow; fruit flies like a banana.” In the first, you read “flies” as an action. In the second, you read it as animals.</p>
<p>Here is the same head on both. In the first, “flies” gives “time” <b>${percent(linkShares.time)}</b>. In the second, it gives “fruit” <b>${percent(linkShares.fruit)}</b>. No other word gives either more than 7 %: point at “like”, or at “arrow”.</p>
<p>In a dictionary, a word is one entry. In a sentence, its meaning depends on the words around it. Attention is how a model takes them into account.</p>`,
    },
    {
      title: "Two banks",
      state: lineState("banks"),
      fixed: true,
      text: ({
        numbers: { linkShares },
      }) => html`<p>One “bank” is beside water, the other has money. This head gives “river” <b>${percent(linkShares.before)}</b>, and “savings” <b>${percent(linkShares.savings)}</b>.</p>
<p>Does it just look at the word before? No. In “${SENTENCES.river.text}” (type it into the field), the river comes three words <em>after</em> the bank, and gets <b>${percent(linkShares.river)}</b>.</p>
<p>Nobody programmed this. The model was only trained on text. Links such as these are a result of that training.</p>`,
    },
    {
      title: "Now the bank is green",
      // An answer given before this stop is reached stays.
      state: ({ line, hide }) => ({ line: "green", hide: line !== "green" || hide, query: BANK }),
      staticState: { hide: false },
      about: ({ line }) => line === "green",
      text: ({ state, numbers: { lines } }) => {
        const [line] = lines;
        const guess = (word: string) => state.beads[line.tokens.indexOf(word)] ?? 0;
        const shareOf = (word: string) => percent(line.weights[BANK]?.[line.tokens.indexOf(word)] ?? 0);
        const answer = html`The head gives “green” <b>${shareOf("green")}</b>, the start mark <b>${shareOf("start")}</b> and the end mark <b>${shareOf("end")}</b>.`;
        const rest = html`<p>“green” does not say which bank it is, and it gets almost nothing, though it stands where “river” stood. Most goes to the <em>start mark</em> and the <em>end mark</em>, which have no meaning of their own. When a head finds no word that matches, its attention goes there, because the shares must still add up to 100 %. We say that the head <em>rests</em>. Papers call such a token an <em>attention sink</em>.</p>
<p>Such a sentence is a <em>control</em>: it shows that the head does not simply look one word back.</p>`;
        return html`<p>Change one word: they walked along the <b>green</b> bank.</p>
${
  state.hide
    ? html`<div class="predict"><p><b>Predict.</b> You have 100 beads. Each press on a word puts ten beads there. Where will “bank” look?</p><p><button type="button" data-act="show:green">Show</button></p></div><div class="still"><p>${answer}</p>${rest}</div>`
    : html`<div class="predict answered"><p>${poured(state.beads) > 0 ? html`You gave “green” ${guess("green")} beads, the start mark ${guess("start")} and the end mark ${guess("end")} (outlines). ${guess("green") >= 50 ? "You expected the word before it. In the two sentences above that was right, and the reason was another: that word shows which meaning it is. " : ""}` : ""}${answer}</p><p><button type="button" class="quiet" data-act="again">Try again</button></p></div>
${rest}`
}`;
      },
    },
    {
      title: "Question, label, content",
      state: lineState("time"),
      text: () => html`<p>How does “flies” know where to look? Think of a library.</p>
<p>You come with a <b class="q">question</b>. Every drawer of the catalog has a <b class="k">label</b>. You compare your question with every label. The better a label matches, the longer you look into that drawer. What you take home is not the label but the <b class="v">content</b>: a little from each drawer you looked into.</p>
<p>In attention every word has all three, as lists of numbers: a <b class="q">query</b> (what it asks), a <b class="k">key</b> (what it is found by) and a <b class="v">value</b> (what it passes on). It is as if a vowel asked “is there a consonant before me?” and the label of every consonant said “I am one”.</p>
<p>The number that says how well a query matches a key is a <em>score</em>. Softmax turns the scores into shares. The next pages explain both.</p>`,
    },
    {
      title: "Your own sentence",
      state: {},
      text: ({
        state,
        numbers,
      }) => html`<p>Type a sentence into the field at the top and press Enter. The sentences of this page are in its pictures as MiniLM reads them. Any other sentence is read by ${OWN_MODEL}, a much smaller model that comes with heed and runs in this page. Nothing is sent anywhere.</p>
${
  state.line === "own" && numbers.link
    ? html`<p>It splits rare words into pieces (a dot marks a piece that continues a word), and what it does not know becomes [?]. Of its ${numbers.link.layers * numbers.link.heads} heads, the page first shows the one with the largest <em>contrast</em>: a weight that it gives neither from every word nor at every distance. <b>Choose another head</b> below the picture.</p>
<p>${ownCaption(numbers.link, (token) => name(numbers.lines[0], token))} A small model finds less: do not expect it to know a bank from a bank.</p>`
    : ""
}`,
    },
  ],
  picture,
  label: ({ numbers: { lines }, state }) =>
    lines
      .map((line) => `${line.tokens.join(" ")}: ${state.hide ? "shares hidden" : lineText(line)}`)
      .join(". "),
  caption: ({ numbers: { lines, link }, state }) => {
    const [line] = lines;
    if (state.hide) return html`Where will “bank” look? Press words to place your beads, then press Show.`;
    if (lines.length > 1)
      return html`${lines.map((line, i) => {
        const [best] = ranked(line);
        return html`${i > 0 ? " " : ""}In the ${/* text */ ["first", "second"][i]} sentence, ${name(line, line.looks)} gives the most, ${percent(line.shares[best])}, to ${best === line.looks ? "itself" : name(line, best)}.`;
      })} ${MODEL}.`;
    const model =
      link === undefined
        ? html`${MODEL}.`
        : html`${OWN_MODEL}, layer ${link.layer}, head ${link.head}. ${ownExplorer(state.ownText, link, line.looks, ranked(line)[0])}.${cutNote(link.cut)}`;
    return html`${lineText(line).replace(/^t/, "T")}.${line.tokens.some((token) => token.length > 1 && token.startsWith("·")) ? " A dot marks a piece that continues a word." : ""} ${model}`;
  },
  control: ({ state, numbers: { lines } }) =>
    state.hide
      ? html`<button type="button" data-act="show">Show</button><button type="button" class="quiet" data-act="again">Take the beads back</button>`
      : html`<span class="choice"><button type="button" data-act="step:-1" aria-label="Word before">‹</button><button type="button" data-act="step:1" aria-label="Next word">›</button></span><span><b class="q">${lines[0].tokens[lines[0].looks]}</b> looks</span>`,
  more: ({ state, numbers: { link } }) =>
    !state.hide
      ? html`${choice(
          "",
          BUTTONS.filter(([line]) => line !== "own" || state.ownText !== ""),
          state.line,
          "line",
        )}${link ? html`<label>head ${menu("", headChoices(link), state.head, "head")}</label>` : ""}`
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
    show: (_, line) => ({ hide: false, ...(line !== "" && { line, query: BANK }) }),
    again: () => ({ hide: true, beads: [] }),
    // From the state, where it says which word looks: the picture may be that before the last press.
    step: ({ state: { query }, numbers: { lines } }, by) => {
      const [{ tokens, looks }] = lines;
      return { query: ((query < 0 ? looks : query) + Number(by) + tokens.length) % tokens.length };
    },
    line: (_, line) => lineState(line),
    // Another head has its own link: the word that looks is where that begins.
    head: (_, __, value) => ({ head: Number(value), query: -1 }),
  },
  sentence: (text) => {
    const line = text === "" ? "time" : (sentenceOf(text) ?? "own");
    return { ownText: line === "own" ? text : "", ...lineState(line), beads: [], head: -1 };
  },
  carry: ({ line, query, ownText, head }) =>
    ownText === "" ? {} : { ownText, head, line: "own", query: line === "own" ? query : -1 },
  code: {
    typescript: ({ numbers: { lines } }) => `import { scaledDotProductAttention,
  tensor } from "heed";

const words = [${listed(lines[0].tokens.map(quotedCode), "  ")}];
// How well the query of ${JSON.stringify(lines[0].tokens[lines[0].looks])}
// matches each key: q · k / √32.
const scores = [${listed(lines[0].scores.map(String), "  ")}];

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
    python: ({ numbers: { lines } }) => `import numpy as np

words = [${listed(lines[0].tokens.map(quotedCode), "    ")}]
# How well the query of ${JSON.stringify(lines[0].tokens[lines[0].looks])}
# matches each key: q @ k / sqrt(32).
scores = np.array([${listed(lines[0].scores.map(String), "    ")}])

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
    caption: lines.map((line) => `What ${name(line, line.looks)} looks at`).join("; "),
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
      text: "In the sentence about the green bank, find a word that gives another word more than half of its attention.",
      reached: ({ state, numbers: { lines } }) => {
        const strong = lines[0].marks.filter((_, j) => lines[0].shares[j] > 0.5);
        if (state.line !== "green" || strong.length === 0) return false;
        return !strong[0] || "More than half goes to a mark here: this word rests.";
      },
    },
    {
      text: "Type a sentence of your own with “bank” or “flies”, and find a head in which that word looks at another word of your sentence, and not at a mark.",
      reached: ({ state, numbers: { lines } }) => {
        const [line] = lines;
        if (state.line !== "own" || !/^(?:banks?|fl(?:y|ies))$/.test(line.tokens[line.looks])) return false;
        const [best] = ranked(line);
        return (
          (!line.marks[best] && best !== line.looks) ||
          "The word is right. In this head it looks at itself or at a mark: try another head. If none of the sixteen has it, this model does not see the link: try another sentence."
        );
      },
    },
  ],
  recall: [
    [
      "The shares of one word add up to 100 %. Where does its attention go when the head finds nothing?",
      "To a token that is always there, such as the start mark. A large share there often means “nothing found”; it does not show that the start is important.",
    ],
    [
      "What are query, key and value in the library?",
      "The question you come with, the label on each drawer, and the content you take home, more of it from the drawers with larger shares.",
    ],
  ],
  limits:
    "One head that looks from “flies” to “time” does not prove that the model understands time: it has 71 other heads, and this one may change nothing, which later pages measure.",
  trained: {
    text: "See this head in the explorer: flies looks at time",
    address: "time-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
    more: [
      {
        text: "“fruit flies like a banana”: flies looks at fruit",
        address: "fruit-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
      },
      {
        text: "“they walked along the bank of the river”: bank looks at river",
        address: "bank-of-the-river.html#v1/head?l=0&h=4&i=5&j=8&at=5.8",
      },
      {
        text: "“they walked to the savings bank”: bank looks at savings",
        address: "savings-bank.html#v1/head?l=0&h=4&i=6&j=5&at=6.5",
      },
      {
        text: "“The cat sat on the mat because it was tired”: another head, in which every word looks at cat",
        address: "tired-cat.html#v1/head?l=5&h=11&i=8&j=2&at=8.2",
      },
    ],
  },
});
