/** The pictures of the page on cost: work and time on logarithmic axes that never change, and bytes as areas. */
import { dotMarks, lineMark, powerLabel, scaleOf, text } from "../../src/view/plot/index.ts";
import { axisOf, draggable, line, named, rect } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { byteCount, number } from "../frame/words.ts";
import type { Cost, CostNumbers } from "./compute.ts";
import { LARGE } from "./sizes.ts";

/** What the drawing functions get. */
export type CostView = LabView<Cost, CostNumbers>;

/** The number of words: from 2⁴ to 2²⁰. */
export const [LOWEST, HIGHEST] = [4, 20];

/** A number of words as people say it. */
export const wordsOf = (n: number) => n.toLocaleString("en-US");
/** Milliseconds as people say them. */
export const timeText = (ms: number) => (ms >= 1000 ? `${number(ms / 1000)} s` : `${number(ms)} ms`);

/** The axes: words, and operations or milliseconds. */
export function axesAt({ state, wide }: Pick<CostView, "state" | "wide">) {
  const [x0, x1, y0, y1] = wide ? [58, 830, 56, 480] : [44, 356, 28, 262];
  const domain = state.show === "time" ? ([1e-3, 1e5] as const) : ([1e4, 1e16] as const);
  return {
    x: scaleOf({ type: "log", domain: [2 ** LOWEST, 2 ** HIGHEST], range: [x0, x1] }),
    y: scaleOf({ type: "log", domain, range: [y1, y0], clamp: true }),
  };
}

/** A tick of the times: a number where it is short, else a power of ten. */
const timeLabel = (ms: number) =>
  ms >= 1e-3 && ms <= 1e3
    ? ms.toLocaleString("en-US", { maximumFractionDigits: 3 })
    : powerLabel(Math.round(Math.log10(ms)));
const lengthLabel = (n: number) => (n === 2 ** 20 ? "1 million" : wordsOf(n));
const powersOfTen = (low: number, high: number, step: number) =>
  Array.from({ length: (high - low) / step + 1 }, (_, i) => 10 ** (low + i * step));

function axes({ state, wide }: CostView): string {
  const { x, y } = axesAt({ state, wide });
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const isTime = state.show === "time";
  return [
    text(
      x0 - (wide ? 44 : 36),
      y0 - (wide ? 22 : 14),
      isTime ? "milliseconds of one head, on this machine" : "multiplications and additions",
      { class: `second ${wide ? "s12" : "s11"}` },
    ),
    axisOf("left", y, x0, isTime ? powersOfTen(-3, 5, 1) : powersOfTen(4, 16, 2), {
      grid: x1,
      format: isTime ? timeLabel : (value) => powerLabel(Math.round(Math.log10(value))),
    }),
    axisOf(
      "bottom",
      x,
      y1,
      [4, 8, 12, 16, 20].map((power) => 2 ** power),
      { format: lengthLabel, inside: true, line: false },
    ),
    text(x1, y1 + (wide ? 34 : 30), "words", { class: "end second s11" }),
  ].join("");
}

/** Work against the number of words. The line with the dot is dragged. */
export function work(view: CostView): string {
  const { numbers: n, state, wide } = view;
  const { x, y } = axesAt(view);
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const curve = (of: "attention" | "projections" | "one", name: string) =>
    lineMark(
      n.curve.map((point) => [x(point.n), y(point[of])]),
      { class: name },
    );
  const last = n.curve[n.curve.length - 1];
  const now = x(n.now.n);
  const flip = now > x0 + 0.55 * (x1 - x0);
  const even = y(n.curve[7].projections * (n.even / n.curve[7].n));
  return [
    axes(view),
    named("projections", curve("projections", "lthird")),
    named(
      "attention",
      curve("attention", state.one ? "lw thin dash" : "lw") + (state.one ? curve("one", "link") : ""),
    ),
    text(x1 - 4, y(last.attention) - 6, "attention", { class: "end tw bold s12 halo" }),
    text(x1 - 4, y(last.projections) + 18, "projections", { class: "end second s12 halo" }),
    state.one ? text(x1 - 4, y(last.one) + 18, "one new word", { class: "end bold s12 halo" }) : "",
    dotMarks([[x(n.even), even]], 4, { class: "link" }),
    text(x(n.even) - 8, even - 8, `equal at ${wordsOf(n.even)}`, { class: "end s11 halo" }),
    draggable(
      "n",
      "Number of words",
      { now: n.now.n, min: 2 ** LOWEST, max: 2 ** HIGHEST, text: `${wordsOf(n.now.n)} words` },
      rect(now - 12, y0, now + 12, y1, { class: "hit" }) +
        line(now, y0, now, y1, "lthird") +
        dotMarks([[now, y(state.one ? n.now.one : n.now.attention)]], 7, {
          class: `${state.one ? "link" : "fw"} grip`,
        }),
    ),
    text(now + (flip ? -12 : 12), y0 + 14, `n = ${wordsOf(n.now.n)}`, {
      class: `bold halo ${flip ? "end" : ""} ${wide ? "" : "s12"}`,
    }),
  ].join("");
}

/** The milliseconds measured for a number of words. */
export const took = (n: CostNumbers, words: number) => n.measured.find(([size]) => size === words)?.[1];

/** Where the ring of the guess is: at first as if time grew like the words. */
export const ghostOf = ({ state, numbers: n }: Pick<CostView, "state" | "numbers">) =>
  state.ghost > 0 ? state.ghost : (took(n, 512) ?? 1) * (LARGE / 512);

/** Time against the number of words, as measured. The ring of the guess is dragged until 4,096 words were run. */
export function time(view: CostView): string {
  const { numbers: n, wide } = view;
  const { x, y } = axesAt(view);
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const small = wide ? "s12" : "s11";
  const labels = n.measured
    .filter(([size]) => size === 512 || size === LARGE)
    .map(([size, ms]) =>
      text(x(size) + 9, y(ms) + 14, `${wordsOf(size)}: ${timeText(ms)}`, {
        class: `halo ${size === LARGE ? "tw bold" : "second"} ${small}`,
      }),
    );
  const parts = [
    axes(view),
    n.measured.length === 0
      ? text((x0 + x1) / 2, (y0 + y1) / 2, "Press Measure", { class: "mid second s15 halo" })
      : "",
    named(
      "time",
      dotMarks(
        n.measured.map(([size, ms]) => [x(size), y(ms)]),
        5,
        (i) => ({ class: n.measured[i][0] === LARGE ? "fw" : "fthird" }),
      ),
    ),
    ...labels,
  ];
  if (took(n, 1024) === undefined) return parts.join("");
  const guess = ghostOf(view);
  const at = [[x(LARGE), y(guess)]] as const;
  const [[cx, cy]] = at;
  const ring = dotMarks(at, 8, { class: "none link" });
  const handle =
    rect(cx - 14, y0, cx + 14, y1, { class: "hit" }) +
    line(cx, y0, cx, y1, "lline dash") +
    ring +
    dotMarks(at, 8, { class: "fpaper soft grip" });
  const value = { now: Number(guess.toPrecision(3)), min: 0.001, max: 1e5, text: timeText(guess) };
  return [
    ...parts,
    took(n, LARGE) === undefined
      ? draggable("ghost", "Your guess of the time at 4,096 words", value, handle)
      : ring,
    text(cx - 13, cy + 4, `your guess: ${timeText(guess)}`, { class: `end bold halo ${small}` }),
  ].join("");
}

/** Where the areas are: the length of a frame, the left ends of both, their base, and the ends of the picture. */
const memoryAt = (wide: boolean) =>
  wide
    ? { frame: 220, left: 40, right: 320, base: 480, top: 44, end: 840 }
    : { frame: 80, left: 20, right: 138, base: 252, top: 34, end: 372 };

/** A square on the right frame's corner, cut where the picture ends; lines along the edges that are not cut. */
function square(length: number, wide: boolean, name: string) {
  const { right, base, top, end } = memoryAt(wide);
  const [x, y] = [Math.min(right + length, end), Math.max(base - length, top)];
  const [isWide, isHigh] = [x < right + length, y > base - length];
  const lines = (isWide ? "" : line(x, base, x, y, name)) + (isHigh ? "" : line(right, y, x, y, name));
  return { x, y, lines, isCutX: isWide, isCutY: isHigh };
}

/** Bytes as areas. A frame is 2 GiB. */
export function memory({ numbers: n, state, wide }: CostView): string {
  const { frame, left, right, base, top } = memoryAt(wide);
  const small = wide ? "s12" : "s11";
  const share = (bytes: number) => bytes / 2 ** 31;
  const [weights, stored, workspace] = state.one
    ? [n.newWord.weights, n.cache, n.newWord.workspace]
    : [n.weights, n.tensors, n.workspace];
  // The square of the weights: from its corner to where the picture ends.
  const scores = square(frame * Math.sqrt(share(weights)), wide, "lw");
  // What streaming attention has: its tensors, and a strip of working memory.
  const width = frame * Math.min(1, share(stored));
  const height = Math.min(base - top, frame * Math.max(1, share(stored)));
  const strip = Math.max(1.5, frame * share(workspace));
  const below = wide ? 32 : 30;
  return [
    text(left, top - (wide ? 10 : 16), "bytes as areas; a dashed frame is 2 GiB", {
      class: `second ${small}`,
    }),
    named(
      "scores",
      rect(right, base, scores.x, scores.y, { class: "fw soft" }) +
        line(right, base, right, scores.y, "lw") +
        line(right, base, scores.x, base, "lw") +
        scores.lines,
    ),
    named(
      "kept",
      rect(left, base, left + Math.max(0.5, width), base - height, {
        class: "fthird soft",
      }),
    ),
    named("workspace", rect(left + width + 2, base, left + width + 2 + strip, base - frame, { class: "fw" })),
    text(left, base - Math.max(height, frame) - 10, byteCount(stored), {
      class: `bold halo ${small}`,
    }),
    text(left, base + 16, state.one ? "keys and values" : "Q, K, V, output", { class: `second ${small}` }),
    text(left, base + below, `+ ${byteCount(workspace)} to work in`, { class: `tw ${small}` }),
    // Below the areas, where no guess is.
    text(right, base + 16, state.one ? "S of the new word" : "S, if all of it is kept", {
      class: `second ${small}`,
    }),
    text(
      right,
      base + below,
      `${byteCount(weights)}${scores.isCutX || scores.isCutY ? ", more than this" : ""}`,
      { class: `tw bold ${small}` },
    ),
    ...[left, right].map((x) => rect(x, base, x + frame, base - frame, { class: "none lsecond dash" })),
  ].join("");
}

/** The guess at how many words fill the frame: all weights of as many words, a full frame at `full`. */
export function memoryGuess(guess: number, { numbers: n, wide }: CostView): string {
  const { frame, right, base } = memoryAt(wide);
  const { x, y, lines, isCutX, isCutY } = square((frame * guess) / n.full, wide, "link");
  const label = { class: "mid bold s11 halo" };
  // At an edge that is drawn, if there is one.
  return (
    lines +
    (isCutX && isCutY
      ? text(x, y + 14, "your guess: larger than the picture", { class: "end bold s11" })
      : text(Math.max(x - 32, right + 30), isCutX ? y + 14 : base - 6, "your guess", label))
  );
}

/** The inside of the SVG: one of the three. */
export const picture = (view: CostView): string =>
  ({ work, time, memory })[view.state.show as "work" | "time" | "memory"](view);
