/** Requests for numbers: one at a time, and while a reply is due only the newest state waits. A worker that fails is replaced. */
import type { LabState } from "../fields.ts";
import type { ComputeReply, ComputeRequest } from "./messages.ts";

const UNLOADED =
  "The script that computes this page could not be loaded. Check the connection, then change something to try again.";

/** What happens with requests. */
export interface RequestListener<S, N> {
  /** A request was sent. */
  sent(): void;
  /** Numbers have arrived; of long work also intermediate ones. */
  computed(state: S, numbers: N): void;
  /** There are no numbers; `message` is for the reader. */
  failed(message: string): void;
}

export class Requests<S extends LabState, N> {
  readonly #start: () => Worker;
  readonly #page: string;
  readonly #listener: RequestListener<S, N>;
  #worker: Worker | undefined;
  #state: S | undefined;
  #waiting: S | undefined;
  #lastId = 0;
  #repliedId = 0;
  /** Whether this worker has replied with numbers. */
  #hasNumbers = false;

  constructor(start: () => Worker, page: string, listener: RequestListener<S, N>) {
    this.#start = start;
    this.#page = page;
    this.#listener = listener;
  }

  /** Whether no reply is due. */
  get isIdle(): boolean {
    return this.#lastId === this.#repliedId;
  }

  /** Whether something was requested. */
  get isStarted(): boolean {
    return this.#lastId > 0;
  }

  /** Requests the numbers of a state, now or after the reply that is due. */
  send(state: S): void {
    if (!this.isIdle) {
      this.#waiting = state;
      return;
    }
    this.#waiting = undefined;
    this.#worker ??= this.#startWorker();
    this.#state = state;
    this.#listener.sent();
    this.#worker.postMessage({ id: ++this.#lastId, page: this.#page, state } satisfies ComputeRequest);
  }

  /** Terminates the worker; the next request starts another. */
  end(): void {
    this.#repliedId = this.#lastId;
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#hasNumbers = false;
  }

  #startWorker(): Worker {
    const worker = this.#start();
    worker.addEventListener("message", ({ data }: MessageEvent<ComputeReply>) => this.#reply(data));
    worker.addEventListener("error", ({ message }) => {
      const lost = `The computation ended unexpectedly${message ? `: ${message}` : ""}. Change something to start it again.`;
      const isLoaded = this.#hasNumbers || message;
      this.end();
      this.#listener.failed(isLoaded ? lost : UNLOADED);
    });
    return worker;
  }

  #reply({ id, numbers, error, unloaded, progress }: ComputeReply): void {
    if (id !== this.#lastId) return;
    if (progress === undefined) this.#repliedId = id;
    if (error === undefined) {
      this.#hasNumbers = true;
      this.#listener.computed(this.#state!, numbers as N);
    } else if (unloaded) {
      this.end();
      this.#listener.failed(UNLOADED);
    } else this.#listener.failed(`This picture could not be computed: ${error.replace(/[.]?$/, ".")}`);
    if (this.#waiting !== undefined) this.send(this.#waiting);
  }
}
