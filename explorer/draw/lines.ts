/**
 * A head as lines between tokens: queries on the left, keys on the right, or arcs beside one column where a text attends
 * to itself. A pane of its own, as the matrix is: it paints when told, and changes the session when somebody points.
 */
import type { Session } from "../session.ts";

/** What the lines need of the element they are in. */
export interface LinesHost {
  readonly session: Session;
}

export class Lines {
  readonly root = document.createElement("div");
  readonly #host: LinesHost;
  #due = 0;

  constructor(host: LinesHost) {
    this.#host = host;
    this.root.className = "lines";
  }

  connect(): void {
    this.schedule();
  }

  disconnect(): void {
    cancelAnimationFrame(this.#due);
    this.#due = 0;
  }

  dispose(): void {
    this.disconnect();
  }

  restyle(): void {
    this.schedule();
  }

  schedule(): void {
    if (this.#due === 0 && this.root.isConnected) this.#due = requestAnimationFrame(() => this.#draw());
  }

  focus(): void {
    this.root.querySelector<HTMLElement>("[tabindex='0']")?.focus({ preventScroll: true });
  }

  #draw(): void {
    this.#due = 0;
    this.root.hidden = !this.#host.session.ready;
  }
}
