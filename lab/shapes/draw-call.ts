/** One call of attention as boxes to scale. */
import { text } from "../../src/view/plot/svg.ts";
import { named } from "../frame/marks.ts";
import { byteCount, count } from "../frame/words.ts";
import { dragNumber, edge, message, stacked } from "./boxes.ts";
import type { PictureBox, ShapesView, Size } from "./sizes.ts";
import { callAt, cells, guessSide, isGuessed, LARGEST_GUESS, numberOf, tuple } from "./sizes.ts";

/** Rows and columns of S as the call reads the shapes. */
const readAs = ({ state }: ShapesView) =>
  state.wrong === "axes"
    ? {
        rows: state.h,
        columns: state.h,
        rowSize: "h" as Size,
        columnSize: "h" as Size,
        cards: state.b * state.n,
      }
    : {
        rows: state.n,
        columns: state.m,
        rowSize: "n" as Size,
        columnSize: "m" as Size,
        cards: state.b * state.h,
      };

// long: one drawing, in reading order: boxes, sizes, edges, corner.
/** The picture of a call: Q and Kᵀ meet in S, and S and V in the output. */
export function call(view: ShapesView): string {
  const { numbers: n, state, wide } = view;
  const at = callAt(wide);
  const { u, row, above } = at;
  const { rows, columns, rowSize, columnSize, cards } = readAs(view);
  const [w, h, dk, dv] = [columns * u, rows * u, state.dk * u, state.dv * u];
  const keySize = state.wrong === "key" ? "kd" : "dk";
  const kd = state[keySize] * u;
  const turned = state.wrong === "value";
  const bad = n.error !== "";
  // What does not fit is not docked: it hangs above its place.
  const lift = bad ? (wide ? 12 : 7) : 0;
  const q: PictureBox = { x: at.qRight - dk, y: row, width: dk, height: h };
  const k: PictureBox = {
    x: at.sLeft,
    y: above - kd - (state.wrong === "key" ? lift : 0),
    width: w,
    height: kd,
  };
  const s: PictureBox = { x: at.sLeft, y: row, width: w, height: h };
  const v: PictureBox = {
    x: at.oLeft,
    y: above - (turned ? dv : w) - (turned ? lift : 0),
    width: turned ? w : dv,
    height: turned ? dv : w,
  };
  const o: PictureBox = { x: at.oLeft, y: row, width: v.width, height: h };
  const small = wide ? "s12" : "s11";
  const shape = (text: string, shown: readonly number[]) =>
    wide && shown.length > 0 ? `${text} ${tuple(shown)}` : text;
  const letters: Record<Size, string> = {
    b: "",
    h: "h",
    n: "n",
    m: "m",
    dk: "dₖ",
    dv: "dᵥ",
    kd: "dₖ",
    d: "d",
  };
  const sized = (size: Size) => `${letters[size]} = ${state[size]}`;
  const parts = [
    named(
      "q",
      stacked(q, "q", cards) +
        text(q.x + dk / 2, row + h + (wide ? 20 : 15), shape("Q", n.query), {
          class: `mid tq bold ${small}`,
        }),
    ),
    named(
      "k",
      stacked(k, state.wrong === "key" && bad ? "b" : "k", cards) +
        // A wide K leaves no space beside it on a narrow picture.
        (!wide && w >= 24 && kd >= 16
          ? text(k.x + w / 2, k.y + kd / 2 + 4, "Kᵀ", { class: `mid tk bold ${small}` })
          : text(k.x + w + (wide ? 20 : 16), k.y + kd / 2 + (wide ? 4 : -2), "Kᵀ", {
              class: `tk bold ${small}`,
            })),
    ),
    named(
      "v",
      stacked(v, turned && bad ? "b" : "v", cards) +
        (wide
          ? text(
              Math.min(v.x + v.width / 2, 780),
              above + 15,
              shape(turned ? "V, transposed" : "V", n.value),
              { class: `mid tv bold halo ${small}` },
            )
          : // Beside a tall V are the cards of K.
            v.height >= 16
            ? text(v.x + v.width / 2, v.y + v.height / 2 + 4, "V", { class: `mid tv bold ${small}` })
            : text(v.x - 8, v.y + v.height / 2 + 4, "V", { class: `end tv bold ${small}` })),
    ),
    named(
      "s",
      stacked(s, bad ? "b" : "w", cards) +
        (bad ? text(s.x + w / 2, row + h / 2 + 5, "?", { class: "mid tb bold" }) : "") +
        text(
          s.x + w / 2,
          isGuessed(state)
            ? row + guessSide(LARGEST_GUESS, u) + 33
            : row + h + (wide && !bad ? 40 : wide ? 20 : 15),
          bad ? "S" : shape("S", n.weights),
          {
            class: `mid tw bold ${small}`,
          },
        ),
    ),
    named(
      "o",
      stacked(o, bad ? "b" : "v", cards) +
        text(
          o.x + o.width / 2,
          row + h + (wide ? 20 : 15),
          bad ? "output" : shape(/* text */ wide ? "output" : "out", n.output),
          {
            class: `mid tv bold ${small}`,
          },
        ),
    ),
    // Sizes at their edges.
    // A wide Q reaches to the edge of a narrow picture.
    text(Math.max(44, q.x - 8), row + h / 2 + 4, sized(rowSize), { class: `end tq halo ${small}` }),
    text(q.x + dk / 2, row - (wide ? 22 : 16), sized("dk"), { class: `mid ${small}` }),
    text(k.x - 9, k.y + kd / 2 + 4, sized(keySize), { class: `end ${small}` }),
    text(k.x + w / 2, above + (wide ? 14 : 10), wide ? sized(columnSize) : "", {
      class: `mid tk halo ${small}`,
    }),
    wide
      ? text(v.x - 9, v.y + v.height / 2 + 4, turned ? sized("dv") : sized(columnSize), {
          class: `end ${turned ? "tv" : "tk"} ${small}`,
        })
      : text(k.x + w / 2 + 6, Math.max(12, k.y - 17), sized(columnSize), { class: `mid tk ${small}` }),
    text(v.x + v.width / 2 + 6, v.y - (wide ? 20 : 15), turned ? sized(columnSize) : sized("dv"), {
      class: `mid ${turned ? "tk" : "tv"} ${small}`,
    }),
  ];
  const many = /* text */ state.self ? "words" : "query words";
  parts.push(
    edge(
      view,
      `${rowSize}:rows`,
      { x: q.x, y: row + h, length: dk, across: false },
      "q",
      rowSize === "h" ? "Heads" : `Number of ${many}`,
    ),
    edge(view, `${rowSize}:rows`, { x: s.x, y: row + h, length: w, across: false }, "q"),
    edge(view, `${rowSize}:rows`, { x: o.x, y: row + h, length: o.width, across: false }, "q"),
    edge(view, "dk:q", { x: q.x, y: row, length: h, across: true }, "third", "Numbers of a query and a key"),
    edge(
      view,
      `${keySize}:k`,
      { x: k.x, y: k.y, length: w, across: false },
      "third",
      keySize === "kd" ? "Numbers of a key" : undefined,
    ),
    edge(
      view,
      `${columnSize}:s`,
      { x: s.x + w, y: k.y, length: kd, across: true },
      "k",
      state.self || columnSize === "h" ? undefined : "Number of key words",
    ),
    edge(view, `${columnSize}:s`, { x: s.x + w, y: row, length: h, across: true }, "k"),
    turned
      ? edge(view, "dv:t", { x: v.x, y: v.y, length: v.width, across: false }, "v", "Numbers of a value") +
          edge(view, "m:t", { x: v.x + v.width, y: v.y, length: v.height, across: true }, "k")
      : edge(
          view,
          "dv:v",
          { x: v.x + v.width, y: v.y, length: v.height, across: true },
          "v",
          "Numbers of a value",
        ) +
          edge(view, "dv:v", { x: v.x + v.width, y: row, length: h, across: true }, "v") +
          edge(view, `${columnSize}:v`, { x: v.x, y: v.y, length: v.width, across: false }, "k"),
  );
  // The corner above Q is free: what one card stands for, and what all of them hold.
  const y = wide ? 52 : 22;
  parts.push(
    text(wide ? 24 : 8, y - 28, wide ? "the stack: drag the numbers" : "", { class: `second ${small}` }),
    dragNumber(view, "b", wide ? 24 : 4, y, numberOf(state.b, "sentence", "sentences"), "Sentences"),
    text(wide ? 154 : 110, y, "×", { class: "mid" }),
    state.wrong === "axes"
      ? text(wide ? 170 : 122, y, numberOf(state.n, "word", "words"), { class: "bold" })
      : dragNumber(view, "h", wide ? 170 : 4, wide ? y : y + 28, numberOf(state.h, "head", "heads"), "Heads"),
  );
  if (!bad && wide)
    parts.push(
      text(24, y + 36, `${numberOf(cards, "card", "cards")}, together:`),
      text(24, y + 58, `${cells(n.weights).toLocaleString("en-US")} weights, ${byteCount(n.bytes)} if kept`),
      text(24, y + 80, `${count(n.operations)} multiplications and additions`),
    );
  // On a phone below the boxes, where no guess is.
  else if (!bad && !isGuessed(state))
    parts.push(
      text(8, 256, `${cells(n.weights).toLocaleString("en-US")} weights, ${byteCount(n.bytes)} if kept`, {
        class: small,
      }),
      text(8, 274, `${count(n.operations)} multiplications and additions`, { class: small }),
    );
  if (bad) parts.push(message(n.error, wide));
  return parts.join("");
}
