/** "Heads over many texts": progress, and the heads whose strongest link holds in most texts, each with its examples, which open. */
import { html, nothing, type TemplateResult } from "lit";
import type { HeadOverTexts, TextExample } from "../../../src/store/measures/over-texts.ts";
import { commandFor, textsOf } from "../../state/over-texts.ts";
import { numeral, quoted, type Ui } from "../ui.ts";

/** How many heads are listed. */
const LISTED = 12;

export function textsSheet(ui: Ui, close: () => void): TemplateResult {
  const { session, act } = ui;
  const list = textsOf(session);
  const { reader } = session;
  const choose = html`<p class="buttons"><button type="button" class="bordered" @click=${() => act("pick")}>Choose a list of texts</button></p>
    <p class="quiet">A .txt file with a text on each line${reader === undefined ? html`. No model is behind this page: <code>${commandFor("list.txt")}</code> measures it` : `, read by ${reader.name}`}.</p>`;
  if (list === undefined) return choose;
  const { heads, error, stop, texts, done } = list;
  return html`<p>${list.name}, read by ${list.model}: ${numeral(texts, "texts")} ${texts === 1 ? "text" : "texts"}. In how many the strongest link of a head is above chance, and its contrast.</p>
    ${
      stop !== undefined
        ? html`<p class="quiet" role="status">${numeral(Math.round(done * texts), "texts")} of ${numeral(texts, "texts")} <progress max="1" value=${done} aria-label="Texts that have been measured"></progress> <button type="button" class="bordered" @click=${stop}>Stop</button></p>`
        : nothing
    }
    ${error === undefined ? nothing : html`<p class="warning" role="alert">${error}</p>`}
    ${heads === undefined ? nothing : table(ui, heads, close)}
    ${stop === undefined ? choose : nothing}`;
}

function table(ui: Ui, heads: readonly HeadOverTexts[], close: () => void): TemplateResult {
  return html`<table class="over-texts"><thead><tr><th scope="col">head</th><th scope="col" class="num">holds</th><th scope="col" class="num">contrast</th><th scope="col" class="num">spread</th></tr></thead>
    ${heads.slice(0, LISTED).map(
      (it) => html`<tbody><tr><th scope="row">L${it.layer} H${it.head}</th>
      <td class="num">${numeral(it.holds, "headsOverTexts holds")} of ${numeral(it.contrast.texts, "headsOverTexts texts")}</td>
      <td class="num">${numeral(it.contrast.mean, "headsOverTexts contrast")}</td><td class="num">${numeral(it.contrast.spread, "headsOverTexts spread")}</td></tr>
      <tr><td colspan="4"><ul>${it.strongest.map((one) => example(ui, it, one, "+", close))}${it.failing.map((one) => example(ui, it, one, "−", close))}</ul></td></tr></tbody>`,
    )}</table>
    ${heads.length > LISTED ? html`<p class="quiet">${numeral(heads.length - LISTED, "heads")} more heads hold in fewer texts.</p>` : nothing}`;
}

/** A link in a text; a click opens the text at this link. */
function example(
  { session, open }: Ui,
  { layer, head }: HeadOverTexts,
  { text, query, key, queryToken, keyToken, weight }: TextExample,
  sign: string,
  close: () => void,
): TemplateResult {
  const show = async () => {
    try {
      const source = await session.reader?.read(text);
      if (source === undefined) return;
      close();
      await open(source);
      session.set({ layer, head, query, key });
    } catch (error) {
      session.notify({ kind: "error", text: `Could not open the text. ${(error as Error).message}` });
    }
  };
  return html`<li>${sign} <button type="button" class="link" @click=${() => void show()}>${quoted(queryToken)} → ${quoted(keyToken)}</button> ${numeral(weight, "headsOverTexts weight")} <span class="quiet">${text}</span></li>`;
}
