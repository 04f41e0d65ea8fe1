/** Teacher's notes of a page, written from what the page has: its aim and times, questions with answers, usual mistakes, tasks. */
import { html, nothing, type TemplateResult } from "../../../ui/markup.ts";
import type { LabState } from "../fields.ts";
import type { LabPage, LabView, NamedPage, PageNotes } from "../page.ts";
import { formatGuess, reasonsOf } from "../render.ts";

/** What only the notes need: the site writes it into a file of its own. */
export const NOTES_STYLE = `.notes{max-inline-size:720px;margin:0 auto;padding:32px 20px 64px;font:16px/26px var(--serif)}
.notes h2{margin-block:28px 6px}.notes :is(p,ul,ol){margin-block:0 12px}.notes :is(ul,ol){padding-inline-start:22px}.notes ul{list-style:disc}
.notes pre{padding:4px 8px}.notes code{white-space:pre-wrap}
@media print{.notes{padding:0;font-size:11pt;line-height:1.4}}
`;

/** The inside of the notes. `answers` are the views of the steps with their predictions answered. */
export function notesOf<S extends LabState, N>(
  page: LabPage<S, N> & Pick<NamedPage, "name">,
  answers: readonly LabView<S, N>[],
  needs: readonly string[],
  open: PageNotes,
): TemplateResult {
  const link = (at: number) => `../${page.name}.html#stop${at + 1}`;
  const predictions = page.steps.flatMap((step, at) =>
    step.predict ? [{ step, at, predict: step.predict }] : [],
  );
  return html`<h1>${page.title}: teacher’s notes</h1>
<p class="point">${page.point}</p>
<p><b>Afterwards one can:</b> ${open.goal}</p>
<p>${page.minutes} minutes for one reader.${needs.length > 0 ? ` It comes after ${needs.join(", ")}.` : ""} <a href="../${page.name}.html">Open the lesson</a>.</p>
<h2>Steps</h2>
<ul>${page.steps.map(({ title }, at) => html`<li><a href=${link(at)}>${typeof title === "function" ? title(answers[at]) : title}</a></li>`)}</ul>
${
  predictions.length === 0
    ? nothing
    : html`<h2>Ask before you show</h2>
${predictions.map(
  ({ predict, at }) =>
    html`<p><b>${typeof predict.question === "function" ? predict.question(answers[at]) : predict.question}</b> (<a href=${link(at)}>step ${at + 1}</a>) ${predict.result(answers[at])}</p>
<ul>${[...reasonsOf(predict, answers[at])].sort(([a], [b]) => a - b).map(([low, high, reason]) => html`<li>The answer ${formatGuess(predict, low)}${high === low ? "" : ` to ${formatGuess(predict, high)}`}: ${reason}</li>`)}</ul>`,
)}`
}
<h2>Ask afterwards</h2>
${page.recall.map(([question, answer]) => html`<p><b>${question}</b> ${answer}</p>`)}
<h2>Tasks</h2>
<ol>${page.tasks.map(({ text }) => html`<li>${text}</li>`)}<li>${open.text}</li></ol>
<p>The first two tick themselves on the page. The third is written there and checked on new numbers. An answer to it:</p>
<pre>${open.answer}</pre>
<h2>Usual mistakes in the third</h2>
<ul>${open.mistakes.map(([program, says]) => html`<li><code>${program}</code>: ${says}</li>`)}</ul>
<h2>What may not be concluded</h2>
<p>${page.limits}</p>`;
}
