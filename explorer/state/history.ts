/**
 * Writes the state into the page's address and reads it back. A user action adds a history entry that Back undoes; a change
 * during a movement replaces the entry. Browsers limit how often an address may change, so replacements are debounced.
 */
import type { How, Session } from "../app/session.ts";
import { afterFrame } from "./latest.ts";
import { DEFAULT, namedParts } from "./state.ts";
import { decode, encode } from "./url.ts";

/** Milliseconds without a change before a replacement is written. */
const DEBOUNCE = 200;

export class Address {
  readonly #session: Session;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;
  /** The last address that was written or read. */
  #written = "";
  /** The address of a step that is written after the frame that shows it: browsers take some milliseconds to add an entry. */
  #step: string | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The address of the page with the current state. */
  get link(): string {
    return location.href.split("#")[0] + encode(this.#session.state);
  }

  connect(): void {
    addEventListener("hashchange", this.#read);
    addEventListener("popstate", this.#read);
    this.#read();
  }

  disconnect(): void {
    clearTimeout(this.#timer);
    this.#putStep();
    removeEventListener("hashchange", this.#read);
    removeEventListener("popstate", this.#read);
  }

  /** Reports what the address names and the text that is shown does not have. */
  check(): void {
    this.#session.check(namedParts(decode(location.hash) ?? DEFAULT));
  }

  write(how: How): void {
    if (this.#reading || how === "address" || this.#session.store === undefined) return;
    clearTimeout(this.#timer);
    const hash = encode(this.#session.state);
    // The first address is written immediately, so that Back can return to it.
    if (this.#written === "") this.#put("replaceState", hash);
    else if (how === "push") {
      this.#putStep();
      this.#step = hash;
      void afterFrame().then(() => this.#putStep());
    } else
      this.#timer = setTimeout(() => {
        this.#putStep();
        this.#put("replaceState");
      }, DEBOUNCE);
  }

  #putStep(): void {
    const step = this.#step;
    this.#step = undefined;
    if (step !== undefined) this.#put("pushState", step);
  }

  #put(how: "pushState" | "replaceState", hash = encode(this.#session.state)): void {
    if (hash === this.#written) return;
    // The first address replaces the entry of the page: it is not a step of the user.
    history[this.#written === "" ? "replaceState" : how](history.state, "", hash);
    this.#written = hash;
  }

  readonly #read = () => {
    if (location.hash === this.#written) return;
    const state = decode(location.hash);
    if (state === undefined) return;
    clearTimeout(this.#timer);
    this.#step = undefined;
    this.#written = location.hash;
    this.#reading = true;
    const { text } = this.#session.state;
    this.#session.set(state, "address");
    this.#reading = false;
    if (text === this.#session.state.text) this.check();
  };
}
