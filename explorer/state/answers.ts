/** Answers of a session's store, each requested once. */
import type { HeadStore } from "../../src/store/head-store.ts";

/** What requests need of a session. */
interface Asking {
  readonly store: HeadStore | undefined;
  readonly failed: (error: unknown) => void;
}

/** Answers by key. Another store empties them; one that arrives after its store was replaced does not count. */
export class StoreAnswers<T> {
  readonly #session: Asking;
  readonly #arrived: () => void;
  readonly #limit: number;
  readonly #answers = new Map<string, T | null>();
  #store: HeadStore | undefined;

  /**
   * @param arrived called when an answer has arrived
   * @param limit how many are kept: beyond it, the oldest that have arrived are dropped
   */
  constructor(session: Asking, arrived: () => void, limit = Number.POSITIVE_INFINITY) {
    this.#session = session;
    this.#arrived = arrived;
    this.#limit = limit;
  }

  /** The answer for a key, which is requested at the first call; undefined until it arrives. */
  get(key: string, request: (store: HeadStore) => Promise<T>): T | undefined {
    const session = this.#session;
    const { store } = session;
    if (store !== this.#store) this.#answers.clear();
    this.#store = store;
    const answer = this.#answers.get(key);
    if (answer !== undefined || store === undefined) return answer ?? undefined;
    for (const [old, arrived] of this.#answers) {
      if (this.#answers.size < this.#limit) break;
      if (arrived !== null) this.#answers.delete(old);
    }
    this.#answers.set(key, null);
    request(store).then(
      (arrived) => {
        if (store !== session.store) return;
        this.#answers.set(key, arrived);
        this.#arrived();
      },
      (error) => {
        if (store === session.store) session.failed(error);
      },
    );
    return undefined;
  }
}
