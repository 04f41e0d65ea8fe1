/** What is there while nothing is open: what to do, what is going on, or what went wrong and what to do about it. */
import { html, type TemplateResult } from "lit";
import { figure, type Ui } from "../ui.ts";

export function welcome({ session, act }: Ui): TemplateResult {
  const { status } = session;
  if (status.kind === "loading")
    return html`<div class="welcome" role="status"><h2>Opening ${status.what}</h2>
      <p>${figure(status.done, "progress", { style: "percent" })} read.</p></div>`;
  return html`<div class="welcome">
    ${
      status.kind === "error"
        ? html`<div role="alert"><h2>${status.title}</h2><p>${status.text}</p></div>`
        : html`<h2>Open attention to look at</h2>`
    }
    <p class="buttons"><button type="button" class="bordered" @click=${() => act("pick")}>Choose a file</button>
      <button type="button" class="bordered" @click=${() => act("sample")}>Look at a sample</button></p>
    <p>Or drop a file anywhere here. These are read:</p>
    <ul>
      <li>a heed bundle: a .safetensors file with q and k (or weights) of each layer, and the tokens</li>
      <li>.npz or .npy with <code>q</code> and <code>k</code>, or <code>attn</code></li>
      <li>.json as BertViz ([layer][head][query][key]) and CircuitsVis ([head][query][key]) have it</li>
    </ul>
    <p class="quiet">Files are read here, in this page. Nothing leaves this machine.</p>
  </div>`;
}

/** The same on somebody else's page: its readers cannot mend a wrong address, and did not come to open files. */
export function forReaders(ui: Ui): TemplateResult {
  const { status } = ui.session;
  if (status.kind === "empty") return welcome(ui);
  return status.kind === "error"
    ? html`<div class="welcome" role="alert"><p>The attention that belongs here could not be shown.</p></div>`
    : welcome(ui);
}
