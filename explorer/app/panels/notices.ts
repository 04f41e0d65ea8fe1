/** The lines below the bar: a tab for each source, and messages that stay until the user closes them. */
import { html, nothing, type TemplateResult } from "lit";
import { num } from "../../../src/store/text/number.ts";
import type { Notice } from "../session.ts";
import { type Ui, withCode } from "../ui.ts";

/** One button for each file or text; nothing if there is only one. */
export function sourceTabs({ session }: Ui): TemplateResult | typeof nothing {
  const { sources, state } = session;
  if (sources.length < 2) return nothing;
  const names = sources.map(({ name }) => title(name));
  return html`<nav class="sources" part="sources" aria-label="Texts and files">${sources.map(
    ({ name }, at) =>
      html`<button type="button" dir="auto" title=${name} aria-current=${at === state.text ? "page" : nothing} @click=${() => session.set({ text: at })}>${at === state.text ? title(name) : distinctTitle(at, names)}</button>`,
  )}</nav>`;
}

/** The name of a file, without its extension and at most 80 characters long. */
function title(name: string): string {
  return name.replace(/\.(?:heed|safetensors|npz|npy|json)$/i, "").slice(0, 80);
}

/** A name in which the words that start another one too are left out after the second: "The cat … soft". */
function distinctTitle(at: number, names: readonly string[]): string {
  const words = names[at].split(" ");
  const shared = names.map((other, n) => {
    if (n === at) return 0;
    const others = other.split(" ");
    const first = words.findIndex((word, i) => word !== others[i]);
    return first < 0 ? 0 : first;
  });
  const start = Math.max(...shared);
  return start < 4 ? names[at] : [...words.slice(0, 2), "…", ...words.slice(start)].join(" ");
}

/** Errors, and the warnings of the load report. */
export function notices({ session, act }: Ui): TemplateResult | typeof nothing {
  if (session.notices.length === 0) return nothing;
  // The newest is shown; the others are behind it, so that several take no more of the picture than one.
  const [first, ...others] = [...session.notices].reverse();
  const line = (
    notice: Notice,
  ) => html`<p class=${notice.kind}><span class="badge">${notice.kind === "error" ? "error" : "check"}</span>
      <span>${withCode(notice.text)}</span>
      ${notice.kind === "problem" ? html`<button type="button" class="bordered" @click=${() => act("report")}>What was loaded</button>` : nothing}
      <button type="button" aria-label="Close this message" @click=${() => session.dismiss(notice)}>×</button></p>`;
  return html`<div class="notices" part="notices" role="alert">${line(first)}${
    others.length === 0
      ? nothing
      : html`<details><summary>${num(others.length, "messages").text} more ${others.length === 1 ? "message" : "messages"}</summary>${others.map(line)}</details>`
  }</div>`;
}
