/** The map: every page in the order of reading, with its first picture, what it says, and a question that it answers. */

import { html, nothing, type TemplateResult } from "../../../ui/markup.ts";
import { svgText } from "../../../ui/svg-text.ts";
import type { NamedPage } from "../page.ts";

/** The map's own style, and that of the course page. */
export const MAP_STYLE = `.map{max-inline-size:900px;margin:0 auto;padding:32px 20px 96px;font:16px/26px var(--serif)}
.map .lead{font-size:19px;line-height:30px;color:var(--second);margin-block-end:16px;max-inline-size:640px}
.map .small{margin-block-end:24px}
.map ol{list-style:none;margin:0;padding:0;counter-reset:page}
.map li{display:grid;grid-template-columns:40px 1fr 250px;gap:0 20px;padding:24px 0;border-block-start:1px solid var(--line);counter-increment:page}
.map li::before{content:counter(page);font:600 20px/28px var(--serif);color:var(--third)}
.map h2{margin:0}.map h2 a{text-decoration:none}.map h2 a:hover{text-decoration:underline}
.map .goal{margin-block-start:8px}.map .goal,.map .meta{font:13px/20px var(--sans);color:var(--second)}
.map li svg{display:block;inline-size:100%;block-size:auto}
@media (max-width:899px){.map{padding-inline:16px}.map li{grid-template-columns:28px 1fr}.map li svg{grid-column:2;max-inline-size:300px;margin-block-start:12px}}
`;

/** The inside of the map. `pictures` are the first pictures of the pages, as text. */
export function mapOf(
  pages: readonly NamedPage[],
  pictures: ReadonlyMap<string, string>,
  explorer: string,
  docs?: string,
): TemplateResult {
  const titleOf = (name: string) => pages.find((page) => page.name === name)!.title;
  return html`<h1>The Lab</h1>
<p class="lead">Attention, by doing. Change something, and see what it does: heed computes the numbers while you watch. Only those of a larger model and of long training were recorded.</p>
<p class="small">Start with the first page. <a href="course/index.html">You come from a course?</a> <a href="${explorer}index.html">The explorer</a> shows all heads of a real model on the same sentence.${docs === undefined ? nothing : html` <a href=${docs}>The documentation</a> has the same as chapters.`}</p>
<ol>${pages.map(
    ({ name, title, point, minutes, needs, recall }) =>
      html`<li data-page=${name}><div><h2><a href="${name}.html">${title}</a></h2><p>${point}</p>
<p class="goal">Afterwards you can answer: ${recall[0][0]} ${recall[1][0]}</p>
<p class="meta">${minutes} minutes${needs.length > 0 ? `, after ${needs.map(titleOf).join(", ")}` : ""} <span data-done></span></p></div>
${svgText(pictures.get(name)!)}</li>`,
  )}</ol>`;
}
