/** The map: a picture of which page builds on which, and every page with its first picture and what a reader can do after it. */

import { element, text } from "../../../src/view/plot/svg.ts";
import { html, nothing, type TemplateResult } from "../../../ui/markup.ts";
import { svgText } from "../../../ui/svg-text.ts";
import { wrapped } from "../fit.ts";
import { line, rect } from "../marks.ts";
import type { NamedPage, PageNotes } from "../page.ts";

/** The map's own style, and that of the course page. */
export const MAP_STYLE = `.map{max-inline-size:900px;margin:0 auto;padding:32px 20px 96px;font:16px/26px var(--serif)}
.map .lead{font-size:19px;line-height:30px;color:var(--second);margin-block-end:16px;max-inline-size:640px}
.map .small{margin-block-end:24px}
.map ol{list-style:none;margin:0;padding:0;counter-reset:page}
.map li{display:grid;grid-template-columns:40px 1fr 220px;gap:0 20px;padding:20px 0;border-block-start:1px solid var(--line);counter-increment:page}
.map li::before{content:counter(page);font:600 20px/28px var(--serif);color:var(--third)}
.map h2{margin:0}.map h2 a{text-decoration:none}.map h2 a:hover{text-decoration:underline}
.map .goal{margin-block-start:8px}.map .meta{font:13px/20px var(--sans);color:var(--second)}
.map svg{display:block;inline-size:100%;block-size:auto}
.map .paths{margin-block-end:32px}.map .paths a{text-decoration:none}.map .paths a:hover rect{fill:var(--hover)}.map .paths rect{fill:var(--raised)}
.map .paths .narrow{display:none}
@media (max-width:899px){.map{padding-inline:16px}.map li{grid-template-columns:28px 1fr;padding:14px 0}.map li svg{display:none}.map .paths .wide{display:none}.map .paths .narrow{display:block}}
`;

/** A page on the map. */
interface MapEntry extends NamedPage, Pick<PageNotes, "goal" | "place"> {
  /** Its first picture, as text. */
  readonly drawing: string;
}

/** The pages as boxes, with a line from each to those that need it: from left to right, on a phone from top to bottom. */
function pathsOf(pages: readonly MapEntry[], wide: boolean): string {
  const [width, height] = wide ? [860, 250] : [343, 470];
  const [box, tall] = wide ? [124, 44] : [80, 62];
  const at = (name: string) => {
    const [along, line] = pages.find((page) => page.name === name)!.place;
    const [x, y] = wide ? [along / 5, line / 3] : [line / 3, along / 5];
    return [1 + x * (width - box - 2), 1 + y * (height - tall - 2)] as const;
  };
  const needed = (name: string): readonly string[] =>
    pages.find((page) => page.name === name)!.needs.flatMap((need) => [need, ...needed(need)]);
  const lines = pages.flatMap(({ name, needs }) =>
    // A page that another of the needed ones needs has its line already.
    needs
      .filter((need) => !needs.some((other) => needed(other).includes(need)))
      .map((need) => {
        const [[x0, y0], [x1, y1]] = [at(need), at(name)];
        return wide
          ? line(x0 + box, y0 + tall / 2, x1, y1 + tall / 2, "lthird")
          : line(x0 + box / 2, y0 + tall, x1 + box / 2, y1, "lthird");
      }),
  );
  const boxes = pages.map(({ name, title }, i) => {
    const [x, y] = at(name);
    const rows = wrapped(`${i + 1} ${title}`, wide ? 17 : 12);
    const texts = rows.map((row, r) =>
      text(x + box / 2, y + tall / 2 + 5 + 15 * (r - (rows.length - 1) / 2), row, {
        class: `mid ${i === 0 ? "bold " : ""}${wide ? "" : "s11"}`,
      }),
    );
    texts.unshift(rect(x, y, x + box, y + tall, { rx: 6, class: i === 0 ? "lq" : "lsecond" }));
    return element("a", { href: `${name}.html` }, texts.join(""));
  });
  return `<svg class="${wide ? "wide" : "narrow"}" viewBox="0 0 ${width} ${height}">${lines.join("")}${boxes.join("")}</svg>`;
}

/** The inside of the map. */
export function mapOf(pages: readonly MapEntry[], explorer: string, docs?: string): TemplateResult {
  return html`<h1>The Lab</h1>
<p class="lead">Attention, by doing. Change something, and see what it does: heed computes the numbers while you watch. Only those of a larger model and of long training were recorded.</p>
<p class="small">Start with the first page; a line leads to the pages that build on it. <a href="course/index.html">You come from a course?</a> <a href="${explorer}index.html">The explorer</a> shows all heads of a real model on the same sentence.${docs === undefined ? nothing : html` <a href=${docs}>The documentation</a> has the same as chapters.`}</p>
<nav class="paths" aria-label="Which page builds on which">${svgText(pathsOf(pages, true))}${svgText(pathsOf(pages, false))}</nav>
<ol>${pages.map(
    ({ name, title, point, minutes, goal, drawing }) =>
      html`<li data-page=${name}><div><h2><a href="${name}.html">${title}</a></h2><p>${point}</p>
<p class="goal"><b>After this you can:</b> ${goal}</p>
<p class="meta">${minutes} minutes <span data-done></span></p></div>
${svgText(drawing)}</li>`,
  )}</ol>`;
}
