/** A layer on one sentence as boxes to scale: its matrices, and the columns cut into heads. */
import { element, text } from "../../src/view/plot/svg.ts";
import { line, named } from "../frame/marks.ts";
import { count } from "../frame/words.ts";
import { edge, message, stacked } from "./boxes.ts";
import { layerAt, type PictureBox, type ShapesView, tuple } from "./sizes.ts";

/** The picture of a layer. */
export function layer(view: ShapesView): string {
  const { numbers, state, wide } = view;
  const n = numbers.layer;
  const at = layerAt(wide);
  const { u, row, above } = at;
  const bad = n.error !== "";
  const [d, h] = [state.d * u, state.n * u];
  const small = wide ? "s12" : "s11";
  const x: PictureBox = { x: at.xRight - d, y: row, width: d, height: h };
  const parts = [
    named(
      "x",
      stacked(x, "third", 1) +
        text(x.x + d / 2, row + h + (wide ? 22 : 14), "X", { class: `mid bold ${small}` }) +
        text(x.x + d / 2, row - (wide ? 10 : 8), `${state.n} × ${state.d}`, { class: `mid ${small}` }),
    ),
  ];
  const each = d / state.h;
  for (const [i, color] of (["q", "k", "v"] as const).entries()) {
    const left = at.left + i * (d + at.gap);
    const W: PictureBox = { x: left, y: above - d, width: d, height: d };
    const P: PictureBox = { x: left, y: row, width: d, height: h };
    const cuts = Array.from({ length: state.h - 1 }, (_, c) => {
      const at = left + (c + 1) * each;
      return (
        line(at, row, at, row + h, bad ? "lb" : `l${color} thin`) + line(at, above - d, at, above, "lline")
      );
    });
    parts.push(
      named(
        color,
        stacked(W, color, 1) +
          element(
            "text",
            { x: left + d / 2, y: above - d - (wide ? 10 : 5), class: `mid t${color} bold ${small}` },
            `W<tspan dy="-4" class="s11">${color}</tspan>`,
          ) +
          stacked(P, bad ? "b" : color, 1) +
          cuts.join("") +
          text(left + d / 2, row + h + (wide ? 22 : 14), "QKV"[i], { class: `mid t${color} bold ${small}` }),
      ),
    );
  }
  const O: PictureBox = { x: at.oLeft, y: row, width: d, height: h };
  const Y: PictureBox = { x: at.yLeft, y: row, width: d, height: h };
  const M: PictureBox = { x: at.yLeft, y: above - d, width: d, height: d };
  parts.push(
    named(
      "o",
      stacked(O, bad ? "b" : "v", 1) +
        Array.from({ length: state.h - 1 }, (_, c) =>
          line(O.x + (c + 1) * each, row, O.x + (c + 1) * each, row + h, bad ? "lb" : "lv thin"),
        ).join("") +
        text(O.x + d / 2, row + h + (wide ? 22 : 14), wide ? "the heads’ outputs" : "heads", {
          class: `mid tv bold ${small}`,
        }) +
        stacked(M, "third", 1) +
        text(M.x + d / 2, M.y - (wide ? 10 : 5), "Wᴼ", { class: `mid bold ${small}` }) +
        stacked(Y, bad ? "b" : "third", 1) +
        text(Y.x + d / 2, row + h + (wide ? 22 : 14), "output", { class: `mid bold ${small}` }),
    ),
  );
  // A score matrix for each head.
  const length = state.n * u;
  const step = Math.min((wide ? 660 : 300) / state.h, length + 10);
  if (!bad)
    parts.push(
      named(
        "s",
        Array.from({ length: state.h }, (_, i) =>
          stacked({ x: at.left + i * step, y: at.heads, width: length, height: length }, "w", 1),
        ).join("") +
          text(
            at.left - 8,
            at.heads + length / 2 + 4,
            wide ? `S of ${state.h} ${state.h === 1 ? "head" : "heads"}` : "S",
            {
              class: `end tw bold ${small}`,
            },
          ),
      ),
    );
  parts.push(
    edge(view, "n:x", { x: x.x, y: row + h, length: d, across: false }, "q", "Number of words"),
    edge(view, "d:x", { x: x.x, y: row, length: h, across: true }, "third", "Numbers of a word"),
    edge(view, "h:cut", { x: at.left + each, y: row, length: h, across: true }, "q", "Heads"),
  );
  const y = wide ? 432 : 216;
  if (bad) parts.push(message(n.error, wide));
  else
    parts.push(
      text(
        wide ? 24 : 8,
        y,
        `${state.h} ${state.h === 1 ? "head" : "heads"} of ${n.query[2]} numbers: Q is cut into ${tuple(n.query)}`,
        {
          class: wide ? "s15 bold" : `bold ${small}`,
        },
      ),
      text(
        wide ? 24 : 8,
        y + (wide ? 28 : 20),
        `${n.parameters.toLocaleString("en-US")} parameters in four matrices of ${state.d} × ${state.d}`,
        { class: small === "s12" ? "" : small },
      ),
      text(
        wide ? 24 : 8,
        y + (wide ? 52 : 38),
        `${count(n.operations)} multiplications and additions for this sentence`,
        { class: small === "s12" ? "" : small },
      ),
    );
  return parts.join("");
}
