/**
 * The colors a canvas is painted with: 256 of a scale as 32-bit words, in the order an ImageData has them, and what the
 * page's style says about paper and ink.
 */
import { colorTable, type Ramp, type Rgb } from "../../src/view/color.ts";
import type { RampName } from "../state/state.ts";

/** The scale of weights, or of signed scores, for the page. */
export function rampOf(name: RampName, signed: boolean, dark: boolean): Ramp {
  if (signed) return dark ? "signed-dark" : "signed";
  if (name === "cividis") return name;
  return dark ? `${name}-dark` : name;
}

const words = new Map<Ramp, Uint32Array>();

/** 256 opaque colors as the bytes of an ImageData. */
export function wordsOf(ramp: Ramp): Uint32Array {
  let found = words.get(ramp);
  if (found === undefined) {
    const bytes = new Uint8Array(colorTable(ramp).flatMap(([red, green, blue]) => [red, green, blue, 255]));
    found = new Uint32Array(bytes.buffer);
    words.set(ramp, found);
  }
  return found;
}

/** One color as a word. */
export function wordOf([red, green, blue]: Rgb): number {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0];
}

/** Colors of a page that pictures need. */
export interface Paints {
  readonly paper: string;
  readonly ink: string;
  readonly second: string;
  readonly line: string;
  readonly hatch: string;
  readonly badge: string;
  readonly query: string;
  readonly key: string;
  readonly weight: string;
  /** The font of numbers and tokens. */
  readonly mono: string;
}

/** Read from a probe inside the element: whatever the page has set. */
export function paintsOf(host: Element, probe: HTMLElement): Paints {
  const style = getComputedStyle(host);
  const resolved = (name: string) => {
    probe.style.setProperty("color", `var(--${name})`);
    return getComputedStyle(probe).color;
  };
  return {
    paper: resolved("paper"),
    ink: resolved("ink"),
    second: resolved("second"),
    line: resolved("line"),
    hatch: resolved("hatch"),
    badge: resolved("badge"),
    query: resolved("query"),
    key: resolved("key"),
    weight: resolved("weight"),
    mono: style.getPropertyValue("--mono") || "monospace",
  };
}

/** A not-a-number's color, which no scale has. */
export const STRANGE: Rgb = [224, 122, 0];
