/** How wrong each way is on each kind of data. */
import { element, text } from "../../src/view/plot/svg.ts";
import { line, pressable, rect } from "../frame/marks.ts";
import { KIND_NAMES, KIND_NOTES, kindOf, type VariantsView, WAYS, wayMark } from "./state.ts";

/** Where the errors are: left edge, ends of the axis, the first row and the height of a row. */
export const errorsAt = (wide: boolean) =>
  wide ? { left: 16, x0: 300, x1: 830, top: 306, row: 38 } : { left: 8, x0: 96, x1: 352, top: 160, row: 24 };

/** An error on the axis. 10⁻⁷ and less is rounding; the axis is cut between rounding and 1 %. */
export function errorX(error: number, wide: boolean): number {
  const { x0, x1 } = errorsAt(wide);
  const at = error < 1e-3 ? 0 : 0.12 + (0.88 * (Math.log10(Math.min(10, error)) + 2)) / 3;
  return x0 + Math.max(0, at) * (x1 - x0);
}

/** Errors of what was looked at, on an axis that never changes. */
export function errors(view: VariantsView): string {
  const { numbers: n, wide } = view;
  const { left, x0, x1, top, row } = errorsAt(wide);
  const x = (error: number) => errorX(error, wide);
  const bottom = top + 5 * row - row / 2 - (wide ? 4 : 1);
  const parts = [
    text(
      left,
      top - (wide ? 36 : 22),
      wide
        ? "press a row to change the data · how wrong is the output, relative to its size?"
        : "how wrong is the output?",
      { class: wide ? "bold" : "bold s12" },
    ),
    line(x(1), top - 16, x(1), bottom, "lb dash"),
    ...[0.01, 0.1, 1, 10].map((value) => line(x(value), bottom, x(value), bottom + 4, "lthird")),
    line(x0, bottom, x1, bottom, "lthird"),
    text(x0, bottom + 16, wide ? "rounding" : "≈ 0", { class: "mid third s11" }),
    ...[0.01, 0.1, 1, 10].map((value) =>
      text(x(value), bottom + 16, `${100 * value} %`, { class: "mid third s11" }),
    ),
    text(x(1), bottom + (wide ? 31 : 29), "as wrong as answering 0", { class: "mid tb s11" }),
  ];
  for (const [kind, name] of KIND_NAMES.entries()) {
    const y = top + kind * row;
    const chosen = kind === kindOf(view);
    const entry = n.rows.find((one) => one.kind === kind);
    const around = { x: left - 8, y: y - row / 2 + 2, width: x1 + 30 - left, height: row - 4, rx: 4 };
    parts.push(
      chosen ? element("rect", { ...around, class: "fhover" }) : "",
      wide ? text(left + 74, y + 4, KIND_NOTES[kind], { class: "second s12" }) : "",
      entry === undefined ? text((x0 + x1) / 2, y + 4, "press to see", { class: "mid third s12" }) : "",
    );
    // Last, so that it is above the marks of its row.
    const press = pressable(
      `data:${kind}`,
      `${name}: ${KIND_NOTES[kind]}`,
      chosen,
      element("rect", { ...around, class: "hit" }) + text(left, y + 4, name, { class: chosen ? "bold" : "" }),
    );
    if (entry === undefined) {
      parts.push(press);
      continue;
    }
    parts.push(
      line(x(entry.errors[1]), y, x(entry.errors[2]), y, "lline"),
      // The band over the throws, where there is more than one.
      ...(entry.throws.length > 1 ? [1, 2] : []).map((w) => {
        const all = entry.throws.map((errors) => x(errors[w]));
        const style = { rx: 4, class: "fthird soft" };
        return rect(Math.min(...all) - 3, y - 9, Math.max(...all) + 3, y + 9, style);
      }),
      ...entry.errors.map((error, w) => wayMark(w + 1, x(error), y, chosen ? 7 : 5)),
    );
    if (chosen && wide)
      for (const w of [1, 2]) {
        const other = entry.errors[w === 1 ? 2 : 1];
        const right = entry.errors[w] > other;
        parts.push(
          text(x(entry.errors[w]) + (right ? 11 : -11), y + 4, WAYS[w + 1], {
            class: `bold s12 halo ${right ? "" : "end"}`,
          }),
        );
      }
    parts.push(press);
  }
  return parts.join("");
}
