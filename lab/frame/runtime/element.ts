/**
 * `<attention-lab page="saturation">`: one page of the Lab inside any other page, in a shadow root of its own, as high as its content.
 * Attributes:
 *
 * - `page`: the name of a page.
 * - `stop`: a step of its text, from 1: the state that the picture begins with.
 * - `state`: a state as in the page's address, `times=10&keys=16`; it changes the state of the stop.
 * - `picture-only`: the picture with its caption and control, without the text.
 * - `explorer`: the address of the folder of the explorer's pages, for the link at the end.
 *
 * Properties of the same names (`pictureOnly`) set the attributes; `state` may be an object. An element that a page moves or puts back goes on with its state. A task that is done sends the event `done`; its `detail` is `{ page, task, text, done }`: the task's number from 1, its text, and how
 * many of the page are done. A wrong value of an attribute is an error in the element, in the console and as the event `error`; an
 * attribute that has no effect is one in the console and the event. The state is not written into the address. The module may come from another origin if it is sent with CORS;
 * the policy of the page must then allow `blob:` workers.
 */

import { OptionError } from "../../../src/core/errors.ts";
import type {
  AttentionLabAttributes,
  AttentionLabElement,
  AttentionLabEvents,
} from "../../../src/view/lab-element.ts";
import { unknownAttributes } from "../../../ui/attributes.ts";
import { html, nothing, render, type TemplateResult } from "../../../ui/markup.ts";
import { startWorker } from "../../../ui/worker.ts";
import { loadNotes, loadPage, PAGES } from "../../pages.ts";
import { decodeState, encodeState, entriesOf, type LabState, unknownNames } from "../fields.ts";
import { changeOf, type LabView, type NamedPage } from "../page.ts";
import { style } from "../style.ts";
import { renderStage, renderText } from "../text.ts";
import { type MountedPage, mount } from "./mount.ts";
import { Requests } from "./request.ts";

/** A style sheet belongs to one document: a page may move the element into that of a frame. */
const sheets = new WeakMap<Document, CSSStyleSheet>();

function sheetOf(document: Document): CSSStyleSheet {
  const sheet = sheets.get(document) ?? new (document.defaultView ?? globalThis).CSSStyleSheet();
  if (!sheets.has(document)) sheet.replaceSync(style(":host"));
  sheets.set(document, sheet);
  return sheet;
}

/** The attributes, and the property of each. */
const PROPERTIES: Readonly<Record<keyof AttentionLabAttributes, keyof AttentionLabElement>> = {
  page: "page",
  stop: "stop",
  state: "state",
  "picture-only": "pictureOnly",
  explorer: "explorer",
};
const NAMES = Object.keys(PROPERTIES) as (keyof AttentionLabAttributes)[];
/** Properties that a page may set and the element has not. */
const NO_PROPERTIES = ["step", "hash", "name", "src", "ondone", "onDone"];

const worker = () => startWorker(new URL("./lab-worker.js", import.meta.url));

/** The element. */
class AttentionLab extends HTMLElement implements AttentionLabElement {
  static readonly tag = "attention-lab";
  static readonly observedAttributes = NAMES;
  declare page: string | null;
  declare stop: string | number | null;
  declare state: AttentionLabElement["state"];
  declare pictureOnly: boolean;
  declare explorer: string | null;
  static {
    for (const [attribute, property] of Object.entries(PROPERTIES))
      Object.defineProperty(AttentionLab.prototype, property, {
        get(this: AttentionLab) {
          return property === "pictureOnly" ? this.hasAttribute(attribute) : this.getAttribute(attribute);
        },
        set(this: AttentionLab, value: unknown) {
          if (property === "pictureOnly" && typeof value === "boolean")
            this.toggleAttribute(attribute, value);
          else if (value === null || value === undefined) this.removeAttribute(attribute);
          else this.setAttribute(attribute, textOf(value));
        },
      });
  }

  /** Where the element was removed: its attributes, and the state that it had. */
  #left: { readonly markup: string; readonly hash: string } | undefined;
  /** What has no effect has been reported. */
  #reported = false;
  #mounted: MountedPage | undefined;
  /** Counts connections and changes of page: work that an earlier one started is dropped. */
  #turn = 0;

  connectedCallback(): void {
    // What a page sets before the element is defined is a property of the object.
    for (const name of Object.values(PROPERTIES) as "state"[]) {
      if (!Object.hasOwn(this, name)) continue;
      const { [name]: value } = this;
      Reflect.deleteProperty(this, name);
      this[name] = value;
    }
    this.#changed();
  }

  disconnectedCallback(): void {
    if (this.#mounted) this.#left = { markup: markupOf(this), hash: this.#mounted.hash() };
    this.#end();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.#changed();
  }

  #end(): number {
    this.#mounted?.end();
    this.#mounted = undefined;
    return ++this.#turn;
  }

  /** Shows the page once, however many attributes are set. */
  #changed(): void {
    const turn = this.#end();
    queueMicrotask(() => {
      if (turn === this.#turn) void this.#show(turn);
    });
  }

  async #show(turn: number): Promise<void> {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(this.ownerDocument)];
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
      this.#reportUnknown(page);
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
      const text = error instanceof OptionError ? message : `This page could not be computed: ${message}`;
      if (turn === this.#turn) this.#failed(root, text, code);
    }
  }

  /** Writes an error in place of the page, and reports it. */
  #failed(root: ShadowRoot, message: string, code: string | undefined): void {
    write(root, html`<p class="problem">${message}</p>`);
    this.#report(message, code);
  }

  /** Reports attributes and properties that have no effect, once. */
  #reportUnknown({ fields, title }: NamedPage): void {
    const properties = Object.keys(this).filter((name) => name in fields || NO_PROPERTIES.includes(name));
    const wrong = [
      ...unknownAttributes(this, NAMES).map((name) => ["attribute", name, NAMES] as const),
      ...properties.map((name) => ["property", name, Object.values(PROPERTIES)] as const),
    ];
    for (const [kind, name, has] of this.#reported ? [] : wrong)
      this.#report(
        `attention-lab: the ${kind} ${name} has no effect; ${name in fields ? `it is a part of the state of “${title}”: state="${name}=…"` : /done/i.test(name) ? 'a task is heard by addEventListener("done", …)' : `the element has ${has.join(", ")}`}`,
        "option",
      );
    this.#reported = true;
  }

  /** Reports an error to the console and the page around. */
  #report(message: string, code: string | undefined): void {
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
    const explorer = this.getAttribute("explorer") ?? "/";
    const { protocol } = URL.canParse(explorer, document.baseURI)
      ? new URL(explorer, document.baseURI)
      : { protocol: "" };
    if (!explorer.endsWith("/") || !/^(https?|file):$/.test(protocol))
      throw new OptionError(
        "explorer",
        `attention-lab: explorer must be the address of a folder, which ends with /, got “${explorer}”`,
      );
    const stop = this.getAttribute("stop") ?? "1";
    const step = page.steps[Number(stop) - 1];
    if (step === undefined || !/^\d+$/.test(stop.trim()))
      throw new OptionError(
        "stop",
        `attention-lab: stop must be a number from 1 to ${page.steps.length}, the steps of “${page.title}”, got “${stop}”`,
      );
    // What is before the state in the address of a page may be copied with it.
    const hash = `#v1?${(this.getAttribute("state") ?? "").replace(/^#?(v1\?)?\??/, "")}`;
    const names = [...new URLSearchParams(hash.slice(4)).keys()];
    const [unknown] = unknownNames(page.fields, hash);
    const twice = names.find((name, n) => names.indexOf(name) < n);
    if (unknown !== undefined || twice !== undefined)
      throw new OptionError(
        "state",
        `attention-lab: the state of “${page.title}” has ${unknown === undefined ? `“${twice}” once` : `no “${unknown}”`}; it has ${Object.keys(page.fields).join(", ")}, written name=value and joined by &`,
      );
    const left = this.#left?.markup === markupOf(this) ? this.#left.hash : undefined;
    if (left !== undefined) return page.check(decodeState(page.fields, left));
    const before = page.check({ ...page.initial, ...changeOf(step.state, page.initial) } as LabState);
    const named = new Set(names);
    for (const [name, text] of new URLSearchParams(hash.slice(4))) checkValue(page, name, text);
    const read = decodeState(page.fields, hash);
    const wanted = entriesOf(page.fields)
      .filter(([name, { address }]) => named.has(address ?? name))
      .map(([name]) => [name, read[name]]);
    return page.check({ ...before, ...Object.fromEntries(wanted) } as LabState);
  }
}

/** The attributes as text: an element that is put back with the same ones goes on with its state. */
const markupOf = (element: Element) => (element.cloneNode() as Element).outerHTML;

/** The attribute of a property: of an object, its state as in an address. */
function textOf(value: unknown): string {
  if (Object.prototype.toString.call(value) !== "[object Object]") return String(value);
  const entries = Object.entries(value as object);
  return `${new URLSearchParams(entries.map(([name, of]) => [name, `${typeof of === "boolean" ? Number(of) : of}`]))}`;
}

/** Throws where a text in `state` is no value of its field, or one out of its range. */
function checkValue({ fields, steps, title }: NamedPage, name: string, text: string): void {
  const [, field] = entriesOf(fields).find(([one, { address }]) => (address ?? one) === name)!;
  const value = field.read(text, undefined);
  const { min = -1, max = Infinity } = steps[Number(/^guess(\d+)$/.exec(name)?.[1])]?.predict ?? {};
  const isGuess = value === -1 || max === Infinity;
  const nearest =
    value === undefined
      ? field.initial
      : isGuess
        ? field.accept(value)
        : Math.min(max, Math.max(min, Number(value)));
  const wanted = typeof value === "string" ? text.trim() : value;
  if (wanted !== undefined && field.write(nearest, undefined) === field.write(wanted, undefined)) return;
  throw new OptionError(
    "state",
    `attention-lab: ${name} of the state of “${title}” cannot be “${text.length > 60 ? `${text.slice(0, 60)}…` : text}”; ${value === undefined ? "it begins as" : "the nearest value is"} ${field.write(nearest, undefined)}`,
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
