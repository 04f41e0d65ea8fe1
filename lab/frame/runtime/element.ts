/**
 * `<attention-lab page="saturation">`: one page of the Lab inside any other page, in a shadow root of its own. Attributes:
 * `page`, and `explorer`, the address of the explorer's pages for the link at the end. The state is not written into the address. The
 * module may come from another origin if it is sent with CORS; the policy of the page must then allow `blob:` workers.
 */
import { PAGES } from "../../pages.ts";
import { html } from "../markup.ts";
import { changeOf, type Page, type State, type View } from "../page.ts";
import { renderStage, renderText } from "../render.ts";
import { style } from "../style.ts";
import type { ComputeReply } from "./messages.ts";
import { type Mounted, mount } from "./mount.ts";
import { startWorker } from "./start-worker.ts";

let sheet: CSSStyleSheet | undefined;

const worker = () => startWorker(new URL("./lab-worker.js", import.meta.url));

/** The element. */
export class AttentionLab extends HTMLElement {
  static readonly tag = "attention-lab";
  static readonly observedAttributes = ["page"];
  #mounted: Mounted | undefined;
  /** Counts connections and changes of page: work that an earlier one started is dropped. */
  #turn = 0;

  connectedCallback(): void {
    void this.#show();
  }

  disconnectedCallback(): void {
    this.#turn++;
    this.#mounted?.end();
    this.#mounted = undefined;
  }

  attributeChangedCallback(): void {
    if (this.isConnected) void this.#show();
  }

  async #show(): Promise<void> {
    const turn = ++this.#turn;
    this.#mounted?.end();
    this.#mounted = undefined;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(style(":host"));
    }
    root.adoptedStyleSheets = [sheet];
    const name = this.getAttribute("page") ?? "";
    const entry = PAGES.find((one) => one.name === name);
    if (entry === undefined) {
      root.innerHTML =
        html`<p class="problem">The Lab has no page “${name}”. Its pages are ${PAGES.map((one) => one.name).join(", ")}.</p>`.text;
      return;
    }
    // The title is where the page's own will be; `waiting` keeps space for the rest.
    root.innerHTML =
      html`<div class="lab waiting"><div class="columns"><article class="text"><h1>${entry.title}</h1><p class="point">${entry.point}</p><p role="status">The numbers of this page are being computed.</p></article></div></div>`.text;
    const views: View[] = [];
    let page: Page;
    try {
      page = await entry.load();
      const first = await this.#numbers(page, changeOf(page.steps[0].state, page.initial));
      // Stops whose text keeps its own numbers need them now; the others are written when they are reached.
      for (const step of page.steps)
        views.push(step.fixed ? await this.#numbers(page, changeOf(step.state, page.initial)) : first);
    } catch (error) {
      if (turn !== this.#turn) return;
      root.innerHTML =
        html`<p class="problem">This page could not be computed: ${(error as Error).message}</p>`.text;
      return;
    }
    if (turn !== this.#turn) return;
    const explorer = this.getAttribute("explorer") ?? new URL("../explorer/", import.meta.url).href;
    root.innerHTML =
      html`<div class="lab"><div class="columns">${renderText(page, views, [], views[0], { explorer })}${renderStage(page, views[0])}</div></div>`.text;
    this.#mounted = mount(page, root.querySelector<HTMLElement>(".lab")!, {
      worker,
      address: false,
    });
  }

  /** The numbers of a state, from a worker that is terminated after its reply. */
  #numbers(page: Page, change: Partial<State>): Promise<View> {
    const state = page.check({ ...page.initial, ...change } as State);
    const own = worker();
    return new Promise<View>((resolve, reject) => {
      own.addEventListener("message", ({ data }: MessageEvent<ComputeReply>) => {
        if (data.error !== undefined) reject(new Error(data.error));
        else if (data.progress === undefined)
          resolve({ state, numbers: data.numbers, wide: true, used: false });
      });
      own.addEventListener("error", (event) =>
        reject(new Error(event.message || "its worker could not be started")),
      );
      own.postMessage({ id: 1, page: page.name, state });
    }).finally(() => own.terminate());
  }
}

if (customElements.get(AttentionLab.tag) === undefined) customElements.define(AttentionLab.tag, AttentionLab);
