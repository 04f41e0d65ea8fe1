/**
 * <attention-view>: the explorer as an element for any page. Holds a session and speaks the element's own words: attributes,
 * properties, events, methods. What is seen is surface.ts's, reading files open.ts's: both are loaded when they are needed.
 */
import { adoptStyles, type CSSResultGroup, html, LitElement, type TemplateResult } from "lit";
import type { HeadMeasures, HeadStore } from "../../src/store/types.ts";
import type {
  AttentionSource,
  AttentionViewElement,
  AttentionViewEvents,
  Openable,
} from "../../src/view/element.ts";
import type { FigureOptions } from "../../src/view/figure/options.ts";
import { Address } from "../state/history.ts";
import { interestingCell } from "../state/interesting.ts";
import { STAGES, type State } from "../state/state.ts";
import { theme } from "../styles/theme.ts";
import { DRAWINGS, PAGES, viewOf } from "../views/registry.ts";
import type { Surface } from "./app.ts";
import { type How, type Notice, Session } from "./session.ts";
import { type Opening, type Source, Sources } from "./sources.ts";

/** Attributes that are parts of the state, and the choices there are; undefined: a number, or of a block its name. */
export type Parts = Readonly<
  Partial<
    Record<
      "view" | "mode" | "stage" | "block" | "layer" | "head" | "query" | "key",
      readonly string[] | undefined
    >
  >
>;
const PARTS: Parts = {
  view: PAGES.map(({ name }) => name),
  mode: DRAWINGS.map(({ name }) => name),
  stage: STAGES,
  block: undefined,
  layer: undefined,
  head: undefined,
};
type Part = keyof Parts;

/** A source as the page gives it. */
function sourceOf(one: AttentionSource): Source {
  return {
    name: one.name,
    ...(one.model && { model: one.model }),
    open: async (signal, progress) => {
      const { openAddress, openAny } = await import("./open.ts");
      return "src" in one ? openAddress(one.src, signal, progress, one.name) : openAny(one.data, one.name);
    },
  };
}

/** What a reader must know before trusting the picture: the warnings of the report. */
function noticesOf({ report }: HeadStore): readonly Notice[] {
  return report.problems
    .filter(({ severity }) => severity !== "note")
    .slice(0, 2)
    .map(({ text }) => ({ kind: "problem", text: `${text}.` }));
}

export class AttentionView extends LitElement implements AttentionViewElement {
  static readonly tag: "attention-view" | "attention-row" = "attention-view";
  static readonly parts: Parts = PARTS;
  /** Parts of the state that stay as they are. */
  static readonly fixed: Partial<State> = {};
  static override styles: CSSResultGroup = theme;
  static override properties = {
    src: {},
    theme: { reflect: true },
    keys: {},
    controls: { reflect: true },
    address: { type: Boolean },
  };
  static override get observedAttributes(): string[] {
    // biome-ignore lint/complexity/noThisInStatic: lit finishes the class it is asked about.
    return [...super.observedAttributes, ...Object.keys(this.parts)];
  }

  /** Where the attention is read from. */
  declare src: string | undefined;
  /** light, dark, or auto: as the system has it. */
  declare theme: string | undefined;
  /** "off": single letters do nothing. */
  declare keys: string | undefined;
  /** How much is around the picture: "all", "few" (the caption alone), or "none". */
  declare controls: string | undefined;
  /** The state is kept in the page's address, after #. One element of a page at most. */
  declare address: boolean;

  readonly #session = new Session();
  readonly #address = new Address(this.#session);
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  #surface: Surface | undefined;
  #surfacing: Promise<void> | undefined;
  #unsubscribe: (() => void) | undefined;
  #opening: AbortController | undefined;
  readonly #sources = new Sources();
  #given: readonly AttentionSource[] = [];
  #reflecting = false;
  /** Parts that the page has named itself: those are shown, whatever they are. */
  readonly #named = new Set<Part>();

  constructor() {
    super();
    this.address = false;
    this.#session.fixed = this.#kind.fixed;
    this.#session.set({}, "replace");
    this.#session.openSource = (index) => {
      const { signal } = new AbortController();
      return this.#sources.store(this.#sources.list[index], signal, () => {}, this.#session.store);
    };
    this.#session.failed = (error) => this.#failed("Something went wrong while computing", error);
    this.addEventListener("keydown", (event) => this.#surface?.press(event));
    this.addEventListener("dragover", (event) => {
      if (this.#alone || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.renderRoot.querySelector(".root")?.classList.add("dropping");
    });
    for (const name of ["dragleave", "drop"] as const)
      this.addEventListener(name, () => this.renderRoot.querySelector(".root")?.classList.remove("dropping"));
    this.addEventListener("drop", (event) => {
      if (this.#alone) return;
      event.preventDefault();
      this.#surface?.take([...(event.dataTransfer?.files ?? [])]);
    });
  }

  // — properties and methods for pages

  /** The store that is shown; a store of one's own may be set. */
  get store(): HeadStore | undefined {
    return this.#session.store;
  }
  set store(store: HeadStore | undefined) {
    this.#opening?.abort();
    const session = this.#session;
    const before = session.store;
    if (store === undefined) this.#sources.replace([]);
    else {
      const source: Source = { name: store.report.name, open: () => Promise.resolve(store) };
      this.#sources.replace([source], store);
      this.#sources.opened(source, store);
    }
    this.#list(0);
    session.open(store);
    if (before !== store) before?.dispose();
    if (store) this.#opened(store);
  }

  /** One more source, which is then shown. */
  add(source: AttentionSource): Promise<void> {
    this.#given = [...this.#given, source];
    return this.#add([sourceOf(source)]);
  }

  /** Lets a person choose files. */
  pick(): void {
    this.#surface?.pick();
  }

  /** Several files or texts, shown one at a time; `state.text` says which. */
  get sources(): readonly AttentionSource[] {
    return this.#given;
  }
  set sources(given: readonly AttentionSource[]) {
    this.#given = given;
    const shown = this.#session.store;
    this.#sources.replace(given.map(sourceOf), shown);
    this.#list(Math.min(this.#session.state.text, Math.max(0, given.length - 1)));
    if (given.length > 0) void this.#show(false, shown).catch(() => {});
  }

  /** Arrays, a file, bytes: opened as soon as it is set. */
  set data(given: Openable | undefined) {
    if (given === undefined) this.store = undefined;
    else this.open(given).catch(() => {});
  }

  /** What is shown; parts of it may be set. */
  get state(): State {
    return this.#session.state;
  }
  set state(patch: Partial<State>) {
    this.#session.set(patch);
  }

  /** Moves the cursor. */
  setCursor(cell: Partial<Pick<State, "block" | "layer" | "head" | "query" | "key">>): void {
    this.#session.set(cell);
  }

  /** The measures of a head: the cursor's where none is named. */
  metrics(of: Partial<Pick<State, "block" | "layer" | "head">> = {}): Promise<HeadMeasures> {
    const { store, state } = this.#session;
    if (store === undefined) return Promise.reject(new Error("attention-view: nothing is open"));
    return store.measures(this.#session.refOf({ ...state, ...of }));
  }

  /** What is shown as an SVG file, drawn without the browser: the same state gives the same text. */
  async toSVG(options: FigureOptions = {}): Promise<string> {
    const { figureOf } = await import("./export.ts");
    return (await figureOf(this.#session, options)).svg;
  }

  /** What is shown as PNG, at 1 to 4 times its size on screen. */
  async toPNG(options: FigureOptions = {}, scale: 1 | 2 | 3 | 4 = 2): Promise<Blob> {
    const { pngOf } = await import("./export.ts");
    return pngOf(this.#session, options, scale);
  }

  /** The explorer with this data and state as one HTML file that makes no request. */
  async toHTML(): Promise<string> {
    const { htmlOf } = await import("./export.ts");
    return htmlOf(this.#session);
  }

  /** Opens arrays, a file, bytes. Resolves once it is shown; rejects where it cannot be read. */
  open(given: Openable, name?: string): Promise<void> {
    return this.#only(name ?? "the file", async () => {
      const { openAny } = await import("./open.ts");
      return openAny(given, name);
    });
  }

  // — life

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unsubscribe = this.#session.subscribe((how, before) => this.#changed(how, before));
    for (const query of [this.#dark, this.#still]) query.addEventListener("change", this.#restyle);
    if (this.address) {
      this.#address.connect();
      // The page is this explorer's: what is pressed while nothing has the focus is meant for it.
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
    const { parts } = this.#kind;
    if (!(name in parts) || this.#reflecting || value === before || value === null) return;
    const part = name as Part;
    this.#named.add(part);
    const choices = parts[part];
    if (part === "block") this.#session.set({ block: value }, "replace");
    else if (choices === undefined) {
      if (/^\d+$/.test(value)) this.#session.set({ [part]: Number(value) }, "replace");
    } else if (choices.includes(value)) this.#session.set({ [part]: value }, "replace");
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("src") && this.src) void this.#read(this.src);
    if (changed.has("theme")) this.#restyle();
  }

  override render(): TemplateResult {
    if (this.#surface) return this.#surface.render();
    // The first paint, while the rest is loading. What could not be loaded cannot report it itself.
    const { status } = this.#session;
    return status.kind === "error"
      ? html`<p class="starting" role="alert">${status.title}: ${status.text}</p>`
      : html`<p class="starting" role="status">Loading the explorer …</p>`;
  }

  override updated(): void {
    this.#surface?.updated();
  }

  /** Done once what is seen has been loaded and rendered. */
  protected override async getUpdateComplete(): Promise<boolean> {
    await this.#surfacing;
    return super.getUpdateComplete();
  }

  // — the inside

  get #kind(): typeof AttentionView {
    return this.constructor as typeof AttentionView;
  }

  /** There is a row, and no explorer around it. */
  get #alone(): boolean {
    return this.#kind.fixed.view === "row";
  }

  /** Loads what is seen. */
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
        add: (sources) => this.#add(sources),
        link: () => this.#address.link,
        theme: (name) => {
          this.theme = name;
        },
        lettersOff: () => this.keys === "off",
        open: (source) => this.add(source),
        alone: this.#alone,
        ownsPage: () => this.address,
        restyle: this.#restyle,
        emit: (name, detail) => this.#emit(name, detail),
      });
    } catch (error) {
      this.#failed("The explorer could not be loaded", error);
    }
    if (this.isConnected) this.#surface?.connect();
    this.requestUpdate();
    if (this.#session.store) this.#focusPage();
  }

  readonly #pressed = (event: KeyboardEvent) => {
    if (event.target === document.body) this.#surface?.press(event);
  };

  #changed(how: How, before: State): void {
    const { state } = this.#session;
    this.requestUpdate();
    if (this.address) this.#address.write(how);
    if (state === before) return;
    if (state.text !== before.text && this.#sources.list.length > 0)
      void this.#show(how !== "address").catch(() => {});
    this.#reflect();
    if (state.layer !== before.layer || state.head !== before.head || state.block !== before.block)
      void this.#load();
    const { block, layer, head, query, key } = state;
    const moved = (["block", "layer", "head", "query", "key"] as const).some(
      (part) => state[part] !== before[part],
    );
    if (moved) this.#emit("cursorchange", { block, layer, head, query, key });
    if (state.pinned !== before.pinned || state.pins !== before.pins)
      this.#emit("pin", { pinned: state.pinned, pins: state.pins });
    if (state.view !== before.view || state.mode !== before.mode || state.stage !== before.stage)
      this.#emit("viewchange", { view: state.view, mode: state.mode, stage: state.stage });
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
    for (const part of Object.keys(this.#kind.parts) as Part[])
      if (this.#session.store && this.getAttribute(part) !== String(state[part]))
        this.setAttribute(part, String(state[part]));
    this.#reflecting = false;
  }

  /** Brings the cursor's head into memory. */
  async #load(): Promise<void> {
    const { store, ref } = this.#session;
    if (store === undefined || store.ready(ref)) return;
    try {
      await store.load(ref);
    } catch (error) {
      if (store === this.#session.store) this.#failed("The head could not be read", error);
    }
    this.requestUpdate();
  }

  /** Opens the address of `src`. The page and the event report errors. */
  async #read(src: string): Promise<void> {
    try {
      const { nameOfAddress, openAddress } = await import("./open.ts");
      if (src !== this.src) return;
      await this.#only(nameOfAddress(src), (signal, progress) => openAddress(src, signal, progress));
    } catch (error) {
      if (this.#session.status.kind !== "error") this.#failed("The address could not be opened", error);
    }
  }

  /** Opens one source, which is then the only one. */
  async #only(name: string, open: Opening): Promise<void> {
    const source = { name, open };
    await this.#open(source, false, () => {
      const shown = this.#session.store;
      this.#sources.replace([source], shown);
      this.#list(0);
      return shown;
    });
  }

  /** Adds sources and shows the first of them. */
  async #add(more: readonly Source[]): Promise<void> {
    const at = this.#sources.list.length;
    const [first, ...rest] = more;
    await this.#open(first, true, () => {
      this.#sources.add([first]);
      this.#list(at);
      return undefined;
    });
    this.#sources.add(rest);
    this.#list(this.#session.state.text);
    this.#session.changed("push");
  }

  /** Shows the source that the state names. */
  #show(carry: boolean, old?: HeadStore): Promise<void> {
    const { list } = this.#sources;
    const source = list[Math.min(this.#session.state.text, list.length - 1)];
    return this.#open(source, carry, () => old);
  }

  /** The names of the sources, and which is shown. */
  #list(text: number): void {
    const session = this.#session;
    session.sources = this.#sources.list;
    session.state = { ...session.state, text };
  }

  /**
   * Opens a source and shows it.
   *
   * @param carry the cursor goes to the same tokens
   * @param before the moment it is open: gives the store that is no longer needed
   */
  async #open(source: Source, carry: boolean, before: () => HeadStore | undefined): Promise<void> {
    const what = source.name;
    this.#opening?.abort();
    const control = new AbortController();
    this.#opening = control;
    const session = this.#session;
    const progress = (done: number) => {
      if (control.signal.aborted) return;
      session.status = { kind: "loading", what, done };
      session.changed();
      this.#emit("progress", { what, done });
    };
    progress(0);
    try {
      const store = await this.#sources.store(source, control.signal, progress, session.store);
      if (control.signal.aborted) return;
      const old = before();
      session.notices = noticesOf(store);
      session.open(store, carry, source.model);
      if (old !== store) old?.dispose();
      this.#opened(store);
    } catch (error) {
      if (control.signal.aborted) return;
      this.#failed(`${what} could not be opened`, error);
      throw error;
    }
  }

  #opened(store: HeadStore): void {
    const named = this.#named.has("query") && this.#named.has("key");
    void this.#load().then(() => {
      const { query, key, pinned: pinnedCell } = this.#session.state;
      const first = query + key === 0 && pinnedCell === null && !named;
      const cell = first ? interestingCell(this.#session) : undefined;
      if (cell) this.#session.set(cell, "replace");
    });
    this.#reflect();
    this.#focusPage();
    this.#emit("load", { report: store.report });
  }

  /** On a page of its own the picture has the focus from the first moment. */
  #focusPage(): void {
    if (this.address && document.activeElement === document.body) this.#surface?.focusMain();
  }

  #failed(title: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const session = this.#session;
    // The name of the function that refused it is for programs.
    const said = text.replace(/^[\w-]+: /, "").replace(/(?<![.!?])$/, ".");
    if (session.store === undefined) session.status = { kind: "error", title, text: said };
    else {
      session.status = { kind: "ready" };
      session.notify({ kind: "error", text: `${title}. ${said}` });
    }
    session.changed();
    // Readers of the host page learn that something is missing; its author learns what to do.
    if (!this.address)
      console.error(
        `<${this.#kind.tag}>${this.src ? ` with src ${this.src}` : ""}: ${title}. ${text}. ${this.src ? "Check that the address is right and that the page may read it (CORS, Content-Security-Policy connect-src)." : "Check what is given to data, store or open()."}`,
      );
    this.#emit("error", { title, message: text, code: (error as { code?: string })?.code });
  }

  readonly #restyle = () => {
    const session = this.#session;
    // "auto" is as the page around it: the color scheme that the element inherits.
    const schemes = this.isConnected ? getComputedStyle(this).colorScheme.split(" ") : [];
    const follows = schemes.includes("dark") && (this.#dark.matches || !schemes.includes("light"));
    const dark = this.theme === "dark" || (this.theme !== "light" && follows);
    session.dark = dark && this.#surface?.printing !== true;
    session.still = this.#still.matches;
    this.#surface?.restyle();
    this.requestUpdate();
  };
}
