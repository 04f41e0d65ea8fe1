/**
 * The story of the page over the captured sentences: one head that ties a word to the word that tells its meaning. Six steps: the pair, its
 * control, the reasons, the cause, the effect, and links that only seem to be some. Each step shows a picture of the explorer, one
 * sentence, and, where the explorer has no picture of it, a table of numbers with the command that computed them
 * (models/captures/evidence.json).
 */
import evidence from "../../models/captures/evidence.json" with { type: "json" };
import { formatNumber } from "../../src/store/text/number.ts";
import type { AttentionViewElement, State } from "../../src/view/element.ts";
import { actsOn, make, percentOf, tokenNamed } from "./words.ts";

type Target = Pick<State, "view" | "mode" | "stage" | "text" | "layer" | "head" | "query" | "key" | "other">;

interface Step {
  readonly label: string;
  readonly target: Target;
  readonly sentence: () => readonly (string | Node)[];
  readonly figure?: () => readonly Node[];
}

type Link = (typeof evidence.links)[number];

const [TIME, FRUIT, RIVER, TABLE, CAT, ARROW, NEIGHBOR] = evidence.links;
const bold = (text: string) => tokenNamed(text, "b");
const named = (text: string) => tokenNamed(text, "bdi");
const signed = (x: number) => formatNumber(x, { digits: 3, style: "signed" });

/** A table whose numbers have bars around 0: one row for each name, one column for each heading. */
function barTable(
  headings: readonly string[],
  rows: readonly (readonly [name: readonly (string | Node)[], values: readonly number[]])[],
  largest: number,
  written: (x: number) => string,
): HTMLTableElement {
  const cell = (value: number) => {
    const bar = make("i", "", { class: value < 0 ? "below" : "above" });
    bar.style.inlineSize = `${((50 * Math.abs(value)) / largest).toFixed(1)}%`;
    return make("td", [make("span", written(value)), make("span", [bar], { class: "track" })]);
  };
  return make("table", [
    make("thead", [
      make(
        "tr",
        ["", ...headings].map((text) => make("th", text, { scope: "col" })),
      ),
    ]),
    make(
      "tbody",
      rows.map(([name, values]) => make("tr", [make("th", name, { scope: "row" }), ...values.map(cell)])),
    ),
  ]);
}

/** The command or the call that computes the numbers. */
const computedBy = (...commands: readonly string[]) =>
  make("details", [
    make("summary", "How these numbers are computed"),
    ...commands.map((text) => make("code", text)),
  ]);

function reasons(): readonly Node[] {
  const rows = evidence.why.map(
    ({ query, key, words, positions, rest, score }, n) =>
      [
        [named(query), " → ", named(key), ...(n === 2 ? [" (control)"] : [])],
        [words, positions, rest, score],
      ] as const,
  );
  return [
    barTable(
      ["word × word", "place × place", "the rest", "sum: score above the row’s mean"],
      rows,
      5,
      signed,
    ),
    computedBy(...evidence.why.map(({ command }) => command)),
  ];
}

/** The change of a cosine without each head: a bar for each, in groups of a layer. */
function effects(): readonly Node[] {
  const { off, code } = evidence.cause;
  const largest = Math.max(...off.flat().map(Math.abs));
  const layers = off.map((heads, layer) => {
    const bars = heads.map((change, head) => {
      const bar = make("i", "", {
        class: change < 0 ? "below" : "above",
        title: `Layer ${layer}, head ${head}: ${signed(change)}`,
      });
      bar.style.blockSize = `${((50 * Math.abs(change)) / largest).toFixed(1)}%`;
      return make("span", [bar], { class: layer === TIME.layer && head === TIME.head ? "one this" : "one" });
    });
    return make("figure", [make("div", bars), make("figcaption", `layer ${layer}`)]);
  });
  const all = off.flatMap((heads, layer) => heads.map((change, head) => ({ layer, head, change })));
  const first = all.sort((a, b) => b.change - a.change).slice(0, 4);
  const largestHeads = first
    .map(({ layer, head, change }) => `L${layer} H${head} ${signed(change)}`)
    .join(", ");
  return [
    make("div", layers, {
      class: "strip",
      role: "img",
      "aria-label": `The change of the cosine without each of ${all.length} heads; the largest: ${largestHeads}`,
    }),
    make("p", `The largest: ${largestHeads}.`),
    computedBy(code),
  ];
}

function becoming(): readonly Node[] {
  const { words, code } = evidence.becomes;
  const rows = [TIME, FRUIT].map(
    ({ text }, n) => [[bold("flies"), ` in “${text}”`], words.map(({ cosines }) => cosines[n])] as const,
  );
  return [
    barTable(
      words.map(({ word }) => word),
      rows,
      0.6,
      (x) => formatNumber(x, { digits: 3 }),
    ),
    make(
      "p",
      `Cosines of last states; the other words are from ${words.map(({ text }) => `“${text}”`).join(", ")}.`,
    ),
    computedBy(code),
  ];
}

const gives = ({ from, to, weight }: Link) => [
  bold(from),
  ` gives ${percentOf(weight)} of its attention to `,
  bold(to),
];

/** The steps over the texts of the page; empty if one of them is not there. */
function stepsOver(texts: readonly string[], open: (target: Target) => void): readonly Step[] {
  const textOf = ({ text }: Link) => texts.indexOf(text);
  if (evidence.links.some((link) => textOf(link) < 0)) return [];
  const at = (link: Link, view: State["view"], against?: Link): Target => ({
    ...{ view, mode: "matrix", stage: "weights", text: textOf(link) },
    ...{ layer: link.layer, head: link.head, query: link.query, key: link.key },
    other: against === undefined ? null : { text: textOf(against), layer: against.layer, head: against.head },
  });
  const way = (link: Link) => actsOn([named(link.from), " → ", named(link.to)], () => open(at(link, "head")));
  const [why, , control] = evidence.why;
  const highest = [...evidence.cause.off.flat()].sort((a, b) => b - a);
  const { words } = evidence.becomes;
  const cosine = (word: string, n: number) =>
    formatNumber(words.find((it) => it.word === word)!.cosines[n], { digits: 2 });
  return [
    {
      label: "Look",
      target: at(TIME, "compare", FRUIT),
      sentence: () => [
        `One head of a real model, ${evidence.model}, in two sentences. `,
        ...gives(TIME),
        ` in one, ${percentOf(FRUIT.weight)} to `,
        bold(FRUIT.to),
        ` in the other: the word that tells its meaning. On average the other tokens give them ${percentOf(TIME.others)} and ${percentOf(FRUIT.others)}.`,
      ],
    },
    {
      label: "Control",
      target: at(RIVER, "compare", TABLE),
      sentence: () => [
        "Is it the place, or the word? ",
        ...gives(RIVER),
        ", three words later. With ",
        bold(TABLE.to),
        ` at that place, ${percentOf(TABLE.weight)}: a table does not tell which bank is meant, and the head does not look at it.`,
      ],
    },
    {
      label: "Why",
      target: at(TIME, "head"),
      sentence: () => [
        "A score is a sum over pairs of what made the query and the key. For ",
        bold(TIME.from),
        " → ",
        bold(TIME.to),
        ` it is ${formatNumber(why.score)} above the mean of its row: ${signed(why.words)} from the two words, ${signed(why.positions)} from their places, ${signed(why.rest)} from the rest. In the control the words give only ${signed(control.words)}.`,
      ],
      figure: reasons,
    },
    {
      label: "Cause",
      target: at(TIME, "head"),
      sentence: () => [
        "Does it matter? Turn one head off in both sentences, and the last states of the two ",
        bold("flies"),
        ` become more alike: their cosine changes by ${signed(highest[0])} without this head, by ${signed(highest[1])} without the next of the ${highest.length}. No other single head does as much to keep the two meanings apart.`,
      ],
      figure: effects,
    },
    {
      label: "Effect",
      target: at(FRUIT, "head"),
      sentence: () => [
        "What ",
        bold("flies"),
        ` becomes: its last state is near “runs” in one sentence (${cosine("runs", 0)}, against ${cosine("runs", 1)}), near “insect” in the other (${cosine("insect", 1)}, against ${cosine("insect", 0)}). “soars” hardly tells them apart.`,
      ],
      figure: becoming,
    },
    {
      label: "Where it fails",
      target: at(CAT, "head"),
      sentence: () => [
        "A large weight is no evidence. Here ",
        ...gives(CAT),
        `, but the other tokens give it ${percentOf(CAT.others)} on average. `,
        way(ARROW),
        ` is the same stripe, and `,
        way(NEIGHBOR),
        " is a head that looks at the previous token, whatever it is.",
      ],
    },
  ];
}

/** Whether a state shows the picture of a step. */
const isAt = (state: State, target: Target): boolean =>
  (["view", "mode", "text", "layer", "head", "query", "key"] as const).every(
    (name) => state[name] === target[name],
  );

/** The story in the page's line: a button for each step, the sentence and the numbers of the current one. */
export class Story {
  readonly #view: AttentionViewElement;
  readonly #texts: readonly string[];
  readonly #steps: readonly Step[];
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #figure: HTMLElement;
  readonly #sentence: HTMLElement;
  #at = -1;
  /** What is set once the step's text is open. */
  #pending: Target | undefined;

  constructor(
    view: AttentionViewElement,
    texts: readonly string[],
    places: Readonly<Record<"steps" | "sentence" | "figure", HTMLElement>>,
  ) {
    this.#view = view;
    this.#texts = texts;
    this.#figure = places.figure;
    this.#sentence = places.sentence;
    this.#steps = stepsOver(texts, (target) => {
      this.#open(target);
    });
    this.#buttons = this.#steps.map(({ label }, n) => actsOn(`${n + 1} ${label}`, () => this.go(n)));
    places.steps.replaceChildren(...this.#buttons);
    places.steps.hidden = this.#steps.length === 0;
  }

  /** Shows a step, and its picture in the explorer. */
  go(n: number): void {
    const step = this.#steps[n];
    if (step === undefined) return;
    this.#at = n;
    this.#sentence.hidden = false;
    this.#open(step.target);
    this.#sentence.replaceChildren(...step.sentence());
    this.#figure.replaceChildren(...(step.figure?.() ?? []));
    this.#mark();
  }

  /**
   * Shows the step of the state that the page opens with, if it is one. `heed view` opens the first link in its own head: the story starts
   * with its pair.
   */
  start(state: State): void {
    const first = this.#steps[0]?.target;
    if (first === undefined) return;
    if (isAt(state, { ...first, view: "head" })) this.go(0);
    else this.go(this.#steps.findIndex(({ target }) => isAt(state, target)));
  }

  /** A text was opened: the cursor goes to the step's link, not to the text's own. A text that was asked for before is not waited for. */
  loaded(name: string): void {
    const target = this.#pending;
    if (target === undefined || this.#texts[target.text] !== name) return;
    this.#pending = undefined;
    const { state } = this.#view;
    // A view that was chosen meanwhile stays: the step has ended.
    if ((["text", "view", "mode"] as const).every((part) => state[part] === target[part]))
      this.#view.state = target;
  }

  /** Whether the explorer shows the picture of the current step; where it shows another, the step ends. */
  get isShown(): boolean {
    const step = this.#steps[this.#at];
    if (step === undefined) return false;
    if (this.#pending !== undefined) return true;
    const { state } = this.#view;
    const isSame = isAt(state, step.target);
    if (!isSame) {
      this.#at = -1;
      this.#figure.replaceChildren();
      this.#mark();
    }
    return isSame;
  }

  /** Shows a picture; if its text has to be opened, the cursor is set again after that. */
  #open(target: Target): void {
    const isOpen = this.#view.store?.report.name === this.#texts[target.text];
    this.#pending = isOpen && this.#view.state.text === target.text ? undefined : target;
    this.#view.state = target;
  }

  /** Ends the story: another text follows, which opens as one head. */
  end(): void {
    if (this.isShown) this.#view.state = { view: "head", other: null };
  }

  #mark(): void {
    this.#figure.hidden = this.#figure.childElementCount === 0;
    for (const [n, button] of this.#buttons.entries())
      if (n === this.#at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
  }
}
