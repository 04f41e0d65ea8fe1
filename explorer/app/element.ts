/**
 * <attention-view>: the explorer as an element for any page. It owns the session and implements attributes, properties,
 * events and methods. The user interface (app.ts) and the readers of files (open.ts) are loaded when they are needed.
 */
// long: one class, most of whose methods are one-line parts of the element's interface.
import { adoptStyles, type CSSResultGroup, html, LitElement, type TemplateResult } from "lit";
import { checkMethods, messageOf } from "../../src/core/errors.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import type { HeadMeasures } from "../../src/store/measures/measures.ts";
import type {
  AttentionSource,
  AttentionViewAttributes,
  AttentionViewElement,
  AttentionViewEvents,
  Openable,
  TextReader,
} from "../../src/view/element.ts";
import type { FigureOptions } from "../../src/view/figure/options.ts";
import { Address } from "../state/history.ts";
import type { State } from "../state/state.ts";
import { isValueOf } from "../state/url.ts";
import { theme } from "../styles/theme.ts";
import { canDraw, isEditable, openingOf, viewOf } from "../views/registry.ts";
import type { Surface } from "./app.ts";
import { CURSOR_ATTRIBUTES, type StateAttribute, stateOf, VIEW_ATTRIBUTES } from "./attributes.ts";
import { failure, isSource, Opener, shortMessage, sourceOf } from "./opener.ts";
import { type How, Session } from "./session.ts";
import type { Opening } from "./sources.ts";
import type { Given } from "./wrong.ts";

export class AttentionView extends LitElement implements AttentionViewElement {
  static readonly tag: "attention-view" | "attention-row" = "attention-view";
  static readonly parts: readonly StateAttribute[] = [...VIEW_ATTRIBUTES, ...CURSOR_ATTRIBUTES];
  /** Parts of the state that cannot change. */
  static readonly fixed: Partial<State> = {};
  /** True: the view is shown without the explorer around it. */
  static readonly alone: boolean = false;
  static override styles: CSSResultGroup = theme;
  static override properties = {
    src: {},
    theme: { reflect: true },
    keys: {},
    controls: { reflect: true },
    background: { reflect: true },
    address: { type: Boolean },
  } satisfies Record<Exclude<keyof AttentionViewAttributes, StateAttribute | "parts">, object>;
  static override get observedAttributes(): string[] {
    // biome-ignore lint/complexity/noThisInStatic: lit finishes the class it is asked about.
    return [...super.observedAttributes, ...AttentionView.parts, "parts"];
  }

  // Documented in src/view/element.ts.
  declare src: string | undefined;
  declare theme: string | undefined;
  declare keys: string | undefined;
  declare controls: string | undefined;
  declare background: string | undefined;
  declare address: boolean;

  readonly #session = new Session();
  readonly #address = new Address(this.#session);
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  #surface: Surface | undefined;
  #surfacing: Promise<void> | undefined;
  #unsubscribe: (() => void) | undefined;
  readonly #opener = new Opener({
    session: this.#session,
    namesHead: () => this.#named.has("layer") || this.#named.has("head"),
    progressed: (detail) => this.#emit("progress", detail),
    opened: (store) => this.#opened(store),
    failed: (title, error) => this.#failed(title, error),
  });
  #sourceList: readonly AttentionSource[] = [];
  #reflecting = false;
  /** Parts that the page has set by attributes: they are kept when a file opens. */
  readonly #named = new Set<StateAttribute>();
  /** Attributes and properties that set no part of the state, and have not been checked. */
  readonly #unchecked = new Map<string, unknown>();

  constructor() {
    super();
    this.address = false;
    this.#session.fixed = this.#kind.fixed;
    this.#session.isEditable = isEditable;
    this.#session.canDraw = canDraw;
    this.#session.set({}, "replace");
    this.#session.openSource = (index) => this.#opener.store(index);
    this.#session.absent = (text) => this.#refused(text);
    this.#session.failed = (error) => {
      // Requests of a store that was replaced end when it is disposed of.
      if ((error as { code?: string })?.code !== "disposed") this.#failed("A computation failed", error);
    };
    this.addEventListener("keydown", (event) => this.#surface?.press(event));
    this.addEventListener("dragover", (event) => {
      if (this.#kind.alone || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.renderRoot.querySelector(".root")?.classList.add("dropping");
    });
    for (const name of ["dragleave", "drop"] as const)
      this.addEventListener(name, () => this.renderRoot.querySelector(".root")?.classList.remove("dropping"));
    this.addEventListener("drop", (event) => {
      if (this.#kind.alone) return;
      event.preventDefault();
      const files = [...(event.dataTransfer?.files ?? [])];
      // The interface may still be loading.
      void this.#surfacing?.then(() => this.#surface?.openFiles(files));
    });
  }

  // — properties and methods for pages

  /** The store that is shown. A page may set its own. */
  get store(): HeadStore | undefined {
    return this.#session.store;
  }
  set store(value: HeadStore | undefined) {
    const store = value ?? undefined;
    if (store !== undefined && typeof store.measures !== "function") {
      void this.#refuse("store", store);
      return;
    }
    try {
      store?.ready({ block: 0, layer: store.blocks[0].layers[0], head: 0 });
    } catch (error) {
      this.#failed("The store cannot be shown", error);
      return;
    }
    const session = this.#session;
    const before = session.store;
    this.#opener.replace(store);
    session.open(store);
    if (before !== store) before?.dispose();
    if (store) this.#opened(store);
  }

  /** Adds a source, and shows it. */
  async add(source: AttentionSource): Promise<void> {
    if (!isSource(source)) throw await this.#refuse("source", source);
    this.#sourceList = [...this.#sourceList, source];
    return this.#opener.add([sourceOf(source)]);
  }

  /** Shows a source in place of the one that is shown. */
  #swap(source: AttentionSource): Promise<void> {
    // The one that was added last: another would have ended the work that swaps.
    this.#sourceList = [...this.#sourceList.slice(0, -1), source];
    return this.#opener.swap(sourceOf(source));
  }

  /** The model that reads the lines of dropped lists of texts; undefined: none. */
  get reader(): TextReader | undefined {
    return this.#session.reader;
  }
  set reader(reader: TextReader | undefined) {
    if (reader != null && !(typeof reader.read === "function" && typeof reader.name === "string"))
      void this.#refuse("reader", reader);
    else this.#session.reader = reader ?? undefined;
  }

  /** Opens the file picker. */
  pick(): void {
    this.#surface?.pick();
  }

  /** Several files or texts, shown one at a time; `state.text` is the index of the one shown. */
  get sources(): readonly AttentionSource[] {
    return Object.freeze(this.#sourceList);
  }
  set sources(list: readonly AttentionSource[]) {
    if (!Array.isArray(list) || !list.every(isSource)) {
      void this.#refuse("sources", list);
      return;
    }
    this.#sourceList = [...list];
    this.#opener.list(list);
  }

  /** Arrays, a file or bytes, opened as soon as they are set. */
  set data(input: Openable | undefined) {
    if (input === undefined || input === null) this.store = undefined;
    else this.open(input).catch(() => {});
  }

  /** The state. Setting an object changes only the parts that it has. */
  get state(): State {
    for (const part of Object.values(this.#session.state)) Object.freeze(part);
    return Object.freeze(this.#session.state);
  }
  set state(patch: Partial<State>) {
    this.#change("state", patch);
  }

  /** What the picture shows, in sentences for a reader who sees one for the first time. */
  get picture(): AttentionViewElement["picture"] {
    const { meaning, ofAllHeads = false } = viewOf(this.#session.state);
    return { meaning, ofAllHeads };
  }

  /** Moves the cursor. */
  setCursor(cell: Partial<Pick<State, "block" | "layer" | "head" | "query" | "key">>): void {
    this.#change("cell", cell);
  }

  /** The measures of a head; by default, of the cursor's head. */
  async metrics(of: Partial<Pick<State, "block" | "layer" | "head">> = {}): Promise<HeadMeasures> {
    const { store, state } = this.#session;
    const { checkMetrics } = await import("./wrong.ts");
    return checkMetrics(store, of).measures(this.#session.refOf({ ...state, ...of }));
  }

  /** The cursor's head over the other texts of the same model, and the weight at the cursor's positions there; undefined without any. */
  async overTexts(): ReturnType<AttentionViewElement["overTexts"]> {
    (await import("./wrong.ts")).checkOpen("overTexts", this.#session.store);
    return (await import("../state/beyond.ts")).overTexts(this.#session, this.#session.state);
  }

  /** The current picture as SVG, drawn without the browser: the same state gives the same text. */
  async toSVG(options: FigureOptions = {}): Promise<string> {
    const { figureOf } = await import("./output/export.ts");
    return (await figureOf(this.#session, options)).svg;
  }

  /** The current picture as PNG, at 1 to 4 times its size on screen. */
  async toPNG(options: FigureOptions = {}, scale: 1 | 2 | 3 | 4 = 2): Promise<Blob> {
    const { pngOf } = await import("./output/export.ts");
    return pngOf(this.#session, options, scale);
  }

  /** The explorer with this data and state as one HTML file that makes no requests. */
  async toHTML(): Promise<string> {
    const { htmlOf } = await import("./output/export.ts");
    return htmlOf(this.#session);
  }

  /** Opens arrays, a file or bytes. Resolves when they are shown; rejects when they cannot be read. */
  async open(input: Openable, name?: string): Promise<void> {
    if (name !== undefined && typeof name !== "string") throw await this.#refuse("name", name);
    return this.#opener.only(name ?? (input as { name?: string } | null)?.name ?? "the file", async () =>
      (await import("./open.ts")).openAny(input, name),
    );
  }

  // — lifecycle

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unsubscribe = this.#session.subscribe((how, before) => this.#changed(how, before));
    for (const query of [this.#dark, this.#still]) query.addEventListener("change", this.#restyle);
    if (this.address) {
      this.#address.connect();
      // The explorer owns the page: it handles keys that are pressed while nothing has the focus.
      document.addEventListener("keydown", this.#pressed);
    }
    this.#surfacing ??= this.#surfaced();
    this.#surface?.connect();
    this.#restyle();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    for (const query of [this.#dark, this.#still]) query.removeEventListener("change", this.#restyle);
    this.#address.disconnect();
    document.removeEventListener("keydown", this.#pressed);
    this.#surface?.disconnect();
  }

  override attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    super.attributeChangedCallback(name, before, value);
    if (this.#reflecting || value === before || value === null) return;
    // The update checks properties.
    if (name in AttentionView.properties) return;
    const { parts } = this.#kind;
    this.#named.add(name as StateAttribute);
    const patch = stateOf(parts, name, value);
    if (patch) {
      this.#session.set(patch, "replace");
      this.#session.check(patch);
    } else {
      this.#unchecked.set(name, value);
      if (this.#surface) void this.#checkAttributes();
    }
  }

  override willUpdate(changed: Map<string, unknown>): void {
    for (const name of changed.keys()) this.#unchecked.set(name, this[name as "theme"]);
    if (changed.size > 0 && this.#surface) void this.#checkAttributes();
    if (changed.has("src") && this.src) void this.#read(this.src);
    if (changed.has("theme")) this.#restyle();
  }

  override render(): TemplateResult {
    if (this.#surface) return this.#surface.render();
    // The user interface is still loading, or could not be loaded.
    const { status } = this.#session;
    return status.kind === "error"
      ? html`<p class="starting" role="alert">${status.title}: ${status.text}</p>`
      : html`<p class="starting" role="status">Loading the explorer …</p>`;
  }

  override updated(): void {
    this.#surface?.updated();
  }

  /** Resolves once the user interface has been loaded and rendered. */
  protected override async getUpdateComplete(): Promise<boolean> {
    await this.#surfacing;
    return super.getUpdateComplete();
  }

  // — private

  get #kind(): typeof AttentionView {
    return this.constructor as typeof AttentionView;
  }

  /** Loads the user interface. */
  async #surfaced(): Promise<void> {
    try {
      const [{ LOOK, Surface }] = await Promise.all([import("./app.ts"), viewOf(this.#session.state).load()]);
      adoptStyles(this.renderRoot as ShadowRoot, [...this.#kind.elementStyles, ...LOOK]);
      this.#surface = new Surface({
        session: this.#session,
        root: () => this.renderRoot as ShadowRoot,
        inUse: () => this.matches(":focus-within"),
        update: () => {
          this.requestUpdate();
          return this.updateComplete;
        },
        add: (sources) => this.#opener.add(sources),
        link: () => this.#address.link,
        theme: (name) => {
          this.theme = name;
        },
        lettersOff: () => this.keys === "off",
        open: (source, inPlace) => (inPlace ? this.#swap(source) : this.add(source)),
        alone: this.#kind.alone,
        ownsPage: () => this.address,
        restyle: this.#restyle,
        emit: (name, detail) => this.#emit(name, detail),
      });
    } catch (error) {
      this.#failed("The explorer could not be loaded", error);
    }
    if (this.isConnected) this.#surface?.connect();
    void this.#checkAttributes();
    this.requestUpdate();
    if (this.#session.store) this.#focusPage();
  }

  readonly #pressed = (event: KeyboardEvent) => {
    // Tab leaves a dialog for the browser, and then the page has the focus.
    const isBehind = this.renderRoot.querySelector("dialog[open]") !== null;
    if (event.target === document.body && !isBehind) this.#surface?.press(event);
  };

  #changed(how: How, before: State): void {
    const { state } = this.#session;
    this.requestUpdate();
    if (this.address) this.#address.write(how);
    if (state === before) return;
    if (state.text !== before.text && this.#opener.count > 0)
      void this.#opener.show(how === "address" ? "as named" : "carried").then(
        () => how === "address" && this.#address.check(),
        () => {},
      );
    this.#reflect();
    if (state.layer !== before.layer || state.head !== before.head || state.block !== before.block)
      void this.#load();
    const emit = (name: "cursorchange" | "pin" | "viewchange", parts: readonly (keyof State)[]) => {
      if (parts.some((part) => state[part] !== before[part]))
        this.#emit(name, Object.fromEntries(parts.map((part) => [part, state[part]])) as never);
    };
    emit("cursorchange", CURSOR_ATTRIBUTES);
    emit("pin", ["pinned", "pins"]);
    emit("viewchange", VIEW_ATTRIBUTES);
  }

  #emit<Name extends keyof AttentionViewEvents>(
    name: Name,
    detail: AttentionViewEvents[Name]["detail"],
  ): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  #reflect(): void {
    this.#reflecting = true;
    const { state } = this.#session;
    for (const part of this.#kind.parts)
      if (this.#session.store && this.getAttribute(part) !== String(state[part]))
        this.setAttribute(part, String(state[part]));
    this.#reflecting = false;
  }

  /** Loads the cursor's head into memory. */
  async #load(): Promise<void> {
    const { store, ref } = this.#session;
    try {
      if (store?.ready(ref) === false) await store.load(ref);
    } catch (error) {
      if (store === this.#session.store) this.#failed("The head could not be read", error);
    }
    this.requestUpdate();
  }

  /** Opens the address of `src`. The page and the event report errors: those of opening, by the opener. */
  async #read(src: string): Promise<void> {
    const module = await import("./open.ts").catch((error) =>
      this.#failed("Could not open the address", error),
    );
    if (!module || src !== this.src) return;
    const open = (...[signal, progress]: Parameters<Opening>) => module.openAddress(src, signal, progress);
    await this.#opener.only(module.nameOfAddress(src), open).catch(() => {});
  }

  #opened(store: HeadStore): void {
    const named = this.#named.has("query") && this.#named.has("key");
    if (!this.#named.has("mode")) this.#session.set(openingOf(this.#session), "replace");
    const { ref } = this.#session;
    // Another store or cell may have been opened while the head was read.
    const isFirst = ({ store: shown, state, ref: now } = this.#session) => {
      if (store !== shown || JSON.stringify(now) !== JSON.stringify(ref)) return false;
      return state.query + state.key === 0 && state.pinned === null && !named;
    };
    this.#session.choosing = isFirst() && store.blocks.length > 0;
    void this.#load().then(async () => {
      if (isFirst()) await (await import("../state/carried.ts")).choose(this.#session, ref, isFirst);
      this.#session.choosing &&= store !== this.#session.store;
      this.requestUpdate();
    });
    this.#reflect();
    this.#focusPage();
    this.#emit("load", { report: store.report });
  }

  /** Focuses the picture, which has the keys. */
  override focus(): void {
    this.#surface?.focusMain();
  }

  /** If the explorer owns the page, the picture gets the focus when it opens. */
  #focusPage(): void {
    if (this.address && document.activeElement === document.body) this.#surface?.focusMain();
  }

  #failed(title: string, error: unknown): void {
    const text = messageOf(error);
    const session = this.#session;
    if (session.store === undefined) session.status = { kind: "error", title, text: shortMessage(error) };
    else {
      session.status = { kind: "ready" };
      session.notify(failure(title, error));
    }
    session.changed();
    // Readers of a host page see a short message; the console tells its author what to do.
    if (!this.address)
      console.error(`<${this.#kind.tag}>${this.src ? ` with src ${this.src}` : ""}: ${title}. ${text}.`);
    this.#emit("error", { title, message: text, code: (error as { code?: string })?.code });
  }

  /** Reports attributes whose values have no effect. */
  async #checkAttributes(): Promise<void> {
    const attributes = [...this.#unchecked];
    this.#unchecked.clear();
    const { wrongAttributes } = await import("./wrong.ts");
    wrongAttributes(this, attributes, this.#kind.parts, (text, stays) => this.#refused(text, stays));
  }

  /** Changes the parts of the state that have a value which a state can have, and reports the others. */
  #change(name: Given, patch: Partial<State>): void {
    const parts = Object.entries(patch ?? {}).filter(([, value]) => value !== undefined);
    const isPart = (part: string) => name === "state" || CURSOR_ATTRIBUTES.includes(part as StateAttribute);
    const right = parts.filter(([part, value]) => isPart(part) && isValueOf(part, value));
    const change: Partial<State> = Object.fromEntries(right);
    this.#session.set(change);
    this.#session.check(change);
    if (right.length < (parts.length || 1)) void this.#refuse(name, patch);
  }

  /** Reports what is wrong with a property or an argument; resolves to the first error. */
  async #refuse(name: Given, value: unknown): Promise<Error> {
    const errors = (await import("./wrong.ts")).errorsOf(name, value);
    for (const { message } of errors) this.#refused(message);
    return errors[0];
  }

  /** Reports a value of the page or the address that has no effect, or not the one it names. */
  #refused(text: string, stays = false): void {
    this.#session.notify({ kind: "error", text, stays });
    if (!this.address || stays) console.error(`<${this.#kind.tag}>: ${text}`);
    this.#emit("error", { title: "A value has no effect", message: text, code: "option" });
  }

  readonly #restyle = () => {
    const session = this.#session;
    // "auto" follows the page: its styles, or its <meta name="color-scheme">, which no computed color scheme has.
    const follows = this.isConnected && getComputedStyle(this).floodColor === "rgb(0, 0, 0)";
    const dark = this.theme === "dark" || (this.theme !== "light" && follows);
    session.dark = dark && this.#surface?.printing !== true;
    session.still = this.#still.matches;
    this.#surface?.restyle();
    this.requestUpdate();
  };
}

const ARGUMENTS = {
  pick: 0,
  setCursor: 1,
  open: 2,
  add: 1,
  metrics: 1,
  overTexts: 0,
  toSVG: 1,
  toPNG: 2,
  toHTML: 0,
};
checkMethods("attention-view", AttentionView.prototype, ARGUMENTS);
