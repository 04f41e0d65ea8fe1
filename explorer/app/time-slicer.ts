/**
 * Work on the page's own thread, a slice at a time: at most a few milliseconds, then the page may draw. What is newest
 * goes first.
 */

/** A piece of work: does a little and says whether more is to be done. */
export type Work = () => boolean;

/** Milliseconds of one slice. */
const SLICE = 5;

export class Slices {
  readonly #works: Work[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Adds work, or moves it to the front. */
  add(work: Work): void {
    this.drop(work);
    this.#works.push(work);
    this.#timer ??= setTimeout(this.#run, 0);
  }

  drop(work: Work): void {
    const at = this.#works.indexOf(work);
    if (at >= 0) this.#works.splice(at, 1);
  }

  clear(): void {
    this.#works.length = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #run = () => {
    const end = performance.now() + SLICE;
    try {
      while (this.#works.length > 0 && performance.now() < end) {
        const work = this.#works[this.#works.length - 1];
        // Whatever throws is not asked again; the others go on.
        let more = false;
        try {
          more = work();
        } finally {
          if (!more) this.drop(work);
        }
      }
    } finally {
      this.#timer = this.#works.length > 0 ? setTimeout(this.#run, 4) : undefined;
    }
  };
}
