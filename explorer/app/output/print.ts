/**
 * Prints one element. The browser fires `beforeprint` and lays the page out without another frame, so all changes are
 * synchronous: the print styles are adopted, the pictures are redrawn in light colors from data in memory, and, if the explorer
 * owns the page, the sheet gets the size of the figure. `afterprint` reverts all of it.
 */
import { paper, SHEET } from "../../styles/print.ts";

/** What printing needs of an element. */
export interface PaperHost {
  readonly root: () => ShadowRoot;
  /** Recomputes the colors. */
  readonly restyle: () => void;
  /** Draws the panes on screen immediately. */
  readonly draw: () => void;
  /** Whether the explorer owns the page. */
  readonly owns: () => boolean;
}

/** Pixels around the figure, and the maximum height of a sheet. */
const MARGIN = 36;
const MAX_HEIGHT = 6000;

export class Paper {
  /** True from `beforeprint` to `afterprint`. */
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

  /** For a change of the medium without print events: the emulation in developer tools. */
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
    // Rewritten as pixels: browsers may print the recorded drawing commands instead, and PDF viewers lose their clipped parts.
    for (const canvas of root.querySelectorAll("canvas")) {
      const { width, height } = canvas;
      const context = canvas.getContext("2d");
      if (width * height > 0) context?.putImageData(context.getImageData(0, 0, width, height), 0, 0);
    }
    if (!this.#host.owns()) return;
    const high = Math.min(MAX_HEIGHT, Math.ceil(frame.getBoundingClientRect().height) + 1);
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
