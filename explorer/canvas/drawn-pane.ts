/**
 * The base of panes: an element that draws itself at most once a frame, after changes of the session, of its size or of the colors.
 * A pane says what it draws (`paint`) and which element's size it depends on (`sized`).
 */
export abstract class DrawnPane {
  readonly root: HTMLElement = document.createElement("div");
  /** The size of the observed element in pixels. */
  protected size: readonly [width: number, height: number] = [0, 0];
  /** Its signal ends the listeners of the pane. */
  readonly listening = new AbortController();
  readonly #sizes = new ResizeObserver(() => this.#measure());
  #due = 0;

  /** @param className the classes of the element */
  constructor(className: string) {
    this.root.className = className;
  }

  /** Draws the pane. */
  protected abstract paint(): void;

  /** The next drawing paints everything again. */
  protected outdated(): void {}

  /** The element whose size the drawing depends on. */
  protected get sized(): HTMLElement {
    return this.root;
  }

  connect(): void {
    this.#sizes.observe(this.sized);
    this.#measure();
  }

  disconnect(): void {
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#due);
    this.#due = 0;
  }

  /** Disconnects for good. */
  dispose(): void {
    this.disconnect();
    this.listening.abort();
  }

  schedule(repaint = false): void {
    if (repaint) this.outdated();
    if (this.#due === 0 && this.root.isConnected) this.#due = requestAnimationFrame(() => this.draw());
  }

  /** Draws immediately: there is no frame between `beforeprint` and printing. */
  draw(): void {
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    this.paint();
  }

  #measure(): void {
    this.size = [this.sized.clientWidth, this.sized.clientHeight];
    this.schedule(true);
  }
}

/** Gives a canvas its size in CSS pixels, for a screen of `ratio` device pixels a pixel; a canvas of that size keeps its picture. */
export function resizeCanvas(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === w && canvas.height === h) return;
  canvas.width = w;
  canvas.height = h;
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${height}px`);
}
