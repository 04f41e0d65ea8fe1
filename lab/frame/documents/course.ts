/** docs/course.md as a page of the Lab: headings, paragraphs, tables and code, with a link for each `PAGE#stopN`. */
import { escapeXml } from "../../../src/view/plot/svg.ts";

/** What the style of the Lab has no rules for: only this page loads it. */
export const COURSE_STYLE = `.map .course{inline-size:100%;table-layout:fixed;font:13px/20px var(--sans);margin-block:8px 32px;overflow-wrap:anywhere}
.map .course :is(th,td){white-space:normal;padding:6px 12px 6px 0;text-align:start;vertical-align:top;border-block-end:1px solid var(--line)}.course :is(th,td):nth-child(3){inline-size:22%}
.map :is(code,pre){font:12px/18px var(--mono);white-space:pre-wrap;overflow-wrap:anywhere}.map :is(p,pre){margin-block-end:14px}
@media (max-width:899px){.map .course :is(tr,td,tbody){display:block;inline-size:auto}.map .course thead{display:none}.map .course td:not(:last-child){border:0;padding-block-end:0}}
`;

/** The inside of the page. `pages` are the names of the Lab's pages. */
export function coursePage(markdown: string, pages: readonly string[]): string {
  const inline = (text: string): string =>
    escapeXml(text)
      .replaceAll(/`([^`]+)`/g, (_, code: string) => {
        const [page, stop] = code.split("#");
        if (!pages.includes(page)) return `<code>${code}</code>`;
        return `<a href="../${page}.html${stop ? `#${stop}` : ""}">${page}${stop ? `, ${stop.replace("stop", "step ")}` : ""}</a>`;
      })
      .replaceAll(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
      .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  const cells = (row: string, tag: string) =>
    `<tr>${row
      .slice(1, -1)
      .split("|")
      .map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`)
      .join("")}</tr>`;
  const block = (text: string): string => {
    const [first, , ...rows] = text.split("\n");
    const [, level, title] = /^(#+) (.*)$/.exec(text) ?? [];
    if (title !== undefined) return `<h${level.length}>${inline(title)}</h${level.length}>`;
    if (!text.startsWith("|")) return `<p>${inline(text)}</p>`;
    return `<table class="course"><thead>${cells(first, "th")}</thead><tbody>${rows.map((row) => cells(row, "td")).join("\n")}</tbody></table>`;
  };
  return markdown
    .trim()
    .split(/^```\w*\n([\s\S]*?)^```$/m)
    .map((text, n) =>
      n % 2 === 1 ? `<pre>${escapeXml(text)}</pre>` : text.trim().split(/\n\n+/).map(block).join("\n"),
    )
    .join("\n");
}
