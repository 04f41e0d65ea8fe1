/**
 * The user interface of an element: its panes and templates, keys, actions, and announcements for screen readers. It is loaded
 * after the element itself (element.ts), which owns the session. Modules that the first picture does not need are loaded later
 * (lazy.ts).
 */
import { type CSSResult, html, nothing, type TemplateResult } from "lit";
import type { AttentionViewEvents } from "../../src/view/element.ts";
import { STAGES } from "../state/state.ts";
import { describeCell, detailCell } from "../state/words.ts";
import { linesLook } from "../styles/lines.ts";
import { printLook } from "../styles/print.ts";
import { panels, pictures, shell as shellLook } from "../styles/shell.ts";
import { controls } from "../styles/theme.ts";
import { head } from "../views/head.ts";
import { viewOf } from "../views/registry.ts";
import { alone } from "../views/row/alone.ts";
import { pageDevice } from "./device.ts";
import type { Sheets } from "./dialog-state.ts";
import { ACTIONS, type ActionContext } from "./input/actions.ts";
import { type Keyed, press, rove } from "./input/keys.ts";
import { Paper } from "./output/print.ts";
import type { DialogName } from "./panels/dialogs.ts";
import { percent, shell } from "./panels/shell.ts";
import type { More } from "./panes.ts";
import { Panes } from "./panes.ts";
import type { Session } from "./session.ts";
import type { OpenSource } from "./sources.ts";
import type { Ui } from "./ui.ts";

/** All styles except those of the element's own box. */
export const LOOK: readonly CSSResult[] = [controls, shellLook, pictures, panels, linesLook, printLook];

/** What the surface needs of its element. */
export interface SurfaceHost {
  readonly session: Session;
  readonly root: () => ShadowRoot;
  readonly inUse: () => boolean;
  readonly update: () => Promise<unknown>;
  /** Adds sources and shows the first of them. */
  readonly add: (sources: readonly OpenSource[]) => Promise<void>;
  readonly link: () => string;
  readonly theme: (name: "auto" | "light" | "dark") => void;
  readonly lettersOff: () => boolean;
  /** Shows a source in the form that a page gives: a new one, or in place of the one that is shown. */
  readonly open: Ui["open"];
  /** Only the row view is shown. */
  readonly alone: boolean;
  /** Whether the explorer owns the page. */
  readonly ownsPage: () => boolean;
  /** Recomputes the colors. */
  readonly restyle: () => void;
  readonly emit: (name: "progress", detail: AttentionViewEvents["progress"]["detail"]) => void;
}

/** Actions that have keys when only the row view is shown. */
const ROW_ACTIONS: ReadonlySet<string> = new Set([
  ...["pin", "back", "weaker", "stronger", "detail", "next-block", ...STAGES],
  ...["next-head", "previous-head", "next-layer", "previous-layer"],
]);

/** Below this height of the element in pixels, the caption may give way; a picture of this height never needs that. */
const LOW = 260;
const LEGIBLE = 160;

export class Surface {
  readonly #host: SurfaceHost;
  readonly #panes: Panes;
  readonly #paper: Paper;
  #more: More | undefined;
  #loading: Promise<More> | undefined;
  #sheets: Sheets | undefined;
  #announcement = "";
  #announcing: ReturnType<typeof setTimeout> | undefined;
  /** Whether an announcement waits that is no progress. */
  #waits = false;
  #drawnProgress = 1;
  #unsubscribe = () => {};
  /** The height of the element in pixels, and up to which height it shows no caption. */
  #height = 0;
  #bare = 0;
  readonly #sizes = new ResizeObserver(([{ contentRect }]) => {
    this.#height = contentRect.height;
    if (this.#height > this.#bare) this.#bare = 0;
    void this.#host.update();
  });
  /** The focused element of the picture before the last rendering. */
  #focused: Element | null = null;
  /** The tab of the text that is shown. */
  #tab: Element | null = null;

  constructor(host: SurfaceHost) {
    this.#host = host;
    this.#panes = new Panes({
      session: host.session,
      takesWheel: (event) => this.#takesWheel(event),
      openHead: () => host.session.set({ view: head.name }),
      progressed: (done) => this.#progressed(done),
      loaded: () => void host.update(),
    });
    this.#paper = new Paper({
      root: host.root,
      restyle: host.restyle,
      draw: () => this.#panes.draw(),
      owns: host.ownsPage,
    });
  }

  render(): TemplateResult {
    const ui = this.#ui;
    const { session } = this.#host;
    const { state } = session;
    this.#focused = this.#host.root().activeElement?.closest(".pane")
      ? this.#host.root().activeElement
      : null;
    const more = this.#more;
    if (more === undefined && state.table) void this.#loadMore();
    const { view, parts } = this.#panes.shown;
    const main = this.#panes.main;
    const content = (state.table && main ? undefined : parts?.content)?.(ui) ?? main?.root ?? html``;
    const announcement = html`<div class="hid" role="status" aria-live="polite">${this.#announcement}</div>`;
    if (this.#host.alone) return html`${alone(ui, parts?.content?.(ui) ?? html``)}${announcement}`;
    return html`${shell(ui, {
      hasCaption: this.#bare === 0,
      atlas: this.#panes.atlas.root,
      pane: content,
      controls: parts?.controls?.(ui) ?? nothing,
      caption: state.table ? nothing : (parts?.caption?.(session) ?? nothing),
      legend: state.table ? nothing : (parts?.legend?.(session, this.#panes.paneOf(view)) ?? nothing),
      role: parts?.inspector?.(ui),
      dialogs: more && this.#sheets ? more.dialogs(ui, this.#sheets.dialogs) : nothing,
    })}${this.#panes.preview.root}${announcement}`;
  }

  /** After the page has been rendered. */
  updated(): void {
    this.#panes.update();
    const root = this.#host.root();
    const dialog = root.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
    for (const toolbar of root.querySelectorAll<HTMLElement>("[role=toolbar]")) rove(toolbar);
    // The strip of texts is scrolled to the tab of the text that is shown.
    const tab = root.querySelector<HTMLElement>(".sources [aria-current]");
    if (tab && tab !== this.#tab) tab.parentElement!.scrollLeft = tab.offsetLeft - 20;
    this.#tab = tab;
    // A picture that replaced a focused one gets the focus.
    if (this.#focused && !root.contains(this.#focused) && root.activeElement === null) this.focusMain();
    this.#focused = null;
    this.#fit(root);
    // Once a picture is on screen, the remaining modules are loaded, so that dialogs open without delay.
    if (this.#more === undefined && this.#host.session.store) setTimeout(() => void this.#loadMore(), 300);
  }

  /** In a low box, a caption that leaves the picture little space gives way. */
  #fit(root: ShadowRoot): void {
    const foot = this.#height > 0 && this.#height < LOW ? root.querySelector(".foot") : null;
    // Read only here: it forces a layout of the page.
    const picture = foot && root.querySelector(".pane")?.clientHeight;
    if (foot === null || (picture ?? 0) >= Math.min(LEGIBLE, 1.5 * foot.clientHeight)) return;
    this.#bare = this.#height;
    void this.#host.update();
  }

  connect(): void {
    this.#paper.connect();
    this.#sizes.observe(this.#host.root().host);
    this.#unsubscribe();
    this.#unsubscribe = pageDevice.subscribe(({ text, failed }) => {
      if (failed) this.#host.session.notify({ kind: "problem", text });
      else void this.#host.update();
    });
  }

  /** Whether the page is being printed. */
  get printing(): boolean {
    return this.#paper.on;
  }

  disconnect(): void {
    this.#paper.disconnect();
    this.#sizes.disconnect();
    this.#unsubscribe();
    this.#panes.disconnect();
    clearTimeout(this.#announcing);
  }

  restyle(): void {
    this.#panes.restyle();
  }

  press(event: KeyboardEvent): void {
    press(this.#keyed, event);
  }

  /** Announces a text to screen readers, 150 ms after the last call. Progress does not replace what else waits to be announced. */
  say(text: string, isProgress = false): void {
    if (isProgress && this.#waits) return;
    clearTimeout(this.#announcing);
    this.#waits = !isProgress;
    this.#announcing = setTimeout(() => {
      this.#waits = false;
      this.#announcement = text;
      void this.#host.update();
    }, 150);
  }

  /** Focuses the picture as soon as it has been drawn. */
  focusMain(tries = 30): void {
    const { root, session, update } = this.#host;
    void update().then(() => {
      const { view, mode, table } = session.state;
      if (this.#panes.main && (table || !viewOf({ view, mode }).layout.scrolls)) this.#panes.main.focus();
      else root().querySelector<HTMLElement>(".pane .cursor-keys")?.focus();
      const isFocused = root().activeElement?.closest(".pane") != null;
      if (!isFocused && tries > 0) requestAnimationFrame(() => this.focusMain(tries - 1));
    });
  }

  /** Opens files, then shows the report of the first. */
  openFiles(files: readonly File[]): void {
    const isList = ({ name }: File) => /\.txt$/i.test(name);
    const list = files.find(isList);
    if (list !== undefined && !this.#host.alone) void this.#measure(list);
    const bundles = files.filter((file) => !isList(file));
    if (bundles.length === 0 || this.#host.alone) return;
    void import("./open.ts")
      .then(({ sourcesOf }) => this.#host.add(sourcesOf(bundles)))
      .then(
        () => this.#dialog("report"),
        () => {},
      );
  }

  /** Measures every head over the lines of a file, or says what does. */
  async #measure(file: File): Promise<void> {
    const { session } = this.#host;
    try {
      const { commandFor, measureTexts } = await this.#loadMore();
      const { reader } = session;
      if (reader === undefined)
        session.notify({
          kind: "error",
          text: `${file.name} is a list of texts, and no model is behind this page to read them. \`${commandFor(file.name)}\` measures every head over them`,
        });
      else {
        this.#dialog("texts");
        await measureTexts(session, file, reader);
        this.say("Every head has been measured.");
      }
    } catch (error) {
      session.failed(error);
    }
  }

  #loadMore(): Promise<More> {
    const { session } = this.#host;
    this.#loading ??= import("./lazy.ts").then((more) => {
      this.#more = more;
      const { adoptedStyleSheets: sheets } = this.#host.root();
      if (more.later.styleSheet) sheets.push(more.later.styleSheet);
      this.#panes.more = more;
      this.#sheets = new more.Sheets(
        session,
        () => void this.#host.update(),
        () => this.#host.root().querySelector("dialog")?.close(),
        () => this.#host.link(),
      );
      this.#panes.loadAll();
      void this.#host.update();
      return more;
    });
    this.#loading.catch((error) => {
      // The next use tries again.
      this.#loading = undefined;
      session.failed(error);
    });
    return this.#loading;
  }

  get #ui(): Ui {
    const ui: Ui = {
      session: this.#host.session,
      owns: this.#host.ownsPage(),
      act: (name) => this.#act(name),
      say: (text) => this.say(text),
      headPanels: () => {
        const more = this.#more;
        return more
          ? html`${more.continuationPanel(ui)}${more.ablationPanel(ui)}${more.causesPanel(ui.session)}${more.askPanel(ui)}`
          : nothing;
      },
      why: () => this.#more?.whyPanel(ui.session) ?? nothing,
      open: this.#host.open,
    };
    return ui;
  }

  get #keyed(): Keyed {
    const { session, root, link, theme, lettersOff } = this.#host;
    const doer: ActionContext = {
      session,
      zoom: (factor) => this.#panes.main?.zoomBy?.(factor),
      follow: () => {
        this.#panes.main?.follow?.();
        // A grid announces its own cells; the cells of other views are announced here.
        if (this.#host.root().activeElement?.getAttribute("role") !== "gridcell")
          this.say(describeCell(session, session.state.query, session.state.key, true));
      },
      say: (text) => this.say(text),
      detail: () => this.say(detailCell(session)),
      dialog: (name) => (name === "open" ? this.pick() : this.#dialog(name)),
      focusMain: () => this.focusMain(),
      focusHide: () => root().querySelector<HTMLElement>(".hide select")?.focus(),
      copyLink: () =>
        void navigator.clipboard?.writeText(link()).then(
          () => this.say("The link was copied."),
          (error) => session.notify({ kind: "error", text: `The link was not copied: ${error.message}` }),
        ),
      sample: () => this.#sample(),
      theme,
    };
    return {
      ...doer,
      lettersOff: lettersOff(),
      only: this.#host.alone ? ROW_ACTIONS : undefined,
      moveHead: (rows, columns) =>
        (this.#panes.main?.headAt ? this.#panes.main : this.#panes.atlas).headAt?.(rows, columns),
    };
  }

  #dialog(name: DialogName): void {
    this.#loadMore().then(
      () => this.#sheets?.show(name),
      () => {},
    );
  }

  #act(name: string): void {
    if (name === "pick") this.pick();
    else ACTIONS.find((action) => action.name === name)?.run(this.#keyed);
  }

  #sample(): void {
    const open = async () => {
      const [{ openAny }, { sampleBundle }] = await Promise.all([
        import("./open.ts"),
        import("../../src/store/sample.ts"),
      ]);
      return openAny(sampleBundle("causal"));
    };
    this.#host.add([{ name: "the sample", open }]).catch(() => {});
  }

  /** Opens the file picker. */
  pick(): void {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.accept = ".safetensors,.npz,.npy,.json,.txt";
    input.addEventListener("change", () => this.openFiles([...(input.files ?? [])]));
    input.click();
  }

  /** Shows the progress of background work, and announces each quarter. */
  #progressed(done: number): void {
    const { session, update, emit } = this.#host;
    const before = session.progress;
    session.progress = done;
    if (done === before) return;
    if (done === 1 || before === 1 || Math.abs(done - this.#drawnProgress) > 0.02) {
      this.#drawnProgress = done;
      void update();
    }
    if (Math.floor(4 * done) > Math.floor(4 * before) && before < 1) {
      emit("progress", { what: "heads", done });
      this.say(`${percent(done)} of the heads measured`, true);
    }
  }

  /** The wheel zooms if the page cannot scroll, if the element has the focus, or with Ctrl. */
  #takesWheel(event: WheelEvent): boolean {
    const page = document.scrollingElement;
    const scrolls = page !== null && page.scrollHeight > page.clientHeight;
    return event.ctrlKey || this.#host.inUse() || !scrolls;
  }
}
