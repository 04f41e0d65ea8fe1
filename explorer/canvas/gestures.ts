/**
 * Pointer gestures on a picture, for mouse, pen and touch: hovering, tapping, dragging, and zooming by wheel or pinch. A wheel
 * event that the picture does not take scrolls the page.
 */
import { on } from "./dom.ts";

export type Phase = "start" | "move" | "end" | "cancel";

/** A point relative to the element, in CSS pixels. */
export type PointerPoint = readonly [x: number, y: number];

export interface Gestures {
  point?(at: PointerPoint, event: PointerEvent): void;
  leave?(): void;
  tap(at: PointerPoint, event: PointerEvent): void;
  double?(at: PointerPoint, event: MouseEvent): void;
  drag(phase: Phase, from: PointerPoint, to: PointerPoint, event: PointerEvent): void;
  zoom?(factor: number, at: PointerPoint): void;
  /** Called after the last zoom of a turn of the wheel or of a pinch. */
  zoomed?(): void;
  /** Whether a wheel event zooms the picture; by default none does. */
  takesWheel?(event: WheelEvent): boolean;
}

/** The distance in pixels at which a movement becomes a drag. */
const THRESHOLD = 4;
/** Milliseconds without a wheel event after which a turn of the wheel has ended. */
const WHEEL_PAUSE = 160;

export function listen(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const down = new Map<number, PointerPoint>();
  let from: PointerPoint | undefined;
  let dragging = false;
  let spread = 0;
  let rest: ReturnType<typeof setTimeout> | undefined;

  const at = (event: MouseEvent): PointerPoint => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const pinch = () => {
    const [[x1, y1], [x2, y2]] = [...down.values()];
    return { middle: [(x1 + x2) / 2, (y1 + y2) / 2] as const, length: Math.hypot(x2 - x1, y2 - y1) };
  };

  on(element, signal, "pointerdown", (event) => {
    if (event.button > 1) return;
    down.set(event.pointerId, at(event));
    if (down.size === 1) {
      from = at(event);
      dragging = false;
    } else if (down.size === 2) {
      if (dragging && from) gestures.drag("cancel", from, from, event);
      from = undefined;
      spread = pinch().length;
    }
  });
  on(element, signal, "pointermove", (event) => {
    const here = at(event);
    if (down.has(event.pointerId)) down.set(event.pointerId, here);
    if (down.size === 2) {
      const { middle, length } = pinch();
      if (spread > 0 && length > 0) gestures.zoom?.(length / spread, middle);
      spread = length;
      return;
    }
    if (from === undefined || down.size === 0) {
      gestures.point?.(here, event);
      return;
    }
    if (!dragging && Math.hypot(here[0] - from[0], here[1] - from[1]) < THRESHOLD) return;
    if (!dragging) {
      element.setPointerCapture(event.pointerId);
      gestures.drag("start", from, here, event);
    }
    dragging = true;
    gestures.drag("move", from, here, event);
  });
  const up = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    if (down.size === 1 && from === undefined) gestures.zoomed?.();
    if (from === undefined || down.size > 0) return;
    const start = from;
    from = undefined;
    if (dragging) gestures.drag(event.type === "pointerup" ? "end" : "cancel", start, at(event), event);
    else if (event.type === "pointerup" && event.button === 0) gestures.tap(at(event), event);
    dragging = false;
  };
  on(element, signal, "pointerup", up);
  on(element, signal, "pointercancel", up);
  on(element, signal, "pointerleave", () => {
    if (!dragging) gestures.leave?.();
  });
  on(element, signal, "dblclick", (event) => gestures.double?.(at(event), event));
  on(
    element,
    signal,
    "wheel",
    (event) => {
      if (!gestures.takesWheel?.(event)) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      // Browsers report a pinch on a touchpad as wheel events with Control, in small steps.
      const speed = event.ctrlKey ? 0.01 : 0.002;
      gestures.zoom?.(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * speed), at(event));
      clearTimeout(rest);
      rest = setTimeout(() => gestures.zoomed?.(), WHEEL_PAUSE);
    },
    false,
  );
  signal.addEventListener("abort", () => clearTimeout(rest));
}
