/**
 * Draws a mounted page in place: each part of its markup from the same templates that wrote it. A state is drawn only once its numbers
 * have arrived, so a picture and its numbers always match. Parts that are not in view are drawn once nothing changes.
 */
import { html, render, type TemplateResult } from "../../../ui/markup.ts";
import { svgText } from "../../../ui/svg-text.ts";
import { encodeState, type LabState } from "../fields.ts";
import {
  isAbout,
  pictureOf,
  renderCode,
  renderControl,
  renderStep,
  renderTable,
  renderTasks,
} from "../render.ts";
import type { ReaderProgress } from "./progress.ts";
import type { PageState } from "./state.ts";

const NARROW_BELOW = 900;
/** Milliseconds between two pictures of intermediate numbers: those that come faster wait for the next frame. */
const FRAME = 12;
/** Milliseconds without a change after which parts that are not in view are drawn too. */
const SETTLED = 120;

/** Parts below the picture that a change seldom shows. */
const BELOW = { code: renderCode, table: renderTable } as const;
type Below = keyof typeof BELOW;

export class Drawing<S extends LabState, N> {
  readonly #root: HTMLElement;
  readonly #state: PageState<S, N>;
  readonly #progress: ReaderProgress<S, N>;
  readonly #parts = new Map<string, HTMLElement>();
  /** Parts whose markup is lit's; the others are still as the page was written. */
  readonly #rendered = new Set<HTMLElement>();
  /** Parts below the picture whose numbers are older than the picture. */
  readonly #stale = new Set<Below>();
  readonly #inView = new Set<Element>();
  readonly #observer: IntersectionObserver;
  /** Draws the picture of the other width when it is shown. */
  readonly #resized = new ResizeObserver(() => {
    if (this.#drawnWide === !this.wide) this.schedule();
  });
  /** The width of the last picture. */
  #drawnWide: boolean | undefined;
  /** Whether the state is written into the address of the document. */
  readonly #hasAddress: boolean;
  #frame = 0;
  #lastTime = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;
  /** The variable of the code that the reader points at. */
  #variable: string | undefined;
  /** Called after a picture was drawn. */
  onDrawn: () => void = () => {};
  /** Called once nothing changes. */
  onSettled: () => void = () => {};

  constructor(
    root: HTMLElement,
    state: PageState<S, N>,
    progress: ReaderProgress<S, N>,
    hasAddress: boolean,
  ) {
    this.#root = root;
    this.#state = state;
    this.#progress = progress;
    this.#hasAddress = hasAddress;
    for (const part of root.querySelectorAll<HTMLElement>("[data-part]"))
      this.#parts.set(part.getAttribute("data-part")!, part);
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries)
        if (isIntersecting) this.#inView.add(target);
        else this.#inView.delete(target);
      for (const name of this.#stale) if (this.#isInView(name)) this.#drawBelow(name);
    });
    this.#resized.observe(root);
    // A picture alone has neither.
    for (const name of Object.keys(BELOW)) {
      const part = this.#parts.get(name);
      if (part !== undefined) this.#observer.observe(part);
    }
  }

  /** Whether the wide picture is shown. */
  get wide(): boolean {
    return this.#root.clientWidth >= NARROW_BELOW;
  }

  /** The picture that is shown. */
  get svg(): SVGSVGElement {
    return this.#root.querySelector<SVGSVGElement>(
      `.picture svg.${(this.#drawnWide ?? this.wide) ? "wide" : "narrow"}`,
    )!;
  }

  /** Draws now, or in the next frame if the last picture is too recent: for intermediate numbers, which may come faster than frames. */
  drawSoon(): void {
    if (performance.now() - this.#lastTime > FRAME) this.draw();
    else this.schedule();
  }

  /** Draws in the next frame. */
  schedule(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  }

  /** Draws what is shown, and the rest once nothing changes. */
  draw(): void {
    const view = this.#state.view(this.wide);
    if (view === undefined) return;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { page } = this.#state;
    this.#drawnWide = view.wide;
    this.#put("picture", html`${svgText(pictureOf(page, view))}`);
    this.#put("caption", page.caption(view));
    this.#put("control", renderControl(page, view));
    for (const name of Object.keys(BELOW) as Below[])
      if (this.#isInView(name)) this.#drawBelow(name);
      else this.#stale.add(name);
    for (const at of this.#progress.stepsInView())
      if (isAbout(page, view.state, at)) this.#put(`step-${at}`, renderStep(page.steps[at], view, at));
    this.#put("tasks", renderTasks(page, this.#progress.tasksDone(view), view));
    if (this.#variable !== undefined) this.point(this.#variable);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#settle(), SETTLED);
    this.#lastTime = performance.now();
    this.onDrawn();
    this.#root.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  }

  /** Marks what a variable of the code is in the picture. */
  point(variable: string | undefined): void {
    this.#variable = variable;
    this.#root.classList.toggle("pointing", variable !== undefined);
    for (const group of this.#root.querySelectorAll(".picture [data-name]"))
      group.classList.toggle("lit", group.getAttribute("data-name") === variable);
  }

  /** Ends what is scheduled. */
  end(): void {
    this.#observer.disconnect();
    this.#resized.disconnect();
    clearTimeout(this.#settling);
    cancelAnimationFrame(this.#frame);
  }

  #isInView(name: Below): boolean {
    const part = this.#parts.get(name);
    return part !== undefined && this.#inView.has(part);
  }

  #drawBelow(name: Below): void {
    const view = this.#state.view(this.wide);
    if (view === undefined) return;
    this.#stale.delete(name);
    this.#put(name, BELOW[name](this.#state.page, view));
  }

  /** Once nothing changes: what is not in view, and the address. */
  #settle(): void {
    const { page, computed } = this.#state;
    for (const name of this.#stale) this.#drawBelow(name);
    if (this.#hasAddress && computed !== undefined) {
      const hash = encodeState(page.fields, computed.state);
      if (hash !== location.hash)
        history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
    }
    this.onSettled();
  }

  #put(name: string, markup: TemplateResult): void {
    const part = this.#parts.get(name);
    if (part === undefined) return;
    const hadFocus = part.matches(":focus-within");
    if (this.#rendered.has(part)) render(markup, part);
    // A slider that the reader holds is not replaced by its equal.
    else if (part.querySelector("input:active") !== null)
      part.addEventListener("change", () => this.schedule(), { once: true });
    else {
      this.#rendered.add(part);
      replaceMarkup(part, markup);
    }
    // The button of a question that was answered, or asked again, is gone: the focus goes to the one in its place.
    if (hadFocus && !part.matches(":focus-within"))
      part.querySelector<HTMLElement>(".predict button")?.focus({ preventScroll: true });
  }
}

/** Renders a part for the first time: the markup that the page was written with goes, the focus stays. */
function replaceMarkup(part: HTMLElement, markup: TemplateResult): void {
  const { activeElement } = part.getRootNode() as Document | ShadowRoot;
  const at = [...part.querySelectorAll("*")].indexOf(activeElement!);
  const mark = activeElement?.getAttribute("data-key");
  part.replaceChildren();
  render(markup, part);
  // Before a mark of the picture there can be more or fewer elements now.
  const again = part.querySelectorAll<HTMLElement>(mark ? `[data-key="${mark}"]` : "*");
  again[mark && at >= 0 ? 0 : at]?.focus({ preventScroll: true });
}
