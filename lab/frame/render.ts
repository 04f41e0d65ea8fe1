/** The frame of every page as markup: text on the left, the picture on the right, and what is below each. */
import { coordinate, escapeXml } from "../../src/view/plot/svg.ts";
import { html, nothing, type TemplateResult } from "../../ui/markup.ts";
import { encodeState, type LabState } from "./fields.ts";
import { named } from "./marks.ts";
import type { LabPage, LabStep, LabView, Prediction } from "./page.ts";
import { changeOf, guessOf, NARROW, WIDE } from "./page.ts";

/** The picture as text: an SVG element of the wide or the narrow size. */
export function pictureOf<S extends LabState, N>(page: LabPage<S, N>, view: LabView<S, N>): string {
  const { width, height } = view.wide ? WIDE : NARROW;
  return `<svg class="${view.wide ? "wide" : "narrow"}" viewBox="0 0 ${coordinate(width)} ${coordinate(height)}" role="group" aria-label="${escapeXml(page.label(view))}">${page.picture(view)}${guessMarks(page, view)}</svg>`;
}

/** Whether a state is one that answers a prediction's question. */
const isAnswer = <S extends LabState, N>(
  page: LabPage<S, N>,
  state: S,
  { show }: Prediction<S, N>,
): boolean => encodeState(page.fields, page.check({ ...state, ...changeOf(show, state) }), state) === "";

/** Whether the text of a step is about a state: its own condition holds, and the answer to a prediction is that of its question. */
export function isAbout<S extends LabState, N>(page: LabPage<S, N>, state: S, at: number): boolean {
  const { fixed, about, predict } = page.steps[at];
  if (fixed || about?.(state) === false) return false;
  return predict === undefined || guessOf(state, at) < 0 || isAnswer(page, state, predict);
}

/** The reader's guesses as marks in the picture, each while the picture shows the state that answers its question. */
function guessMarks<S extends LabState, N>(page: LabPage<S, N>, view: LabView<S, N>): string {
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

/** One step of the text. `at` counts from 0. */
export function renderStep<S extends LabState, N>(step: LabStep<S, N>, view: LabView<S, N>, at: number) {
  const title = typeof step.title === "function" ? step.title(view) : step.title;
  return html`<h2>${title} <a class="anchor" href="#stop${at + 1}" aria-label="Link to this step">#</a></h2>${step.text(view)}${step.predict ? renderPrediction(step.predict, view, at) : nothing}`;
}

/** A guess as the page says it. */
export const formatGuess = <S extends LabState, N>(predict: Prediction<S, N>, guess: number): string =>
  predict.formatGuess?.(guess) ?? `${guess}${predict.unit}`;

/** Why guesses are wrong, by ranges. */
export const reasonsOf = <S extends LabState, N>({ why }: Prediction<S, N>, view: LabView<S, N>) =>
  typeof why === "function" ? why(view) : why;

/** Why a guess is wrong, "" where it is about right. */
export function reasonOf<S extends LabState, N>(
  predict: Prediction<S, N>,
  guess: number,
  view: LabView<S, N>,
): string {
  const reason = reasonsOf(predict, view).find(([low, high]) => guess >= low && guess <= high);
  return reason === undefined ? "" : ` ${reason[2]}`;
}

/** The question, or, once it is answered, the guess and the result. */
function renderPrediction<S extends LabState, N>(
  predict: Prediction<S, N>,
  view: LabView<S, N>,
  at: number,
): TemplateResult {
  const question = typeof predict.question === "function" ? predict.question(view) : predict.question;
  const guess = guessOf(view.state, at);
  if (guess >= 0)
    return html`<div class="predict answered"><p>${question}</p><p class="said">You said ${formatGuess(predict, guess)}. ${predict.result(view)}${reasonOf(predict, guess, view)}</p>
<p><button type="button" class="quiet" data-act="forget:${at}">Guess again</button></p></div>`;
  const { min, max, step, start } = predict;
  const first = formatGuess(predict, start);
  // The output is a property: the reader's input writes it (input.ts).
  return html`<div class="predict"><p><b>Predict.</b> ${question}</p>
<p class="row"><input type="range" min=${min} max=${max} step=${step} value=${start} data-guess=${at} aria-label="Your guess" aria-valuetext=${first}><output .textContent=${first}></output>
<button type="button" data-act="predict:${at}">Show</button></p></div>`;
}

/** The control, and, once the reader has used it, the others. */
export function renderControl<S extends LabState, N>(
  page: LabPage<S, N>,
  view: LabView<S, N>,
): TemplateResult {
  const more = view.changed ? page.more?.(view) : undefined;
  return html`<div class="first">${page.control(view)}</div>${more ? html`<div class="others">${more}<button type="button" class="quiet narrow-only" data-act="reset">Reset</button></div>` : nothing}`;
}

/** Code in two languages, the lines that the picture is about now marked, and what it prints. */
export function renderCode<S extends LabState, N>(
  { code }: LabPage<S, N>,
  view: LabView<S, N>,
): TemplateResult {
  const marked = code.highlight(view);
  return html`<div class="code ts"><pre tabindex="0" aria-label="TypeScript">${listing(code.typescript(view), marked, code.names)}</pre></div>
<div class="code py"><pre tabindex="0" aria-label="NumPy">${listing(code.python(view), marked, code.names)}</pre></div>
<p class="small">Both print, for what the picture shows now:</p>
<pre class="printed" tabindex="0" aria-label="Output">${code.printed(view)}</pre>`;
}

const WORD = /[A-Za-z_][A-Za-z_0-9]*/g;

function listing(text: string, marked: readonly string[], names: Readonly<Record<string, string>>): unknown {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const content: unknown[] = [];
      let from = 0;
      const comment = line.search(/\/\/|#/);
      // A module's name in quotes is not a variable.
      const quoted = line.search(/["'](?=[\w/]+["'];?$)/);
      for (const match of line.matchAll(WORD)) {
        if ((comment >= 0 && match.index > comment) || (quoted >= 0 && match.index > quoted)) break;
        if (!Object.hasOwn(names, match[0])) continue;
        content.push(line.slice(from, match.index));
        content.push(html`<span class="var" data-ref=${names[match[0]]}>${match[0]}</span>`);
        from = match.index + match[0].length;
      }
      content.push(line.slice(from));
      return marked.some((part) => line.includes(part))
        ? html`<mark>${content}</mark>\n`
        : html`<span>${content}</span>\n`;
    });
}

/** The numbers of the picture as a table. */
export function renderTable<S extends LabState, N>(page: LabPage<S, N>, view: LabView<S, N>): TemplateResult {
  const { caption, columns, rows } = page.table(view);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><caption>${caption}</caption>
<thead><tr>${columns.map((name) => (name === "" ? html`<td></td>` : html`<th scope="col">${name}</th>`))}</tr></thead>
<tbody>${rows.map(
    ([first, ...rest]) =>
      html`<tr><th scope="row">${first}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** The tasks; `done` says which were reached. */
export function renderTasks<S extends LabState, N>(
  page: LabPage<S, N>,
  done: readonly boolean[],
  view: LabView<S, N>,
): TemplateResult {
  const near = (i: number) => {
    const missing = view.changed && !done[i] && page.tasks[i].reached(view);
    return typeof missing === "string" ? html` <i class="near">${missing}</i>` : nothing;
  };
  return html`<ul class="tasks">${page.tasks.map(
    ({ text }, i) =>
      html`<li class=${done[i] ? "done" : ""}><span class="tick" role="img" aria-label=${/* text */ done[i] ? "done" : "not yet"}>${done[i] ? "✓" : "○"}</span> <span>${text}${near(i)}</span></li>`,
  )}</ul>`;
}
