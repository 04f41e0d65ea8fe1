/**
 * A page in use: what the reader does (input.ts) changes the state (state.ts), a worker computes its numbers (request.ts), and what
 * depends on them is drawn again in place (draw.ts). Scrolling and tasks are in progress.ts.
 */
import { type LabState, unknownNames } from "../fields.ts";
import { changeOf, type NamedPage } from "../page.ts";
import { Drawing } from "./draw.ts";
import { type ChangedBy, listen } from "./input.ts";
import { ReaderProgress } from "./progress.ts";
import { Requests } from "./request.ts";
import { SENTENCE, sentence } from "./sentence.ts";
import { PageState } from "./state.ts";

/** What is said where a part that is loaded on use is missing. */
const MISSING = "This could not be loaded. Try again.";

/** Options of a mounted page. */
export interface MountOptions {
  readonly worker: () => Worker;
  /** Whether the state is written into the address of the document. */
  readonly address: boolean;
  /** The first state, as the fragment of an address; by default that of the document, where the page owns the address. */
  readonly hash?: string;
}

/** A mounted page. */
export interface MountedPage {
  /** The state as the fragment of an address. */
  hash(): string;
  /** Terminates the worker and removes the listeners. */
  end(): void;
}

/** Mounts a page on its own static markup: `root` holds `.columns`. */
export function mount<S extends LabState, N>(
  page: NamedPage<S, N>,
  root: HTMLElement,
  { worker, address, hash = address ? location.hash : "" }: MountOptions,
): MountedPage {
  const state = new PageState(page, hash);
  const progress = new ReaderProgress(root, state, hash.startsWith("#stop"));
  const drawing = new Drawing(root, state, progress, address);
  const unknown = unknownNames(page.fields, hash);
  if (unknown.length > 0)
    progress.showProblem(
      `The address has ${unknown.map((name) => `“${name}”`).join(" and ")}, which this page does not have. It was left out. The page has ${Object.keys(
        page.fields,
      )
        .filter((name) => !name.startsWith("guess"))
        .join(", ")}.`,
    );

  const requests = new Requests<S, N>(worker, page.name, {
    sent: () => root.setAttribute("data-state", "computing"),
    computed(requested, numbers) {
      state.computed = { state: requested, numbers };
      if (unknown.length === 0 || state.changed) progress.showProblem(undefined);
      // The answer to an input does not wait for a frame: the next one shows it in either case.
      drawing[requests.isIdle ? "draw" : "drawSoon"]();
    },
    failed: (message) => progress.showFailure(message),
  });
  const request = () => requests.send(state.newest);
  const change = (values: Partial<S> | undefined, by: ChangedBy = "reader") => {
    if (values === undefined) return;
    if (by === "reader") {
      state.changed = true;
      state.beforeReader(performance.now());
    } else if (by === "pointer") state.pointed = true;
    else if (state.beforeText())
      progress.announce("The text has set the picture. Undo brings your settings back.");
    state.set(values);
    request();
  };
  const say = (message: string) => progress.announce(message);
  const withPart = <P>(part: Promise<P>, run: (part: P) => void) => void part.then(run, () => say(MISSING));
  const latest = () => state.latest(drawing.wide);

  /** An action of the reader before the first numbers have arrived. */
  let deferred: (() => void) | undefined;
  const act = (name: string, argument: string, value: string) => {
    const view = latest();
    const at = Number(argument);
    if (name === "check" || name === "answer") void progress.open(name === "answer");
    else if (name === "undo") {
      if (!state.canUndo) return progress.announce("There is nothing to undo.");
      state.undo();
      request();
    } else if (name === "reset") {
      progress.showProblem(undefined);
      state.beforeText();
      state.reset(progress.step?.state);
      request();
    } else if (name === "share")
      withPart(import("./task-link.ts"), ({ shareTask }) =>
        shareTask(root, state.address, copyLink, (message) => progress.announce(message, ".share")),
      );
    else if (view === undefined) {
      deferred = () => act(name, argument, value);
      if (requests.isIdle) request();
    } else if (name === "link") void copyLink(new URL(state.address || "#", location.href).href, say);
    else if (name === "svg") withPart(import("./save.ts"), ({ saveSvg }) => saveSvg(drawing.svg, page.name));
    else if (name === "csv") {
      const table = page.table({ ...view, state: state.computed!.state });
      withPart(import("./save.ts"), ({ saveCsv }) => saveCsv(table, page.name));
    } else if (name === "predict" || name === "forget") {
      progress.answer(at);
      const { predict, state: question } = page.steps[at];
      const isAnswer = name === "predict";
      const input = root.querySelector<HTMLInputElement>(`[data-guess="${at}"]`);
      change({
        ...changeOf(isAnswer ? predict?.show : question, state.newest),
        [`guess${at}`]: isAnswer ? input!.valueAsNumber : -1,
      } as unknown as Partial<S>);
    } else change(page.actions[name]?.(view, argument, value));
  };
  drawing.onDrawn = () => {
    const run = deferred;
    deferred = undefined;
    run?.();
  };
  drawing.onSettled = () => {
    if (requests.isIdle) root.setAttribute("data-state", "drawn");
  };
  // What is pressed in a step is answered there, also while the step before it is the active one.
  root.addEventListener("click", ({ target }) => {
    const step = (target as Element).closest("[data-act]")?.closest("[data-step]");
    if (step) progress.answer(Number(step.getAttribute("data-step")));
  });
  listen(root, { page, drawing, latest, change, act });
  const listeners = listenToWindow(drawing, progress, change);
  if (address)
    // The address may have been written since it was changed, so the event's is read.
    listeners.on("hashchange", ({ newURL }) => {
      const { hash: next } = new URL(newURL);
      // A link to a step of the text scrolls there, and the step sets the state.
      if (next.startsWith("#stop")) return;
      state.open(next);
      request();
    });
  // The sentence that the page shows by itself is none of the reader's.
  const ownText = () => (sentence() === (page.common ?? SENTENCE) ? "" : sentence());
  root.addEventListener("sentence", () => change(page.sentence?.(ownText())));
  if (page.sentence !== undefined && ownText() !== "" && !state.changed) state.set(page.sentence(ownText()));
  // The first state is in the page already. What computes it is loaded after that has been shown, or when it is needed.
  if (state.address === "") afterLoad(() => !requests.isStarted && request());
  else request();
  return {
    hash: () => state.address,
    end() {
      for (const part of [requests, drawing, listeners]) part.end();
    },
  };
}

/** Scrolling reaches the steps of the text. */
function listenToWindow<S extends LabState, N>(
  drawing: Drawing<S, N>,
  progress: ReaderProgress<S, N>,
  change: (values: Partial<S>, by: ChangedBy) => void,
) {
  const controller = new AbortController();
  const on = <K extends keyof WindowEventMap>(type: K, listener: (event: WindowEventMap[K]) => void) =>
    addEventListener(type, listener, { signal: controller.signal, passive: true });
  const reach = () => {
    const reached = progress.reach();
    if (reached === "draw") drawing.schedule();
    else if (reached !== undefined) change(reached, "text");
  };
  on("scroll", () => {
    progress.scrolled = true;
    reach();
  });
  reach();
  return { on, end: () => controller.abort() };
}

/** Copies an address. */
async function copyLink(address: string, announce: (message: string) => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(address);
    announce("Link copied.");
  } catch {
    announce(`The browser does not allow copying here. The address: ${address}`);
  }
}

/** Calls `then` once the document is loaded and nothing else is to be done. */
function afterLoad(then: () => void): void {
  // Safari has no requestIdleCallback.
  const idle = () =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(then, { timeout: 2000 }) : setTimeout(then, 50);
  if (document.readyState === "complete") idle();
  else addEventListener("load", idle, { once: true });
}
