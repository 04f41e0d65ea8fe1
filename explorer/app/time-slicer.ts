/**
 * Runs work on the main thread in slices of a few milliseconds, so that the page can draw in between. The newest work runs
 * first.
 */

/** A unit of work: does a small part, and returns whether more remains. */
export type SlicedWork = () => boolean;

/** Milliseconds of one slice. */
const SLICE = 5;

export class Slices {
  readonly #works: SlicedWork[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The frame before which nothing runs, or 0. */
  #frame = 0;

  /** Adds work, or moves it to the front. */
  add(work: SlicedWork): void {
    this.drop(work);
    this.#works.push(work);
    if (this.#frame === 0) this.#timer ??= setTimeout(this.#run, 0);
  }

  /** Continues after the next frame, which draws what has changed: work would delay it. */
  afterFrame(): void {
    clearTimeout(this.#timer);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#timer = setTimeout(this.#run, 0);
    });
  }

  drop(work: SlicedWork): void {
    const at = this.#works.indexOf(work);
    if (at >= 0) this.#works.splice(at, 1);
  }

  clear(): void {
    this.#works.length = 0;
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#timer = undefined;
    this.#frame = 0;
  }

  readonly #run = () => {
    const end = performance.now() + SLICE;
    try {
      while (this.#works.length > 0 && performance.now() < end) {
        const work = this.#works[this.#works.length - 1];
        // Work that throws is dropped; the other work continues.
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
