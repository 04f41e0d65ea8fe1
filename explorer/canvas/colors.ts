/**
 * The colors of a canvas: the 256 colors of a scale as 32-bit words with the byte order of ImageData, and the colors of the
 * page's style.
 */
import { colorTable, type Ramp, type Rgb } from "../../src/view/color.ts";
import type { RampName } from "../state/state.ts";
import { cached } from "./cached.ts";
import { make } from "./dom.ts";

/** The color scale of weights or of signed scores, for a light or a dark page. */
export function rampOf(name: RampName, signed: boolean, dark: boolean): Ramp {
  if (signed) return dark ? "signed-dark" : "signed";
  if (name === "cividis") return name;
  return dark ? `${name}-dark` : name;
}

const words = new Map<Ramp, Uint32Array>();

/** The 256 opaque colors of a scale as 32-bit words of ImageData. */
export function wordsOf(ramp: Ramp): Uint32Array {
  return cached(words, ramp, () => Uint32Array.from(colorTable(ramp), wordOf));
}

/** One color as a 32-bit word. */
export function wordOf([red, green, blue]: Rgb): number {
  return new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0];
}

/** The colors of the page's style that pictures need. */
const PAINTS = ["paper", "ink", "second", "line", "hatch", "badge", "query", "key", "weight"] as const;

/** Those colors, and the font of numbers and tokens. */
export type Paints = Readonly<Record<(typeof PAINTS)[number] | "mono", string>>;

/** Reads the custom properties with an element, so that values set by the page apply. */
export function paintsOf(host: Element): Paints {
  const mono = getComputedStyle(host).getPropertyValue("--mono") || "monospace";
  const probe = host.appendChild(make("i", "", { hidden: "" }));
  const resolved = PAINTS.map((name) => {
    probe.style.setProperty("color", `var(--${name})`);
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return { ...Object.fromEntries(resolved), mono };
}

/** The color of values that are not weights; no color scale contains it. */
export const NOT_A_WEIGHT: Rgb = [224, 122, 0];
