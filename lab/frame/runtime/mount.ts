/**
 * A page in use: what the reader does changes the state, a worker computes its numbers, and what depends on them is drawn
 * again in place. A state is drawn only once its numbers have arrived, so a picture and its numbers always match.
 */
import morphdomModule from "morphdom";
import type { Markup } from "../markup.ts";
import {
  changeOf,
  type Gesture,
  NARROW,
  type Page,
  type Point,
  type State,
  type View,
  WIDE,
} from "../page.ts";
import {
  guessOf,
  isAbout,
  renderCode,
  renderControl,
  renderPicture,
  renderStep,
  renderTable,
  renderTasks,
  saidOf,
} from "../render.ts";
import { decodeState, encodeState } from "./address.ts";
import type { ComputeReply } from "./messages.ts";
import { svgFile, tableCsv } from "./save.ts";
import { SENTENCE, sentence } from "./sentence.ts";

/** Options of a mounted page. */
export interface MountOptions {
  readonly worker: () => Worker;
  /** Whether the state is written into the address of the document. */
  readonly address: boolean;
}

/** A mounted page. */
export interface Mounted {
  /** Terminates the worker and removes the listeners. */
  end(): void;
}

/** The function itself: its types describe a CommonJS module, its code is an ES module. */
const morphdom = morphdomModule as unknown as typeof morphdomModule.default;

const STORED = "heed-lab";
const NARROW_BELOW = 900;
/** Milliseconds between two pictures: answers that come faster wait for the next frame. */
const FRAME = 12;
/** Milliseconds without a change after which parts that are not in view are drawn too. */
const SETTLED = 120;
const UNLOADED =
  "The script that computes this page could not be loaded. Check the connection, then change something to try again.";
/** Parts below the picture that a change seldom shows. */
const BELOW = ["code", "table"] as const;

/** Mounts a page on its own static markup: `root` holds `.columns`. */
export function mount<S extends State, N>(
  page: Page<S, N>,
  root: HTMLElement,
  { worker: start, address }: MountOptions,
): Mounted {
  const initial = page.initial;
  let worker: Worker | undefined;
  let [sent, answered, pending] = [0, 0, false];
  let state = page.check(address ? decodeState(location.hash, initial) : initial);
  let requested = state;
  let shown: { state: S; numbers: N } | undefined;
  let used = encodeState(state, initial) !== "";
  /** Whether the address had a state: the picture stays in it until a second stop is reached. */
  const linked = used;
  let active = -1;
  /** The stop whose prediction was answered last: it can be on the screen while the next stop is the active one. */
  let asked = -1;
  /** The scroll position at that answer. */
  let askedAt = 0;
  let frame = 0;
  let drawnAt = 0;
  let settling: ReturnType<typeof setTimeout> | undefined;
  /** An action of the reader before the first numbers have arrived. */
  let deferred: (() => void) | undefined;
  const done = page.tasks.map((_, i) => stored()[page.name]?.includes(i) ?? false);
  const parts = new Map<string, Element>();
  for (const part of root.querySelectorAll("[data-part]")) parts.set(part.getAttribute("data-part")!, part);
  const problem = root.querySelector<HTMLElement>(".problem")!;
  const statusTexts = root.querySelectorAll<HTMLElement>(".saying");

  const wide = () => root.clientWidth >= NARROW_BELOW;
  const view = (): View<S, N> => ({ ...shown!, wide: wide(), used });

  /** Asks for numbers of the newest state; while an answer is due, only the newest is kept. */
  const request = () => {
    if (sent !== answered) {
      pending = true;
      return;
    }
    pending = false;
    worker ??= begin();
    requested = state;
    root.setAttribute("data-state", "computing");
    worker.postMessage({ id: ++sent, page: page.name, state });
  };
  const begin = (): Worker => {
    const made = start();
    made.addEventListener("message", ({ data }: MessageEvent<ComputeReply>) => {
      if (data.id !== sent) return;
      if (data.progress === undefined) answered = data.id;
      if (data.error === undefined) {
        shown = { state: requested, numbers: data.numbers as N };
        problem.hidden = true;
        // Drawn with the answer, not a frame later, unless pictures come faster than frames.
        if (performance.now() - drawnAt > FRAME) draw();
        else schedule();
      } else if (data.unloaded) {
        stop();
        fail(UNLOADED);
      } else fail(`This picture could not be computed: ${data.error.replace(/[.]?$/, ".")}`);
      if (pending) request();
    });
    made.addEventListener("error", (event) => {
      stop();
      fail(
        shown === undefined && !event.message
          ? UNLOADED
          : `The computation ended unexpectedly${event.message ? `: ${event.message}` : ""}. Change something to start it again.`,
      );
    });
    return made;
  };
  /** Ends the worker; the next request starts another. */
  const stop = () => {
    answered = sent;
    worker?.terminate();
    worker = undefined;
  };
  const fail = (text: string) => {
    problem.textContent = text;
    problem.hidden = false;
  };
  const schedule = () => {
    if (frame === 0)
      frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
  };
  const update = (change: Partial<S> | undefined, byReader = true) => {
    if (change === undefined) return;
    const next = page.check({ ...state, ...change });
    if (byReader) used = true;
    state = next;
    request();
  };

  /** The markup that each part was given last. */
  const written = new Map<string, string>();
  const put = (name: string, markup: Markup) => {
    const part = parts.get(name);
    // The reader changes the controls directly, so they are compared with the document, not with the last markup.
    if (part === undefined || (name !== "control" && written.get(name) === markup.text)) return;
    written.set(name, markup.text);
    morph(part, markup.text);
  };
  const below = { code: () => renderCode(page, view()), table: () => renderTable(page, view()) };
  /** Parts below the picture whose numbers are older than the picture. */
  const stale = new Set<"code" | "table">();
  const inView = new Set<Element>();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target);
      else inView.delete(target);
    }
    for (const name of BELOW) if (stale.has(name) && inView.has(parts.get(name)!)) drawBelow(name);
  });
  for (const name of BELOW) observer.observe(parts.get(name)!);
  const drawBelow = (name: "code" | "table") => {
    stale.delete(name);
    put(name, below[name]());
  };
  /** Once nothing changes: what is not in view, and the address. */
  const settle = () => {
    if (shown === undefined) return;
    for (const name of stale) drawBelow(name);
    if (address) {
      const hash = encodeState(shown.state, initial);
      if (hash !== location.hash)
        history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
    }
    if (sent === answered) root.setAttribute("data-state", "drawn");
  };
  const draw = () => {
    if (shown === undefined) return;
    if (frame !== 0) cancelAnimationFrame(frame);
    frame = 0;
    const now = view();
    put("picture", renderPicture(page, now));
    put("caption", page.caption(now));
    put("control", renderControl(page, now));
    for (const name of BELOW)
      if (inView.has(parts.get(name)!)) put(name, below[name]());
      else stale.add(name);
    for (const at of new Set([active, asked]))
      if (at >= 0 && isAbout(page, now.state, at)) put(`step-${at}`, renderStep(page.steps[at], now, at));
    if (used)
      for (const [i, task] of page.tasks.entries())
        if (!done[i] && task.done(now)) {
          done[i] = true;
          keep(page.name, done);
        }
    put("tasks", renderTasks(page, done));
    if (pointed !== undefined) point(pointed);
    clearTimeout(settling);
    settling = setTimeout(settle, SETTLED);
    drawnAt = performance.now();
    const then = deferred;
    deferred = undefined;
    then?.();
    root.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  };

  // What the reader does.
  const named = (event: Event, attribute: string): readonly [Element, string, string] | undefined => {
    const element = (event.target as Element).closest?.(`[${attribute}]`);
    if (!element || !root.contains(element)) return undefined;
    const text = element.getAttribute(attribute)!;
    const colon = text.indexOf(":");
    return colon < 0 ? [element, text, ""] : [element, text.slice(0, colon), text.slice(colon + 1)];
  };
  const act = (name: string, argument: string, value: string) => {
    if (shown === undefined && name !== "reset") {
      deferred = () => act(name, argument, value);
      if (sent === answered) request();
      return;
    }
    if (name === "reset") {
      const step = page.steps[Math.max(0, active)];
      problem.hidden = true;
      state = page.check({ ...initial, ...changeOf(step?.state, initial) });
      return request();
    }
    if (name === "link") return void copyLink();
    if (name === "svg")
      return save(
        svgFile(root.querySelector(`.picture svg.${wide() ? "wide" : "narrow"}`)!),
        "image/svg+xml",
        "svg",
      );
    if (name === "csv") return save(tableCsv(page.table(view())), "text/csv;charset=utf-8", "csv");
    if (name === "predict" || name === "forget") {
      asked = Number(argument);
      askedAt = scrollY;
    }
    if (name === "predict") {
      const range = root.querySelector<HTMLInputElement>(`[data-guess="${argument}"]`)!;
      const { predict } = page.steps[Number(argument)];
      return update({
        ...changeOf(predict?.show, state),
        [`guess${argument}`]: range.valueAsNumber,
      } as unknown as Partial<S>);
    }
    if (name === "forget") {
      const step = page.steps[Number(argument)];
      return update({ ...changeOf(step.state, state), [`guess${argument}`]: -1 } as unknown as Partial<S>);
    }
    update(page.actions[name]?.(live(), argument, value));
  };
  /** The latest state with the latest numbers: a change starts from the state that was requested last. */
  const live = (): View<S, N> => ({ ...view(), state });
  const announce = (text: string) => {
    for (const status of statusTexts) status.textContent = text;
    setTimeout(() => {
      for (const status of statusTexts) status.textContent = "";
    }, 4000);
  };
  const copyLink = async () => {
    const link = new URL(encodeState(state, initial) || "#", location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      announce("Link copied.");
    } catch {
      announce("The browser does not allow copying here. Copy the address from the address bar.");
    }
  };
  const save = (text: string, type: string, suffix: string) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${page.name}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  const onClick = (event: Event) => {
    const found = named(event, "data-act");
    if (found === undefined || found[0].matches("input, select")) return;
    act(found[1], found[2], "");
  };
  const onInput = (event: Event) => {
    const input = event.target as HTMLInputElement;
    if (input.hasAttribute("data-guess")) {
      const { predict } = page.steps[Number(input.getAttribute("data-guess"))];
      const text = saidOf(predict!, input.valueAsNumber);
      input.nextElementSibling!.textContent = text;
      input.setAttribute("aria-valuetext", text);
      return;
    }
    const found = named(event, "data-act");
    if (found !== undefined)
      act(found[1], found[2], input.type === "checkbox" ? String(input.checked) : input.value);
  };

  let dragging: { name: string; argument: string; gesture: { first: boolean; memo?: unknown } } | undefined;
  const pointOf = (event: PointerEvent): Point | undefined => {
    const svg = root.querySelector<SVGSVGElement>(`.picture svg.${wide() ? "wide" : "narrow"}`);
    const matrix = svg?.getScreenCTM()?.inverse();
    if (!matrix) return undefined;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    const { width, height } = wide() ? WIDE : NARROW;
    return { x: Math.min(width, Math.max(0, x)), y: Math.min(height, Math.max(0, y)) };
  };
  const drag = (event: PointerEvent) => {
    const at = pointOf(event);
    if (dragging === undefined || at === undefined || shown === undefined) return;
    const { name, argument, gesture } = dragging;
    update(page.drags[name]?.move(live(), argument, at, gesture as Gesture));
    gesture.first = false;
  };
  const onDown = (event: PointerEvent) => {
    const found = named(event, "data-drag");
    if (found === undefined || event.button !== 0) return;
    event.preventDefault();
    (found[0] as SVGElement).focus({ preventScroll: true });
    dragging = { name: found[1], argument: found[2], gesture: { first: true } };
    root.setPointerCapture?.(event.pointerId);
    drag(event);
  };
  const onMove = (event: PointerEvent) => {
    if (dragging !== undefined) drag(event);
  };
  const onUp = () => {
    dragging = undefined;
  };
  const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };
  const onKey = (event: KeyboardEvent) => {
    const found = named(event, "data-key");
    if (found === undefined || event.target !== found[0] || shown === undefined) return;
    const step = ARROWS[event.key];
    if (step !== undefined) {
      const many = event.shiftKey ? 10 : 1;
      const change = page.drags[found[1]]?.key?.(live(), found[2], step[0] * many, step[1] * many);
      if (change === undefined) return;
      event.preventDefault();
      update(change);
    } else if (
      (event.key === "Enter" || event.key === " ") &&
      // A mark that is dragged acts on Enter only if it has data-enter.
      (found[0].hasAttribute("data-act") || found[0].hasAttribute("data-enter"))
    ) {
      event.preventDefault();
      act(found[1], found[2], "");
    }
  };
  const onOver = (event: Event) => {
    const hover = named(event, "data-hover");
    if (hover !== undefined && shown !== undefined)
      update(page.actions[hover[1]]?.(live(), hover[2], ""), false);
    const found = (event.target as Element).closest?.("[data-ref]");
    point(found?.getAttribute("data-ref") ?? undefined);
  };

  /** Marks what a variable of the code is in the picture. */
  let pointed: string | undefined;
  function point(name: string | undefined): void {
    pointed = name;
    root.classList.toggle("pointing", name !== undefined);
    for (const group of root.querySelectorAll(".picture [data-name]"))
      group.classList.toggle("lit", group.getAttribute("data-name") === name);
  }

  // A stop of the text sets its state when it is scrolled to, never by itself before the reader has scrolled.
  let scrolled = false;
  const steps = [...root.querySelectorAll<HTMLElement>(".step")];
  const reach = () => {
    const line = (wide() ? 0.45 : 0.72) * innerHeight;
    let at = -1;
    for (const [i, step] of steps.entries()) if (step.getBoundingClientRect().top < line) at = i;
    // Past the last stop the picture stays as the reader left it.
    if (at < 0 || at === active) return;
    // The event of a scroll that ended before the reader asked must not replace the answer.
    if (asked >= 0 && scrollY === askedAt) return;
    const before = active;
    active = at;
    asked = -1;
    const last = steps[steps.length - 1].getBoundingClientRect();
    // The picture stays, and the text of this stop is written from it.
    if (!scrolled || (before === -1 && (linked || (used && at === 0))) || last.bottom < 0) return schedule();
    const kept = Object.fromEntries(Object.entries(state).filter(([name]) => /^guess\d/.test(name)));
    const guess = page.steps[at].predict && guessOf(state, at) >= 0;
    update(
      {
        ...initial,
        ...page.carry?.(state),
        ...changeOf(page.steps[at].state, state),
        ...kept,
        ...(guess && changeOf(page.steps[at].predict?.show, state)),
      } as Partial<S>,
      false,
    );
  };
  const onScroll = () => {
    scrolled = true;
    reach();
  };
  const onSentence = () => {
    const text = sentence();
    update(page.sentence?.(text === SENTENCE ? "" : text));
  };
  // The address may have been written by `settle` since it was changed, so the event's is read.
  const onHash = ({ newURL }: HashChangeEvent) => {
    state = page.check(decodeState(new URL(newURL).hash, initial));
    request();
  };
  let wasWide = wide();
  const onResize = () => {
    if (wide() === wasWide) return;
    wasWide = wide();
    schedule();
  };

  root.addEventListener("click", onClick);
  root.addEventListener("input", onInput);
  root.addEventListener("pointerdown", onDown);
  root.addEventListener("pointermove", onMove);
  root.addEventListener("pointerup", onUp);
  root.addEventListener("pointercancel", onUp);
  root.addEventListener("keydown", onKey);
  root.addEventListener("pointerover", onOver);
  root.addEventListener("focusin", onOver);
  addEventListener("scroll", onScroll, { passive: true });
  addEventListener("resize", onResize);
  if (address) addEventListener("hashchange", onHash);
  root.addEventListener("sentence", onSentence);
  reach();
  if (page.sentence !== undefined && sentence() !== SENTENCE && !used)
    state = page.check({ ...state, ...page.sentence(sentence()) });
  // The first state is in the page already. What computes it is loaded after that has been shown, or when it is needed.
  if (encodeState(state, initial) === "") afterLoad(() => sent === 0 && request());
  else request();
  return {
    end() {
      worker?.terminate();
      observer.disconnect();
      clearTimeout(settling);
      cancelAnimationFrame(frame);
      removeEventListener("scroll", onScroll);
      removeEventListener("resize", onResize);
      removeEventListener("hashchange", onHash);
    },
  };
}

/** Calls `then` once the document is loaded and nothing else is to be done. */
function afterLoad(then: () => void): void {
  // Safari has no requestIdleCallback.
  const idle = () => ("requestIdleCallback" in globalThis ? requestIdleCallback(then) : setTimeout(then, 50));
  if (document.readyState === "complete") idle();
  else addEventListener("load", idle, { once: true });
}

/** Updates the children of an element to the markup; nodes that are equal, and the focus, are kept. */
function morph(part: Element, markup: string): void {
  const next = part.cloneNode(false) as Element;
  next.innerHTML = markup;
  morphdom(part, next, {
    childrenOnly: true,
    // An input that the reader is using keeps its own value.
    onBeforeElUpdated: (from, to) => {
      if (from.isEqualNode(to)) return false;
      if (
        from instanceof HTMLInputElement &&
        from.matches(":active, :focus") &&
        to instanceof HTMLInputElement
      ) {
        if (from.type === "range" || from.type === "text") to.value = from.value;
      }
      if (from instanceof HTMLDetailsElement && to instanceof HTMLDetailsElement) to.open = from.open;
      return true;
    },
  });
}

type Kept = Record<string, number[] | undefined>;

/** The finished tasks of each page, from the browser's storage; none where it is unavailable. */
export function stored(): Kept {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return typeof value === "object" && value !== null ? (value as Kept) : {};
  } catch {
    return {};
  }
}

function keep(name: string, done: readonly boolean[]): void {
  try {
    localStorage.setItem(
      STORED,
      JSON.stringify({ ...stored(), [name]: done.flatMap((one, i) => (one ? [i] : [])) }),
    );
  } catch {
    // Storage is unavailable: the ticks last until the page is closed.
  }
}
