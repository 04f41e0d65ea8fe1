/** What is drawn over thumbnails: crosses over heads that are off, names, outlines of the cursor's and of pinned heads. */
import type { Session } from "../../app/session.ts";
import type { Paints } from "../../canvas/colors.ts";
import { type HeadName, PIN_LETTERS, sameHead } from "../../state/state.ts";
import type { PixelBox } from "../matrix/frame.ts";

const PIN_DASHES: readonly (readonly number[])[] = [[], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3]];

/** A cross over an ablated head. */
export function crossOut(
  context: CanvasRenderingContext2D,
  { x, y, width, height }: PixelBox,
  { paper, ink }: Paints,
): void {
  for (const [thickness, color] of [
    [4, paper],
    [2, ink],
  ] as const) {
    context.lineWidth = thickness;
    context.strokeStyle = color;
    context.beginPath();
    context.moveTo(x + 1, y + 1);
    context.lineTo(x + width - 1, y + height - 1);
    context.moveTo(x + width - 1, y + 1);
    context.lineTo(x + 1, y + height - 1);
    context.stroke();
  }
}

/** The name of a head in the sorted list, where rows and columns have no names. */
export function writeName(
  context: CanvasRenderingContext2D,
  { layer, head }: HeadName,
  { x, y, width: across, height }: PixelBox,
  paints: Paints,
): void {
  if (across < 24) return;
  const text = `${layer}·${head}`;
  const size = Math.max(9, Math.min(12, across / 5));
  context.font = `${size}px ${paints.mono}`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  const width = context.measureText(text).width + 4;
  context.fillStyle = paints.paper;
  context.fillRect(x, y + height - size - 2, Math.min(across, width), size + 2);
  context.fillStyle = paints.ink;
  context.fillText(text, x + 2, y + height - 3);
}

/** The outline of the cursor's head, the hovered head, and pinned heads with their letters. */
export function outline(
  context: CanvasRenderingContext2D,
  head: HeadName,
  { x, y, width: across, height }: PixelBox,
  paints: Paints,
  session: Session,
): void {
  const length = Math.min(across, height);
  const pin = session.state.pins.findIndex((one) => sameHead(one, head));
  const current = sameHead(session.state, head);
  const hovered = session.hoverHead !== null && sameHead(session.hoverHead, head);
  if (pin < 0 && !current && !hovered) return;
  const box = (width: number, color: string, dash: readonly number[] = []) => {
    context.setLineDash([...dash]);
    context.lineWidth = width;
    context.strokeStyle = color;
    context.strokeRect(x - 1, y - 1, across + 2, height + 2);
    context.setLineDash([]);
  };
  if (current || hovered) {
    box(4, paints.paper);
    box(current ? 2 : 1, current ? paints.query : paints.ink);
  }
  if (pin < 0) return;
  const lettered = length >= 26;
  if (!current) {
    box(3, paints.paper);
    box(1.5, paints.ink, PIN_DASHES[pin]);
  }
  // A letter would cover a small thumbnail; its dashes identify the pin.
  if (!lettered) return;
  const size = Math.min(14, Math.max(11, length / 3));
  context.fillStyle = paints.ink;
  context.fillRect(x + across - size + 1, y - 1, size, size);
  context.fillStyle = paints.paper;
  context.font = `600 ${size - 3}px ${paints.mono}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(PIN_LETTERS[pin], x + across - size / 2 + 1, y + size / 2 - 0.5);
}
