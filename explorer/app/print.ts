/**
 * Printing one element: before the browser lays the page out on paper there is one moment, and no further frame. In it the
 * print styles are put on, the pictures are drawn in the light page's colors from what is in memory, and, where the element
 * is its page's one explorer, the sheet gets the size of the figure. Afterwards all of it is taken back.
 */
import { paper, SHEET } from "../styles/print.ts";

/** What is used of an element. */
export interface PaperHost {
  readonly root: () => ShadowRoot;
  /** Colors have changed. */
  readonly restyle: () => void;
  /** Draws what is on screen, now. */
  readonly draw: () => void;
  /** Whether the page is the element's own. */
  readonly owns: () => boolean;
}

/** Pixels around the figure, and the highest sheet. */
const MARGIN = 36;
const HIGHEST = 6000;

export class Paper {
  /** True from just before the page is printed until it is. */
  on = false;
  readonly #host: PaperHost;
  readonly #print = matchMedia("print");
  #page: CSSStyleSheet | undefined;

  constructor(host: PaperHost) {
    this.#host = host;
  }

  connect(): void {
    addEventListener("beforeprint", this.#begin);
    addEventListener("afterprint", this.#end);
    this.#print.addEventListener("change", this.#changed);
  }

  disconnect(): void {
    removeEventListener("beforeprint", this.#begin);
    removeEventListener("afterprint", this.#end);
    this.#print.removeEventListener("change", this.#changed);
    this.#end();
  }

  /** Where the medium changes without an event of its own: previews of a developer's tools. */
  readonly #changed = () => (this.#print.matches ? this.#begin() : this.#end());

  readonly #begin = () => {
    const root = this.#host.root();
    const [frame, pane] = [".root", ".pane"].map((name) => root.querySelector<HTMLElement>(name));
    if (this.on || !frame || !pane) return;
    this.on = true;
    const { clientWidth: width, clientHeight: height } = pane;
    if (width > 0) {
      frame.style.setProperty("--print-width", `${width}px`);
      frame.style.setProperty("--print-height", `${height}px`);
      frame.style.setProperty("--print-zoom", Math.min(1, SHEET / width).toFixed(4));
    }
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, paper.styleSheet!];
    this.#host.restyle();
    this.#host.draw();
    // Put there as pixels: of a list of what was drawn, which a browser prints too, viewers of PDF lose what is clipped.
    for (const canvas of root.querySelectorAll("canvas")) {
      const { width, height } = canvas;
      const context = canvas.getContext("2d");
      if (width * height > 0) context?.putImageData(context.getImageData(0, 0, width, height), 0, 0);
    }
    if (!this.#host.owns()) return;
    const high = Math.min(HIGHEST, Math.ceil(frame.getBoundingClientRect().height) + 1);
    this.#page = new CSSStyleSheet();
    this.#page.replaceSync(
      `@page { size: ${SHEET + 2 * MARGIN}px ${high + 2 * MARGIN}px; margin: ${MARGIN}px; }`,
    );
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.#page];
  };

  readonly #end = () => {
    if (!this.on) return;
    this.on = false;
    const root = this.#host.root();
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((sheet) => sheet !== paper.styleSheet);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#page);
    this.#page = undefined;
    const frame = root.querySelector<HTMLElement>(".root");
    for (const name of ["width", "height", "zoom"]) frame?.style.removeProperty(`--print-${name}`);
    this.#host.restyle();
  };
}
