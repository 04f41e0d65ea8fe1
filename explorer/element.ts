/**
 * <attention-view>: the explorer as an element for any page. Holds a session, puts the views in their places, and speaks
 * the element's own words: attributes, properties, events, methods. Pictures are draw/'s, templates views/'s, reading
 * files open.ts's.
 */
import { html, LitElement, nothing, type TemplateResult } from "lit";
import type { AttentionViewElement, AttentionViewEvents, Openable } from "../src/view/element.ts";
import type { FigureOptions } from "../src/view/figure/options.ts";
import { sampleBundle } from "../src/view/store/sample.ts";
import type { HeadMeasures, HeadStore } from "../src/view/store/types.ts";
import { ACTIONS, type Doer } from "./actions.ts";
import { figureOf, htmlOf, pngOf } from "./export.ts";
import { type Keyed, press, rove } from "./keys.ts";
import { linesLook } from "./look/lines.ts";
import { panels, pictures, shell as shellStyles } from "./look/shell.ts";
import { controls, theme } from "./look/theme.ts";
import { interestingCell } from "./model/interesting.ts";
import { describeCell, detailCell } from "./model/words.ts";
import { nameOfAddress, openAddress, openAny } from "./open.ts";
import { Panes } from "./panes.ts";
import { Session } from "./session.ts";
import { Sheets } from "./sheets.ts";
import { Address } from "./state/history.ts";
import { MODES, STAGES, type State, VIEWS } from "./state/state.ts";
import type { Ui } from "./ui.ts";
import { dialogs } from "./views/dialogs.ts";
import { legend } from "./views/legend.ts";
import { linesLegend } from "./views/lines.ts";
import { modelSide } from "./views/model.ts";
import { rowView } from "./views/row.ts";
import { percent, shell } from "./views/shell.ts";

/** Attributes that are parts of the state, and how they are read. */
const PARTS = {
  view: VIEWS,
  mode: MODES,
  stage: STAGES,
  block: undefined,
  layer: undefined,
  head: undefined,
} as const;
type Part = keyof typeof PARTS;

export class AttentionView extends LitElement implements AttentionViewElement {
  static readonly tag = "attention-view";
  static override styles = [theme, controls, shellStyles, pictures, panels, linesLook];
  static override properties = {
    src: {},
    theme: { reflect: true },
    keys: {},
    address: { type: Boolean },
  };
  static override get observedAttributes(): string[] {
    // biome-ignore lint/complexity/noThisInStatic: lit finishes the class it is asked about.
    return [...super.observedAttributes, ...Object.keys(PARTS)];
  }

  /** Where the attention is read from. */
  declare src: string | undefined;
  /** light, dark, or auto: as the system has it. */
  declare theme: string | undefined;
  /** "off": single letters do nothing. */
  declare keys: string | undefined;
  /** The state is kept in the page's address, after #. One element of a page at most. */
  declare address: boolean;

  readonly #session = new Session();
  readonly #panes: Panes;
  readonly #address: Address;
  readonly #sheets: Sheets;
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  #unsubscribe: (() => void) | undefined;
  #opening: AbortController | undefined;
  #reflecting = false;
  #said = "";
  #drawnProgress = 1;
  #saying: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.address = false;
    this.#session.failed = (error) => this.#failed("Something went wrong while computing", error);
    this.#panes = new Panes({
      session: this.#session,
      takesWheel: (event) => this.#takesWheel(event),
      openHead: () => this.#session.set({ view: "head" }),
      progressed: (done) => this.#progressed(done),
    });
    this.#address = new Address(this.#session);
    this.#sheets = new Sheets(
      this.#session,
      () => this.requestUpdate(),
      () => this.renderRoot.querySelector("dialog")?.close(),
      () => this.#address.link,
    );
    this.addEventListener("keydown", (event) => press(this.#keyed, event));
    this.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.renderRoot.querySelector(".root")?.classList.add("dropping");
    });
    for (const name of ["dragleave", "drop"] as const)
      this.addEventListener(name, () => this.renderRoot.querySelector(".root")?.classList.remove("dropping"));
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#take([...(event.dataTransfer?.files ?? [])]);
    });
  }

  // — properties and methods for pages

  /** The store that is shown; a store of one's own may be set. */
  get store(): HeadStore | undefined {
    return this.#session.store;
  }
  set store(store: HeadStore | undefined) {
    this.#opening?.abort();
    this.#session.open(store);
    if (store) this.#opened(store);
  }

  /** Arrays, a file, bytes: opened as soon as it is set. */
  set data(given: Openable | undefined) {
    if (given === undefined) this.store = undefined;
    else void this.open(given);
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
    return (await figureOf(this.#session, options)).svg;
  }

  /** What is shown as PNG, at 1 to 4 times its size on screen. */
  toPNG(options: FigureOptions = {}, scale: 1 | 2 | 3 | 4 = 2): Promise<Blob> {
    return pngOf(this.#session, options, scale);
  }

  /** The explorer with this data and state as one HTML file that makes no request. */
  toHTML(): Promise<string> {
    return htmlOf(this.#session);
  }

  /** Opens arrays, a file, bytes. Resolves once it is shown; rejects where it cannot be read. */
  async open(given: Openable, name?: string): Promise<void> {
    await this.#open(name ?? "the file", () => openAny(given, name));
  }

  // — life

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unsubscribe = this.#session.subscribe((how, before) => this.#changed(how, before));
    for (const query of [this.#dark, this.#still]) query.addEventListener("change", this.#restyle);
    if (this.address) this.#address.connect();
    this.#restyle();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    for (const query of [this.#dark, this.#still]) query.removeEventListener("change", this.#restyle);
    this.#address.disconnect();
    this.#panes.disconnect();
    clearTimeout(this.#saying);
  }

  override attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    super.attributeChangedCallback(name, before, value);
    if (!(name in PARTS) || this.#reflecting || value === before || value === null) return;
    const part = name as Part;
    const choices: readonly string[] | undefined = PARTS[part];
    if (part === "block") this.#session.set({ block: value }, "replace");
    else if (choices === undefined) {
      if (/^\d+$/.test(value)) this.#session.set({ [part]: Number(value) }, "replace");
    } else if (choices.includes(value)) this.#session.set({ [part]: value }, "replace");
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("src") && this.src) {
      const { src } = this;
      void this.#open(nameOfAddress(src), (signal, progress) => openAddress(src, signal, progress)).catch(
        () => {},
      );
    }
    if (changed.has("theme")) this.#restyle();
  }

  override render(): TemplateResult {
    const ui = this.#ui;
    const { state } = this.#session;
    return html`${shell(ui, {
      atlas: this.#panes.atlas.root,
      pane: state.view === "row" && !state.table ? rowView(ui) : this.#panes.main.root,
      legend: state.view === "row" || state.table ? nothing : this.#legend,
      side: state.view === "model" ? modelSide(ui) : nothing,
      dialogs: dialogs(ui, this.#sheets.dialogs),
    })}${this.#panes.preview.root}<div class="hid" role="status" aria-live="polite">${this.#said}</div>`;
  }

  override updated(): void {
    this.#panes.update();
    const dialog = this.renderRoot.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
    for (const toolbar of this.renderRoot.querySelectorAll<HTMLElement>("[role=toolbar]")) rove(toolbar);
  }

  // — the inside

  get #legend(): TemplateResult {
    const { view, mode } = this.#session.state;
    const { lines, matrix, text } = this.#panes;
    if (view === "head" && mode === "lines") return linesLegend(this.#session, lines.domain);
    if (view === "head" && mode === "text") return legend(this.#session, text.domain);
    return legend(this.#session, matrix.domain);
  }

  get #ui(): Ui {
    return { session: this.#session, act: (name) => this.#act(name), say: (text) => this.#say(text) };
  }

  get #keyed(): Keyed {
    const session = this.#session;
    const doer: Doer = {
      session,
      zoom: (factor) => this.#panes.main.zoomBy?.(factor),
      follow: () => {
        this.#panes.main.follow?.();
        // The grid says its cells itself; the other views are told here.
        if (session.state.mode !== "matrix" || session.state.view === "row" || session.state.table)
          this.#say(describeCell(session, session.state.query, session.state.key, true));
      },
      say: (text) => this.#say(text),
      detail: () => this.#say(detailCell(session)),
      dialog: (name) => (name === "open" ? this.#pick() : this.#sheets.show(name)),
      focusMain: () => void this.updateComplete.then(() => this.#panes.main.focus()),
      focusHide: () => this.renderRoot.querySelector<HTMLElement>(".hide select")?.focus(),
      copyLink: () => void navigator.clipboard?.writeText(this.#address.link),
      theme: (name) => {
        this.theme = name;
      },
    };
    return {
      ...doer,
      lettersOff: this.keys === "off",
      moveHead: (rows, columns) =>
        (session.state.view === "model" ? this.#panes.large : this.#panes.atlas).headAt(rows, columns),
    };
  }

  #act(name: string): void {
    if (name === "pick") this.#pick();
    else if (name === "sample") void this.open(sampleBundle("causal")).catch(() => {});
    else ACTIONS.find((action) => action.name === name)?.run(this.#keyed);
  }

  /** Lets a person choose files. */
  #pick(): void {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.accept = ".safetensors,.npz,.npy,.json";
    input.addEventListener("change", () => this.#take([...(input.files ?? [])]));
    input.click();
  }

  #take(files: readonly File[]): void {
    if (files.length === 0) return;
    this.#open(files[0].name, () => openAny(files)).then(
      () => this.#sheets.show("report"),
      () => {},
    );
  }

  /** Says something to screen readers, once nothing has been said for a moment. */
  #say(text: string): void {
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => {
      this.#said = text;
      this.requestUpdate();
    }, 150);
  }

  /** Shows how far the background is, told in quarters. */
  #progressed(done: number): void {
    const session = this.#session;
    const before = session.progress;
    session.progress = done;
    if (done === before) return;
    if (done === 1 || before === 1 || Math.abs(done - this.#drawnProgress) > 0.02) {
      this.#drawnProgress = done;
      this.requestUpdate();
    }
    if (Math.floor(4 * done) > Math.floor(4 * before) && before < 1) {
      this.#emit("progress", { what: "heads", done });
      this.#say(`${percent(done)} of the heads measured`);
    }
  }

  /** The wheel zooms where the page has nothing to scroll, or where the element is in use. */
  #takesWheel(event: WheelEvent): boolean {
    const page = document.scrollingElement;
    return (
      event.ctrlKey ||
      this.matches(":focus-within") ||
      page === null ||
      page.scrollHeight <= page.clientHeight
    );
  }

  #changed(how: "push" | "replace", before: State): void {
    const { state } = this.#session;
    this.requestUpdate();
    if (this.address) this.#address.write(how);
    if (state === before) return;
    this.#reflect();
    if (state.layer !== before.layer || state.head !== before.head || state.block !== before.block)
      void this.#load();
    const { block, layer, head, query, key } = state;
    const moved = (["block", "layer", "head", "query", "key"] as const).some(
      (part) => state[part] !== before[part],
    );
    if (moved) this.#emit("cursorchange", { block, layer, head, query, key });
    if (state.held !== before.held || state.pins !== before.pins)
      this.#emit("pin", { held: state.held, pins: state.pins });
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
    for (const part of Object.keys(PARTS) as Part[])
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

  async #open(
    what: string,
    opening: (signal: AbortSignal, progress: (done: number) => void) => Promise<HeadStore>,
  ): Promise<void> {
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
      const store = await opening(control.signal, progress);
      if (control.signal.aborted) {
        store.dispose();
        return;
      }
      session.open(store);
      this.#opened(store);
    } catch (error) {
      if (control.signal.aborted) return;
      this.#failed(`${what} could not be opened`, error);
      throw error;
    }
  }

  #opened(store: HeadStore): void {
    void this.#load().then(() => {
      const { query, key, held } = this.#session.state;
      const cell = query + key === 0 && held === null ? interestingCell(this.#session) : undefined;
      if (cell) this.#session.set(cell, "replace");
    });
    this.#reflect();
    this.#emit("load", { report: store.report });
  }

  #failed(title: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (this.#session.store === undefined) this.#session.status = { kind: "error", title, text };
    else this.#say(`${title}: ${text}`);
    this.#session.changed();
    this.#emit("error", { title, message: text, code: (error as { code?: string })?.code });
  }

  readonly #restyle = () => {
    const session = this.#session;
    session.dark = this.theme === "dark" || (this.theme !== "light" && this.#dark.matches);
    session.still = this.#still.matches;
    this.#panes.restyle();
    this.requestUpdate();
  };
}
