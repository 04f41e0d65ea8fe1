/**
 * `<attention-lab page="saturation">`: one page of the Lab inside any other page, in a shadow root of its own, as high as its content.
 * Attributes:
 *
 * - `page`: the name of a page.
 * - `stop`: a step of its text, from 1: the state that the picture begins with.
 * - `state`: a state as in the page's address, `times=10&keys=16`; it changes the state of the stop.
 * - `picture-only`: the picture with its caption and control, without the text.
 * - `explorer`: the address of the explorer's pages, for the link at the end.
 *
 * A task that is done sends the event `done`; its `detail` is `{ page, task, text, done }`: the task's number from 1, its text, and how
 * many of the page are done. A wrong value of an attribute is an error in the element, in the console and as the event `error`. The state is not written into the address. The module may come from another origin if it is sent with CORS;
 * the policy of the page must then allow `blob:` workers.
 */

import { OptionError } from "../../../src/core/errors.ts";
import type {
  AttentionLabAttributes,
  AttentionLabElement,
  AttentionLabEvents,
} from "../../../src/view/lab-element.ts";
import { html, nothing, render, type TemplateResult } from "../../../ui/markup.ts";
import { startWorker } from "../../../ui/worker.ts";
import { loadNotes, loadPage, PAGES } from "../../pages.ts";
import { decodeState, encodeState, entriesOf, type LabState, unknownNames } from "../fields.ts";
import { changeOf, type LabView, type NamedPage } from "../page.ts";
import { style } from "../style.ts";
import { renderStage, renderText } from "../text.ts";
import { type MountedPage, mount } from "./mount.ts";
import { Requests } from "./request.ts";

let sheet: CSSStyleSheet | undefined;

const worker = () => startWorker(new URL("./lab-worker.js", import.meta.url));

/** The element. */
class AttentionLab extends HTMLElement implements AttentionLabElement {
  static readonly tag = "attention-lab";
  static readonly observedAttributes: readonly (keyof AttentionLabAttributes)[] = [
    "page",
    "stop",
    "state",
    "picture-only",
  ];
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
    if (!PAGES.includes(name))
      return this.#failed(root, `The Lab has no page “${name}”. Its pages are ${PAGES.join(", ")}.`, "page");
    // The title is where the page's own will be; `waiting` keeps space for the rest.
    const waiting = (page?: NamedPage) =>
      html`<div class="lab waiting"><div class="columns"><article class="text">${page === undefined ? nothing : html`<h1>${page.title}</h1><p class="point">${page.point}</p>`}<p role="status">The numbers of this page are being computed.</p></article></div></div>`;
    write(root, waiting());
    try {
      const page = await loadPage(name);
      if (turn !== this.#turn) return;
      write(root, waiting(page));
      const start = this.#stateOf(page);
      const first = await numbersOf(page, start);
      const hash = encodeState(page.fields, start);
      if (this.hasAttribute("picture-only")) {
        if (turn !== this.#turn) return;
        write(
          root,
          html`<div class="lab alone"><div class="columns">${renderStage(page, first)}</div></div>`,
        );
        this.#mounted = mount(page, root.querySelector<HTMLElement>(".lab")!, {
          worker,
          address: false,
          hash,
        });
        return;
      }
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
      const open = await loadNotes(name);
      if (turn !== this.#turn) return;
      const explorer = this.getAttribute("explorer") ?? new URL("../explorer/", import.meta.url).href;
      write(
        root,
        html`<div class="lab"><div class="columns">${renderText(page, views, [], { explorer, open })}${renderStage(page, first)}</div></div>`,
      );
      this.#mounted = mount(page, root.querySelector<HTMLElement>(".lab")!, { worker, address: false, hash });
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      if (turn === this.#turn) this.#failed(root, `This page could not be computed: ${message}`, code);
    }
  }

  /** Writes an error in place of the page, and reports it to the console and the page around. */
  #failed(root: ShadowRoot, message: string, code: string | undefined): void {
    write(root, html`<p class="problem">${message}</p>`);
    console.error(`<${AttentionLab.tag}>: ${message}`);
    const detail = { message, code } satisfies AttentionLabEvents["error"]["detail"];
    this.dispatchEvent(new CustomEvent("error", { detail, bubbles: true, composed: true }));
  }

  /** The state that the attributes ask for: that of the stop, changed by `state`. Throws what to write instead. */
  #stateOf(page: NamedPage): LabState {
    const alone = this.getAttribute("picture-only") ?? "";
    if (alone !== "" && alone !== "picture-only" && alone !== "true")
      throw new OptionError(
        "picture-only",
        `attention-lab: picture-only is an attribute without a value, got “${alone}”; leave it out for the page with its text`,
      );
    if (this.getAttribute("explorer") === "")
      throw new OptionError("explorer", "attention-lab: explorer must be the address of a folder, got “”");
    const stop = this.getAttribute("stop") ?? "1";
    const step = page.steps[Number(stop) - 1];
    if (step === undefined)
      throw new OptionError(
        "stop",
        `attention-lab: stop must be a number from 1 to ${page.steps.length}, the steps of “${page.title}”, got “${stop}”`,
      );
    const hash = `#v1?${this.getAttribute("state") ?? ""}`;
    const [unknown] = unknownNames(page.fields, hash);
    if (unknown !== undefined)
      throw new OptionError(
        "state",
        `attention-lab: the state of “${page.title}” has no “${unknown}”; it has ${Object.keys(page.fields).join(", ")}`,
      );
    const before = page.check({ ...page.initial, ...changeOf(step.state, page.initial) } as LabState);
    const named = new Set([...new URLSearchParams(hash.slice(4)).keys()]);
    for (const [name, text] of new URLSearchParams(hash.slice(4))) checkValue(page, name, text);
    const read = decodeState(page.fields, hash);
    const wanted = entriesOf(page.fields)
      .filter(([name, { address }]) => named.has(address ?? name))
      .map(([name]) => [name, read[name]]);
    return page.check({ ...before, ...Object.fromEntries(wanted) } as LabState);
  }
}

/** Throws where a text in `state` is no value of its field, or one out of its range. */
function checkValue({ fields, title }: NamedPage, name: string, text: string): void {
  const [, field] = entriesOf(fields).find(([one, { address }]) => (address ?? one) === name)!;
  const value = field.read(text, undefined);
  const nearest = value === undefined ? field.initial : field.accept(value);
  // A sentence may be cut.
  if (typeof value === "string" || field.write(nearest, undefined) === field.write(value ?? text, undefined))
    return;
  throw new OptionError(
    "state",
    `attention-lab: ${name} of the state of “${title}” cannot be “${text}”; ${value === undefined ? "it begins as" : "the nearest value is"} ${field.write(nearest, undefined)}`,
  );
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

// A server that renders pages imports the module too, and has no elements.
if (globalThis.customElements?.get(AttentionLab.tag) === undefined)
  globalThis.customElements?.define(AttentionLab.tag, AttentionLab);
