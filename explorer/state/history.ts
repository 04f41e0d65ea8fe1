/**
 * The state in the page's address: a step that Back undoes for what a person did, a change in place for what is still
 * moving. Browsers limit how often an address may change, so moving ones wait for a moment's rest.
 */
import type { How, Session } from "../app/session.ts";
import { decode, encode } from "./url.ts";

/** Milliseconds of rest before a moving state is written. */
const REST = 200;

export class Address {
  readonly #session: Session;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;
  /** The address that the last step was made from. */
  #written = "";

  constructor(session: Session) {
    this.#session = session;
  }

  /** The whole address of what is shown. */
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
    removeEventListener("hashchange", this.#read);
    removeEventListener("popstate", this.#read);
  }

  write(how: How): void {
    if (this.#reading || how === "address" || this.#session.store === undefined) return;
    clearTimeout(this.#timer);
    if (how === "push") this.#put("pushState");
    // The first address is written at once, so that the first step has something to go back to.
    else if (this.#written === "") this.#put("replaceState");
    else this.#timer = setTimeout(() => this.#put("replaceState"), REST);
  }

  #put(how: "pushState" | "replaceState"): void {
    const hash = encode(this.#session.state);
    if (hash === this.#written) return;
    // The first address is not a step: there is nothing before it to go back to.
    history[this.#written === "" ? "replaceState" : how](history.state, "", hash);
    this.#written = hash;
  }

  readonly #read = () => {
    if (location.hash === this.#written) return;
    const state = decode(location.hash);
    if (state === undefined) return;
    clearTimeout(this.#timer);
    this.#written = location.hash;
    this.#reading = true;
    this.#session.set(state, "address");
    this.#reading = false;
  };
}
