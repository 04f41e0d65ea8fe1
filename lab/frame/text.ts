/** A whole page as markup, for the build and the element: its text column, and the picture with what is below it. */
import { html, nothing, type TemplateResult } from "../../ui/markup.ts";
import { svgText } from "../../ui/svg-text.ts";
import type { LabState } from "./fields.ts";
import type { LabPage, LabStep, LabView, OpenTask } from "./page.ts";
import { pictureOf, renderCode, renderControl, renderStep, renderTable, renderTasks } from "./render.ts";

const TOOLS = html`<div class="tools">
<button type="button" class="quiet" data-act="undo">Undo</button>
<button type="button" class="quiet" data-act="reset">Reset</button>
<button type="button" class="quiet" data-act="link">Copy link</button>
<button type="button" class="quiet" data-act="svg">Save SVG</button>
<button type="button" class="quiet" data-act="csv">Save CSV</button>
<span class="saying" role="status"></span>
</div>`;

/** The picture in both sizes, of which the style sheet shows one, with its caption, and the control under it. */
export function renderStage<S extends LabState, N>(page: LabPage<S, N>, view: LabView<S, N>): TemplateResult {
  return html`<div class="stage">
<p class="busy" aria-hidden="true">computing …</p>
<figure><div class="picture" data-part="picture">${[true, false].map((wide) => svgText(pictureOf(page, { ...view, wide })))}</div>
<figcaption data-part="caption">${page.caption(view)}</figcaption></figure>
<p class="problem" role="alert" hidden></p>
<div class="control" data-part="control">${renderControl(page, view)}</div>
${TOOLS}</div>`;
}

/** The open task: what may be used, the reader's lines, and what running them says. */
function renderOpen({ text, inputs, start, answer }: OpenTask): TemplateResult {
  const names = Object.entries(inputs).map(([name, value]) =>
    typeof value === "object" ? `${name} (${value.join(" × ")})` : name,
  );
  return html`<section class="open"><h2>Write it</h2><p>${text}</p>
<p class="small">There are ${names.join(", ")}; <code>+ - * / ** @ .T &lt; == and or not</code>, <code>exp sqrt tanh log where maximum concat</code>, and by rows <code>softmax sum max</code>. The last line is the result.</p>
<textarea rows=${Math.max(3, answer.split("\n").length + 1)} spellcheck="false" autocapitalize="off" aria-label="Your lines">${start}</textarea>
<p><button type="button" data-act="check">Run</button> <button type="button" class="quiet" data-act="answer">Show an answer</button></p>
<p class="verdict" role="status"></p></section>`;
}

/** For teachers: the notes of the page, and a link that carries a task. */
const renderShare = (
  notes: string,
): TemplateResult => html`<section class="share"><details><summary>For a class</summary>
<p>The <a href=${notes}>teacher’s notes</a> have the aim, the questions with their answers, and the usual mistakes.</p>
<p>A link with a task of yours opens this page as it is set now, with your sentence. The task is above the text; its answer is folded until it is asked for.</p>
<label>Task <textarea rows="2" maxlength="1000" name="task"></textarea></label>
<label>Answer, if there is one <textarea rows="2" maxlength="1000" name="answer"></textarea></label>
<p><button type="button" data-act="share">Copy the link</button> <span class="saying" role="status"></span></p></details></section>`;

/** What is around a page: the page after it, where the explorer is, and its open task. */
export interface Surroundings {
  readonly next?: { readonly name: string; readonly title: string; readonly point: string };
  readonly explorer: string;
  readonly open: OpenTask;
  /** Address of the page's notes for teachers; a page in an element has none. */
  readonly notes?: string;
}

/** A picture for pages without scripts: without what only a script uses, such as marks that can be pressed or reached by keys. */
export const withoutActions = (picture: string): string =>
  picture
    .replaceAll(/<rect [^>]*class="hit"\/>/g, "")
    .replaceAll(/<(?!svg)[^>]+>/g, (tag) =>
      tag.replaceAll(
        / (?:data-(?!name="error")[a-z]+|tabindex|role|aria-[a-z]+|class="(?:press|drag[^"]*)")(?:="[^"]*")?/g,
        "",
      ),
    )
    .replace('role="group"', 'role="img"');

/** The text: its steps, each with its own numbers, then code, table, tasks and questions. */
export function renderText<S extends LabState, N>(
  page: LabPage<S, N>,
  views: readonly LabView<S, N>[],
  /** For pages without scripts, the pictures of the steps, each with the answer to its prediction. */
  staticViews: readonly LabView<S, N>[],
  { next, explorer, open, notes }: Surroundings,
): TemplateResult {
  const still = (step: LabStep<S, N>, view: LabView<S, N> | undefined) =>
    view === undefined
      ? nothing
      : html`<div class="still">${step.predict ? html`<p>${step.predict.result(view)}</p>` : nothing}<figure>${svgText(withoutActions(pictureOf(page, { ...view, wide: false })))}<figcaption>${page.caption(view)}</figcaption></figure></div>`;
  return html`<article class="text"><h1>${page.title}</h1><p class="point">${page.point}</p>
${page.steps.map((step, i) => html`<section class="step" id="stop${i + 1}" data-step=${i}><div data-part="step-${i}">${renderStep(step, views[i], i)}</div>${still(step, staticViews[i])}</section>`)}
<section><h2>The same in code</h2>
<div class="languages"><input type="radio" name="language" id="ts" checked><label for="ts">TypeScript, heed</label>
<input type="radio" name="language" id="py"><label for="py">NumPy</label>
<div data-part="code">${renderCode(page, views[0])}</div></div>
<p class="small hint">Point at a colored name: the picture shows what it is.</p></section>
<section><h2>Try</h2><div data-part="tasks">${renderTasks(page, [], views[0])}</div></section>
<section><h2>Can you answer without looking?</h2>
${page.recall.map(([question, answer]) => html`<details class="recall"><summary>${question}</summary><p>${answer}</p></details>`)}</section>
${renderOpen(open)}
<section><details><summary>The picture as a table</summary><div data-part="table">${renderTable(page, views[0])}</div></details>
<div class="narrow-only">${TOOLS}</div></section>
<section><h2>What you may not conclude</h2><p>${page.limits}</p>
<p><a class="trained" href=${explorer + page.trained.address}>${page.trained.text}</a></p>
${page.trained.more ? html`<ul class="more">${page.trained.more.map(({ text, address }) => html`<li><a href=${explorer + address}>${text}</a></li>`)}</ul>` : nothing}
${next ? html`<p class="next"><a href="${next.name}.html">Next: ${next.title}</a> <span>${next.point}</span></p>` : nothing}</section>
${notes === undefined ? nothing : renderShare(notes)}</article>`;
}
