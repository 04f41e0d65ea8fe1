/**
 * The running text of a head, each token on a ground of the weight it gets from the chosen queries, or gives to the
 * chosen keys. A pane as the matrix is: it renders when told, and changes the session when somebody points.
 */
import type { Session } from "../session.ts";

/** What the text needs of the element it is in. */
export interface TextHost {
  readonly session: Session;
}

export class TextPane {
  readonly root = document.createElement("div");
  readonly #host: TextHost;
  #due = 0;

  constructor(host: TextHost) {
    this.#host = host;
    this.root.className = "text";
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
