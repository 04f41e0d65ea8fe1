/** The page while nothing is open: how to open a file, the progress of opening, or an error. */
import { html, nothing, type TemplateResult } from "lit";
import { numeral, type Ui, withCode } from "../ui.ts";

export function welcome({ session, act }: Ui): TemplateResult {
  const { status } = session;
  if (status.kind === "loading")
    return html`<div class="welcome" role="status"><h2>Opening ${status.what}</h2>
      <p>${numeral(status.done, "progress", { style: "percent" })} read.</p></div>`;
  return html`<div class="welcome">
    ${
      status.kind === "error"
        ? html`<div role="alert"><h2>${status.title}</h2><p class="lines">${withCode(status.text)}</p></div>`
        : html`<h2>Open attention to look at</h2>`
    }
    <p class="buttons"><button type="button" class="bordered" @click=${() => act("pick")}>Choose a file</button>
      <button type="button" class="bordered" @click=${() => act("sample")}>Look at a sample</button></p>
    <p>Or drop a file anywhere on this page. Supported files:</p>
    <ul>
      <li>a heed bundle: a .safetensors file with q and k (or weights) of each layer, and the tokens</li>
      <li>.npz or .npy with <code>q</code> and <code>k</code>, or <code>attn</code></li>
      <li>.json in the layout of BertViz ([layer][head][query][key]) or CircuitsVis ([head][query][key])</li>
      ${session.reader === undefined ? nothing : html`<li>.txt with a text on each line: every head is measured over them</li>`}
    </ul>
    <p class="quiet">Files are read in this page. Nothing leaves this machine.</p>
  </div>`;
}

/** The same on a host page, whose readers cannot correct a wrong address. */
export function forReaders(ui: Ui): TemplateResult {
  return ui.session.status.kind === "error"
    ? html`<div class="welcome" role="alert"><p>The attention that belongs here could not be shown.</p></div>`
    : welcome(ui);
}
