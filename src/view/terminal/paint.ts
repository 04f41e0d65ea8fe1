/**
 * How a terminal is painted: 24-bit color, 256 colors, shades without color, or plain ASCII.
 * Escape sequences: ECMA-48 (SGR), with xterm's 38;5 and 48;2 forms. NO_COLOR and FORCE_COLOR: no-color.org, force-color.org.
 */
import { type Rgb, xterm256 } from "../color.ts";

/** `truecolor` and `256` color cells; `mono` shades them with ░▒▓█; `ascii` with characters of ASCII alone. */
export type Paint = "truecolor" | "256" | "mono" | "ascii";
/** The values of the option `--color`. */
export type ColorMode = "auto" | "always" | "never" | Paint;
/** Every ColorMode, in the order shown to users. */
export const COLOR_MODES: readonly ColorMode[] = [
  "auto",
  "always",
  "never",
  "truecolor",
  "256",
  "mono",
  "ascii",
];

/** The paint for a mode: `auto` depends on the terminal and on NO_COLOR, FORCE_COLOR, COLORTERM and TERM. */
export function choosePaint(
  mode: ColorMode,
  env: Readonly<Record<string, string | undefined>>,
  isTTY: boolean,
): Paint {
  if (mode === "never") return "mono";
  if (mode !== "auto" && mode !== "always") return mode;
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "";
  if (mode === "auto") {
    if (env.TERM === "dumb" && isTTY && !forced) return "ascii";
    if (forced ? env.FORCE_COLOR === "0" || env.FORCE_COLOR === "false" : !isTTY || env.NO_COLOR)
      return "mono";
  }
  if (forced && env.FORCE_COLOR === "2") return "256";
  if (forced && env.FORCE_COLOR === "3") return "truecolor";
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? "") || env.WT_SESSION !== undefined) return "truecolor";
  if (/kitty|alacritty|ghostty|foot|wezterm|direct/.test(env.TERM ?? "")) return "truecolor";
  // Color without a known terminal (a pipe, a log viewer): 24-bit color is supported most widely there.
  return env.TERM === undefined || env.TERM === "dumb" ? "truecolor" : "256";
}

/** True if the paint uses color. */
export function isColor(paint: Paint): boolean {
  return paint === "truecolor" || paint === "256";
}

/** SGR parameters that set the foreground or the background to a color. */
function parameters(color: Rgb, paint: Paint, ground: 38 | 48): string {
  return paint === "truecolor" ? `${ground};2;${color.join(";")}` : `${ground};5;${xterm256(color)}`;
}

/** The text with a foreground and a background color, if the paint has colors. */
export function colored(text: string, paint: Paint, foreground?: Rgb, background?: Rgb): string {
  if (!isColor(paint) || text === "") return text;
  const codes = [
    ...(foreground ? [parameters(foreground, paint, 38)] : []),
    ...(background ? [parameters(background, paint, 48)] : []),
  ];
  return codes.length === 0 ? text : `\x1b[${codes.join(";")}m${text}\x1b[0m`;
}

/** Bold text, if the paint has colors. */
export function bold(text: string, paint: Paint): string {
  return isColor(paint) && text !== "" ? `\x1b[1m${text}\x1b[22m` : text;
}

/** Dimmed text, if the paint has colors. */
export function dim(text: string, paint: Paint): string {
  return isColor(paint) && text !== "" ? `\x1b[2m${text}\x1b[22m` : text;
}

const SHADES = " ░▒▓█";
const ASCII = " .:-=+*#%@";

/** The character that shows a position on the scale, 0 to 1, without color. */
export function shade(place: number, paint: Paint): string {
  const steps = paint === "ascii" ? ASCII : SHADES;
  const clipped = place > 0 ? Math.min(1, place) : 0;
  return steps[Math.round(clipped * (steps.length - 1))];
}

/** The text with other characters replaced by ASCII, for the `ascii` paint. */
export function plain(text: string, paint: Paint): string {
  if (paint !== "ascii") return text;
  const spelled = text.replace(
    /[▁│·–—−→←↓×√ᵀ…“”‘’\u00a0₀-₉]/gu,
    (c) => SPELT[c] ?? String.fromCharCode(c.charCodeAt(0) - 0x2050),
  );
  return spelled
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .replace(/[^\x20-\x7e\n\t]/gu, "?");
}

const SPELT: Readonly<Record<string, string>> = {
  "▁": "_",
  "│": "|",
  "·": ".",
  "–": "-",
  "—": "-",
  "−": "-",
  "→": "->",
  "←": "<-",
  "↓": "v",
  "×": "x",
  "√": "sqrt ",
  ᵀ: "^T",
  "…": "~",
  "\u00a0": " ",
  "“": '"',
  "”": '"',
  "‘": "'",
  "’": "'",
};
