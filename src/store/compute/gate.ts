/**
 * A gate for background work: a few requests are under way at once, and of those that wait, the most urgent goes next. So a file with
 * thousands of heads is read head by head, and a change of what is on screen applies to all that has not begun.
 */

interface Waiting {
  readonly arrival: number;
  readonly urgency: () => number;
  readonly enter: () => void;
}

/** Lets at most `limit` pieces of work run at once. */
export class Gate {
  private readonly limit: number;
  private inside = 0;
  /** The most urgent is last, unless `sorted` is false. */
  private waiting: Waiting[] = [];
  private sorted = true;
  private arrivals = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * Runs work once it is its turn. Work whose signal aborts while it waits is not begun.
   *
   * @param urgency lower goes first; read again after `reorder`
   */
  async run<T>(urgency: () => number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.inside < this.limit) this.inside++;
    else await this.turn(urgency, signal);
    try {
      return await work();
    } finally {
      // The place of this work goes to the next one.
      const next = this.next();
      if (next) next.enter();
      else this.inside--;
    }
  }

  /** Urgencies have changed. */
  reorder(): void {
    this.sorted = false;
  }

  private turn(urgency: () => number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting = this.waiting.filter((one) => one !== waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        arrival: this.arrivals++,
        urgency,
        enter: () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.waiting.push(waiting);
      this.sorted = false;
    });
  }

  private next(): Waiting | undefined {
    if (!this.sorted) {
      const order = this.waiting.map((waiting) => ({ waiting, at: waiting.urgency() }));
      // Equally urgent work goes in the order of its requests.
      order.sort((a, b) => b.at - a.at || b.waiting.arrival - a.waiting.arrival);
      this.waiting = order.map(({ waiting }) => waiting);
      this.sorted = true;
    }
    return this.waiting.pop();
  }
}
