/** Turns of the operations of a rank: they run one after the other, in the order of their calls, so that those of all ranks meet. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  /** An operation runs. */
  isBusy = false;

  /** Runs an operation after those before it; at once, within this call, where none runs. */
  take<T>(run: () => Promise<T>): Promise<T> {
    if (this.isBusy) return new Promise((resolve) => this.#waiting.push(() => resolve(this.#run(run))));
    return this.#run(run);
  }

  async #run<T>(run: () => Promise<T>): Promise<T> {
    this.isBusy = true;
    try {
      return await run();
    } finally {
      this.isBusy = false;
      this.#waiting.shift()?.();
    }
  }
}
