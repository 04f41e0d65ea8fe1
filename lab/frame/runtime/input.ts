/** What the reader does on a mounted page: presses, inputs, drags, keys and pointing, each by an attribute of its mark. */
import { clamp, type LabState } from "../fields.ts";
import { type Gesture, type LabView, NARROW, type NamedPage, type PicturePoint, WIDE } from "../page.ts";
import { formatGuess } from "../render.ts";
import type { Drawing } from "./draw.ts";

/** Who changes a state: the reader's hand, the reader's pointer passing over a mark, or a step of the text. */
export type ChangedBy = "reader" | "pointer" | "text";

/** What input needs of the page. */
export interface InputTarget<S extends LabState, N> {
  readonly page: NamedPage<S, N>;
  readonly drawing: Drawing<S, N>;
  /** The newest state with the latest numbers; undefined before the first. */
  latest(): LabView<S, N> | undefined;
  /** Changes the state; "pointer" for what only points. */
  change(values: Partial<S> | undefined, by?: ChangedBy): void;
  /** Runs an action by name. */
  act(name: string, argument: string, value: string): void;
}

/** A mark with one of the attributes `data-act data-drag data-key data-hover`: its element, name and argument. */
type Mark = readonly [element: Element, name: string, argument: string];

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** The mark at an event that has an attribute. */
function markOf({ target }: Event, attribute: string): Mark | undefined {
  const element = (target as Element).closest?.(`[${attribute}]`);
  if (!element) return undefined;
  const text = element.getAttribute(attribute)!;
  const colon = text.indexOf(":");
  return colon < 0 ? [element, text, ""] : [element, text.slice(0, colon), text.slice(colon + 1)];
}

/** Listens on the root of a page. */
export function listen<S extends LabState, N>(root: HTMLElement, target: InputTarget<S, N>): void {
  const on = <K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ) => root.addEventListener(type, listener);
  on("click", (event) => {
    const mark = markOf(event, "data-act");
    if (mark !== undefined && !mark[0].matches("input, select")) target.act(mark[1], mark[2], "");
  });
  on("input", (event) => onInput(event, target));
  on("keydown", (event) => onKey(event, target));
  const onOver = (event: Event) => {
    const hover = markOf(event, "data-hover");
    const view = target.latest();
    if (hover !== undefined && view !== undefined)
      target.change(target.page.actions[hover[1]]?.(view, hover[2], ""), "pointer");
    target.drawing.point(markOf(event, "data-ref")?.[1]);
  };
  on("pointerover", onOver);
  on("focusin", onOver);
  listenToDrags(root, target);
}

function onInput<S extends LabState, N>(event: Event, { page, act }: InputTarget<S, N>): void {
  const input = event.target as HTMLInputElement;
  const step = input.getAttribute("data-guess");
  if (step !== null) {
    const text = formatGuess(page.steps[Number(step)].predict!, input.valueAsNumber);
    input.nextElementSibling!.textContent = text;
    input.setAttribute("aria-valuetext", text);
    return;
  }
  const mark = markOf(event, "data-act");
  const value = input.type === "checkbox" ? String(Number(input.checked)) : input.value;
  if (mark !== undefined) act(mark[1], mark[2], value);
}

function onKey<S extends LabState, N>(
  event: KeyboardEvent,
  { page, latest, change, act }: InputTarget<S, N>,
): void {
  const mark = markOf(event, "data-key");
  const view = latest();
  if (mark === undefined || event.target !== mark[0] || view === undefined) return;
  const [element, name, argument] = mark;
  const direction = ARROWS[event.key];
  if (direction !== undefined) {
    const [dx, dy] = direction.map((d) => d * (event.shiftKey ? 10 : 1));
    const values = page.drags[name]?.key?.(view, argument, dx, dy);
    if (values === undefined) return;
    event.preventDefault();
    change(values);
  } else if (
    (event.key === "Enter" || event.key === " ") &&
    // A mark that is dragged acts on Enter only if it has data-enter.
    (element.hasAttribute("data-act") || element.hasAttribute("data-enter"))
  ) {
    event.preventDefault();
    act(name, argument, "");
  }
}

function listenToDrags<S extends LabState, N>(
  root: HTMLElement,
  { page, drawing, latest, change }: InputTarget<S, N>,
): void {
  let dragged: { readonly name: string; readonly argument: string; readonly gesture: Gesture } | undefined;
  const pointOf = (event: PointerEvent): PicturePoint | undefined => {
    const matrix = drawing.svg.getScreenCTM()?.inverse();
    if (!matrix) return undefined;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    const { width, height } = drawing.wide ? WIDE : NARROW;
    return { x: clamp(x, 0, width), y: clamp(y, 0, height) };
  };
  const move = (event: PointerEvent) => {
    const [point, view] = [pointOf(event), latest()];
    if (dragged === undefined || point === undefined || view === undefined) return;
    const { name, argument, gesture } = dragged;
    change(page.drags[name]?.move(view, argument, point, gesture));
    gesture.first = false;
  };
  const end = () => {
    dragged = undefined;
  };
  root.addEventListener("pointerdown", (event) => {
    const mark = markOf(event, "data-drag");
    if (mark === undefined || event.button !== 0) return;
    event.preventDefault();
    const [element, name, argument] = mark;
    (element as SVGElement).focus({ preventScroll: true });
    dragged = { name, argument, gesture: { first: true } };
    root.setPointerCapture?.(event.pointerId);
    move(event);
  });
  root.addEventListener("pointermove", move);
  root.addEventListener("pointerup", end);
  root.addEventListener("pointercancel", end);
}
