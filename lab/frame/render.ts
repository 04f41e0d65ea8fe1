/** The frame of every page as markup: text on the left, the picture on the right, and what is below each. */
import { coordinate } from "../../src/view/figure/sheet.ts";
import { type Content, html, type Markup, raw } from "./markup.ts";
import {
  changeOf,
  NARROW,
  type Page,
  type Prediction,
  type State,
  type Step,
  type View,
  WIDE,
} from "./page.ts";
import { encodeState } from "./runtime/address.ts";
import { named } from "./svg.ts";

/** A page's entry on the map: enough to list it without loading it. */
export interface Entry {
  readonly name: string;
  readonly title: string;
  readonly point: string;
  readonly minutes: number;
  /** Names of the pages that should come before. */
  readonly needs: readonly string[];
}

/** The picture as an SVG element of the wide or the narrow size. */
export function renderPicture<S extends State, N>(page: Page<S, N>, view: View<S, N>): Markup {
  const { width, height } = view.wide ? WIDE : NARROW;
  return raw(
    `<svg class="${view.wide ? "wide" : "narrow"}" viewBox="0 0 ${coordinate(width)} ${coordinate(height)}" role="group" aria-label="${html`${page.label(view)}`}">${page.picture(view)}${renderGuesses(page, view)}</svg>`,
  );
}

/** The reader's guess at the prediction of a stop; −1 before there is one. */
export const guessOf = (state: State, at: number): number => Number(state[`guess${at}`] ?? -1);

/** Whether a state is one that answers a prediction's question. */
const isAnswer = <S extends State, N>(page: Page<S, N>, state: S, { show }: Prediction<S, N>): boolean =>
  encodeState(page.check({ ...state, ...changeOf(show, state) }), state) === "";

/** Whether the text of a stop is about a state: its own condition holds, and the answer to a prediction is that of its question. */
export function isAbout<S extends State, N>(page: Page<S, N>, state: S, at: number): boolean {
  const { fixed, about, predict } = page.steps[at];
  if (fixed || about?.(state) === false) return false;
  return predict === undefined || guessOf(state, at) < 0 || isAnswer(page, state, predict);
}

/** The reader's guesses as marks in the picture, each while the picture shows the state that answers its question. */
function renderGuesses<S extends State, N>(page: Page<S, N>, view: View<S, N>): string {
  const { state } = view;
  return page.steps
    .map(({ predict }, at) => {
      const guess = guessOf(state, at);
      if (predict === undefined || guess < 0) return "";
      return isAnswer(page, state, predict) || predict.always
        ? named("guess", predict.mark(guess, view))
        : "";
    })
    .join("");
}

/** One stop of the text. `at` counts from 0. */
export function renderStep<S extends State, N>(step: Step<S, N>, view: View<S, N>, at: number): Markup {
  const title = typeof step.title === "function" ? step.title(view) : step.title;
  return html`<h2>${title}</h2>${step.text(view)}${step.predict && renderPrediction(step, view, at)}`;
}

/** A guess as the page says it. */
export const saidOf = <S extends State, N>({ said, unit }: Prediction<S, N>, guess: number): string =>
  said?.(guess) ?? `${guess}${unit}`;

/** The question, or, once it is answered, the guess and the result. */
function renderPrediction<S extends State, N>(step: Step<S, N>, view: View<S, N>, at: number): Content {
  const { predict } = step;
  if (predict === undefined) return undefined;
  const question = typeof predict.question === "function" ? predict.question(view) : predict.question;
  const guess = guessOf(view.state, at);
  if (guess >= 0)
    return html`<div class="predict answered"><p>${question}</p><p class="said">You said ${saidOf(predict, guess)}. ${predict.result(view)}</p>
<p><button type="button" class="quiet" data-act="forget:${at}">Guess again</button></p></div>`;
  const { min, max, step: by, start } = predict;
  return html`<div class="predict"><p><b>Predict.</b> ${question}</p>
<p class="row"><input type="range" min="${min}" max="${max}" step="${by}" value="${start}" data-guess="${at}" aria-label="Your guess" aria-valuetext="${saidOf(predict, start)}"><output>${saidOf(predict, start)}</output>
<button type="button" data-act="predict:${at}">Show</button></p></div>`;
}

const TOOLS = html`<div class="tools">
<button type="button" class="quiet" data-act="reset">Reset</button>
<button type="button" class="quiet" data-act="link">Copy link</button>
<button type="button" class="quiet" data-act="svg">Save SVG</button>
<button type="button" class="quiet" data-act="csv">Save CSV</button>
<span class="saying" role="status"></span>
</div>`;

/** The picture with its caption, and the control under it. */
export function renderStage<S extends State, N>(page: Page<S, N>, view: View<S, N>): Markup {
  return html`<div class="stage">
<figure><div class="picture" data-part="picture">${renderPicture(page, { ...view, wide: true })}${renderPicture(page, { ...view, wide: false })}</div>
<figcaption data-part="caption">${page.caption(view)}</figcaption></figure>
<p class="problem" role="alert" hidden></p>
<div class="control" data-part="control">${renderControl(page, view)}</div>
${TOOLS}</div>`;
}

/** The control, and, once the reader has used it, the others. */
export function renderControl<S extends State, N>(page: Page<S, N>, view: View<S, N>): Markup {
  const more = view.used && page.more?.(view);
  return html`<div class="first">${page.control(view)}</div>${more && html`<div class="others">${more}<button type="button" class="quiet narrow-only" data-act="reset">Reset</button></div>`}`;
}

/** Code in two languages, the line that the picture is about now marked, and what it prints. */
export function renderCode<S extends State, N>(page: Page<S, N>, view: View<S, N>): Markup {
  const { code } = page;
  const lit = [code.lit?.(view) ?? []].flat();
  return html`<div class="code ts"><pre tabindex="0" aria-label="TypeScript">${listing(code.typescript(view), lit, code.names)}</pre></div>
<div class="code py"><pre tabindex="0" aria-label="NumPy">${listing(code.python(view), lit, code.names)}</pre></div>
<p class="small">Both print, for what the picture shows now:</p>
<pre class="printed" tabindex="0" aria-label="Output">${code.printed(view)}</pre>`;
}

const WORD = /[A-Za-z_][A-Za-z_0-9]*/g;

function listing(text: string, lit: readonly string[], names: Readonly<Record<string, string>>): Markup {
  const lines = text.trimEnd().split("\n");
  return html`${lines.map((line) => {
    const inside: Content[] = [];
    let from = 0;
    const comment = line.search(/\/\/|#/);
    for (const match of line.matchAll(WORD)) {
      if (comment >= 0 && match.index > comment) break;
      if (!Object.hasOwn(names, match[0])) continue;
      inside.push(line.slice(from, match.index));
      inside.push(html`<span class="var" data-ref="${names[match[0]]}">${match[0]}</span>`);
      from = match.index + match[0].length;
    }
    inside.push(line.slice(from));
    return lit.some((part) => line.includes(part))
      ? html`<mark>${inside}</mark>\n`
      : html`<span>${inside}</span>\n`;
  })}`;
}

/** The numbers of the picture as a table. */
export function renderTable<S extends State, N>(page: Page<S, N>, view: View<S, N>): Markup {
  const { caption, columns, rows } = page.table(view);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><caption>${caption}</caption>
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...rest]) =>
      html`<tr><th scope="row">${first}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** The tasks; `done` says which were reached. */
export function renderTasks<S extends State, N>(page: Page<S, N>, done: readonly boolean[]): Markup {
  return html`<ul class="tasks">${page.tasks.map(
    ({ text }, i) =>
      html`<li class="${done[i] ? "done" : ""}"><span class="tick" role="img" aria-label="${done[i] ? "done" : "not yet"}">${done[i] ? "✓" : "○"}</span> <span>${text}</span></li>`,
  )}</ul>`;
}

/** The text: its stops, each with its own numbers, then code, table, tasks and questions. */
export function renderText<S extends State, N>(
  page: Page<S, N>,
  views: readonly View<S, N>[],
  /** For pages without scripts, the pictures of the stops, each with the answer to its prediction. */
  stills: readonly View<S, N>[],
  first: View<S, N>,
  around: { readonly next?: Entry; readonly explorer: string },
): Markup {
  return html`<article class="text"><h1>${page.title}</h1><p class="point">${page.point}</p>
${page.steps.map(
  (
    step,
    i,
  ) => html`<section class="step" data-step="${i}"><div data-part="step-${i}">${renderStep(step, views[i], i)}</div>
${stills.length > 0 && html`<div class="still">${step.predict && html`<p>${step.predict.result(stills[i])}</p>`}<figure>${renderPicture(page, { ...stills[i], wide: false })}<figcaption>${page.caption(stills[i])}</figcaption></figure></div>`}</section>`,
)}
<section><h2>The same in code</h2>
<div class="languages"><input type="radio" name="language" id="ts" checked><label for="ts">TypeScript, heed</label>
<input type="radio" name="language" id="py"><label for="py">NumPy</label>
<div data-part="code">${renderCode(page, first)}</div></div>
<p class="small hint">Point at a colored name: the picture shows what it is.</p></section>
<section><h2>Try</h2><div data-part="tasks">${renderTasks(page, [])}</div></section>
<section><h2>Can you answer without looking?</h2>
${page.recall.map(([question, answer]) => html`<details class="recall"><summary>${question}</summary><p>${answer}</p></details>`)}</section>
<section><details><summary>The picture as a table</summary><div data-part="table">${renderTable(page, first)}</div></details>
<div class="narrow-only">${TOOLS}</div></section>
<section><h2>What you may not conclude</h2><p>${page.limits}</p>
<p><a class="trained" href="${around.explorer}${page.trained.address}">${page.trained.text}</a></p>
${page.trained.more && html`<ul class="more">${page.trained.more.map(({ text, address }) => html`<li><a href="${around.explorer}${address}">${text}</a></li>`)}</ul>`}
${around.next && html`<p class="next"><a href="${around.next.name}.html">Next: ${around.next.title}</a> <span>${around.next.point}</span></p>`}</section>
</article>`;
}
