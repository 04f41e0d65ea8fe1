/**
 * `<attention-lab page="saturation">`: one page of the Lab inside any other page, in a shadow root of its own. Attributes:
 * `page`, and `explorer`, the address of the explorer's pages for the link at the end. The state is not written into the address. The
 * module may come from another origin if it is sent with CORS; the policy of the page must then allow `blob:` workers.
 */
import { html, nothing, render, type TemplateResult } from "../../../ui/markup.ts";
import { startWorker } from "../../../ui/worker.ts";
import { PAGES } from "../../pages.ts";
import type { LabState } from "../fields.ts";
import { changeOf, type LabView, type NamedPage } from "../page.ts";
import { renderStage, renderText } from "../render.ts";
import { style } from "../style.ts";
import { type MountedPage, mount } from "./mount.ts";
import { Requests } from "./request.ts";

let sheet: CSSStyleSheet | undefined;

const worker = () => startWorker(new URL("./lab-worker.js", import.meta.url));

/** The element. */
class AttentionLab extends HTMLElement {
  static readonly tag = "attention-lab";
  static readonly observedAttributes = ["page"];
  #mounted: MountedPage | undefined;
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
    const entry = PAGES.find((page) => page.name === name);
    if (entry === undefined) {
      const names = PAGES.map((page) => page.name).join(", ");
      return write(root, html`<p class="problem">The Lab has no page “${name}”. Its pages are ${names}.</p>`);
    }
    // The title is where the page's own will be; `waiting` keeps space for the rest.
    const waiting = (page?: NamedPage) =>
      html`<div class="lab waiting"><div class="columns"><article class="text">${page === undefined ? nothing : html`<h1>${page.title}</h1><p class="point">${page.point}</p>`}<p role="status">The numbers of this page are being computed.</p></article></div></div>`;
    write(root, waiting());
    try {
      const page = await entry.load();
      if (turn !== this.#turn) return;
      write(root, waiting(page));
      const first = await numbersOf(
        page,
        page.check({ ...page.initial, ...changeOf(page.steps[0].state, page.initial) } as LabState),
      );
      // Steps whose text keeps its own numbers need them now; the others are written when they are reached.
      const views: LabView[] = [];
      for (const { fixed, state } of page.steps)
        views.push(
          fixed
            ? await numbersOf(
                page,
                page.check({ ...page.initial, ...changeOf(state, page.initial) } as LabState),
              )
            : first,
        );
      if (turn !== this.#turn) return;
      const explorer = this.getAttribute("explorer") ?? new URL("../explorer/", import.meta.url).href;
      write(
        root,
        html`<div class="lab"><div class="columns">${renderText(page, views, [], { explorer })}${renderStage(page, first)}</div></div>`,
      );
      this.#mounted = mount(page, root.querySelector<HTMLElement>(".lab")!, { worker, address: false });
    } catch (error) {
      if (turn === this.#turn)
        write(
          root,
          html`<p class="problem">This page could not be computed: ${(error as Error).message}</p>`,
        );
    }
  }
}

/** Replaces the content of a shadow root. A mounted page changes its parts itself, so each content has a root of its own. */
function write(root: ShadowRoot, content: TemplateResult): void {
  const fragment = document.createDocumentFragment();
  render(content, fragment);
  root.replaceChildren(fragment);
}

/** The numbers of a state, from a worker that is terminated after its reply. */
function numbersOf(page: NamedPage, state: LabState): Promise<LabView> {
  return new Promise<LabView>((resolve, reject) => {
    const requests = new Requests<LabState, unknown>(worker, page.name, {
      sent() {},
      computed(_, numbers) {
        if (!requests.isIdle) return;
        requests.end();
        resolve({ state, numbers, wide: true, changed: false });
      },
      failed(message) {
        requests.end();
        reject(new Error(message));
      },
    });
    requests.send(state);
  });
}

if (customElements.get(AttentionLab.tag) === undefined) customElements.define(AttentionLab.tag, AttentionLab);
