/**
 * Pointer gestures on a matrix: hovering previews, a click pins, dragging selects a rectangle (or pans a zoomed picture), the
 * wheel zooms, a click on a label selects its row or column.
 */
import type { Session, TokenPair } from "../../app/session.ts";
import { indexAt } from "../../canvas/axis.ts";
import { pan, zoom } from "../../canvas/camera.ts";
import { on } from "../../canvas/dom.ts";
import { listen, type Phase, type PointerPoint } from "../../canvas/gestures.ts";
import { clickCell, clickToken, keysOf, span } from "../../state/select.ts";
import { type Axes, type MatrixFrame, placeAt } from "./frame.ts";

/** What the gestures need of a matrix. */
export interface Area {
  readonly session: Session;
  readonly cells: HTMLElement;
  readonly rows: HTMLElement;
  readonly columns: HTMLElement;
  readonly frame: () => MatrixFrame | undefined;
  readonly axes: () => Axes;
  readonly takesWheel: (event: WheelEvent) => boolean;
  /** Called when the rectangle being dragged changes. */
  readonly band: (band: readonly [PointerPoint, PointerPoint] | undefined) => void;
  readonly focus: () => void;
}

export function pointAt(area: Area, signal: AbortSignal): void {
  const { session } = area;
  const cellAt = ([x, y]: PointerPoint): TokenPair | undefined => {
    const frame = area.frame();
    if (frame === undefined) return undefined;
    const { column, row } = placeAt(frame, x + frame.left, y + frame.top);
    const { rows, columns } = area.axes();
    const [query, key] = [indexAt(rows, row), indexAt(columns, column)];
    return query === undefined || key === undefined ? undefined : { query, key };
  };

  let moving: PointerPoint | undefined;
  let drawing = false;
  const drag = (phase: Phase, from: PointerPoint, to: PointerPoint, event: PointerEvent) => {
    const frame = area.frame();
    if (frame === undefined) return;
    if (phase === "start") {
      session.hover = null;
      moving = event.button === 1 || (session.state.camera !== null && !event.shiftKey) ? from : undefined;
      drawing = moving === undefined;
    }
    if (moving !== undefined) {
      const camera = pan(frame.scene, session.state.camera, to[0] - moving[0], to[1] - moving[1]);
      moving = to;
      session.set({ camera }, "replace");
      if (phase === "end") session.changed("push");
    } else if (drawing && (phase === "start" || phase === "move")) area.band([from, to]);
    if (phase === "start" || phase === "move") return;
    area.band(undefined);
    if (drawing && phase === "end") {
      const inside = ([x, y]: PointerPoint): PointerPoint => [
        Math.max(0, Math.min(frame.usedWidth - 1e-3, x)),
        Math.max(0, Math.min(frame.usedHeight - 1e-3, y)),
      ];
      const [a, b] = [cellAt(inside(from)), cellAt(inside(to))];
      if (a && b) session.set({ rows: span(a.query, b.query), columns: span(a.key, b.key), ...b });
    }
    moving = undefined;
    drawing = false;
    if (phase === "end") area.focus();
  };

  listen(
    area.cells,
    {
      point: (at) => session.point(cellAt(at) ?? null),
      leave: () => session.point(null),
      tap: (at, event) => {
        const cell = cellAt(at);
        if (cell === undefined) return;
        const { state } = session;
        const moved = cell.query !== state.query || cell.key !== state.key;
        // A finger has no hover: its first tap previews, the second pins.
        if (event.pointerType === "touch" && moved) session.set({ ...cell, pinned: null }, "replace");
        else session.set(clickCell(state, cell.query, cell.key, keysOf(event)));
        area.focus();
      },
      drag,
      zoom: (factor, [x, y]) => {
        const frame = area.frame();
        if (frame) session.set({ camera: zoom(frame.scene, session.state.camera, factor, x, y) }, "replace");
      },
      zoomed: () => session.changed("push"),
      takesWheel: area.takesWheel,
    },
    signal,
  );

  for (const axis of ["rows", "columns"] as const) {
    const labels = area[axis];
    const indexOf = (event: MouseEvent) => {
      const frame = area.frame();
      if (frame === undefined) return undefined;
      const box = area.cells.getBoundingClientRect();
      // A slanted label belongs to the column at its lower end.
      const lean = axis === "columns" ? (box.top - event.clientY) / Math.tan(Math.PI / 3) : 0;
      const [x, y] = [event.clientX - box.left - lean + frame.left, event.clientY - box.top + frame.top];
      const { column, row } = placeAt(frame, x, y);
      const axes = area.axes();
      return axis === "rows" ? indexAt(axes.rows, row) : indexAt(axes.columns, column);
    };
    on(labels, signal, "click", (event) => {
      const index = indexOf(event);
      if (index !== undefined) session.set(clickToken(session.state, axis, index, keysOf(event)));
    });
    on(labels, signal, "pointermove", (event) => {
      const index = indexOf(event);
      const { query, key } = session.state;
      if (index !== undefined) session.point(axis === "rows" ? { query: index, key } : { query, key: index });
    });
    on(labels, signal, "pointerleave", () => session.point(null));
  }
}
