/** The texts of the text view: its controls, and the lines that explain the tint and a token's number. */
import { html, nothing, type TemplateResult } from "lit";
import { isSigned } from "../../../src/store/measures/transfer.ts";
import type { Session } from "../../app/session.ts";
import { check, choice, numeral, quoted, type Ui } from "../../app/ui.ts";
import { rankOf } from "../../state/facts.ts";
import { STAGE_MEANINGS } from "../../state/words.ts";
import type { Reading } from "./flow.ts";
import { MARK, type UnitValues } from "./values.ts";

/** The controls above the text: the direction, and tokens or whole words. */
export function textControls(ui: Ui): TemplateResult {
  const { session } = ui;
  return html`${directionChoice(ui)}
  ${check("words", session.state.words, (words) => session.set({ words }))}`;
}

/** Whether tokens show what they get, or what they give. */
export function directionChoice({ session }: Ui): TemplateResult {
  const { state } = session;
  return html`${choice(
    "Tokens are tinted by",
    [
      ["from", "from", "The weight that each token gets from the chosen queries"],
      ["to", "to", "The weight that each token gives to the chosen keys"],
    ],
    state.direction,
    (direction) => session.set({ direction }),
  )}`;
}

const langOf = ({ block }: Session, role: "query" | "key") =>
  role === "query" ? block?.queryLang : block?.keyLang;

/** The chosen tokens: ‹sat›, or the mean of 3 queries. */
function chosenText({ units, chooser, chosen }: Reading, session: Session): TemplateResult {
  const { state } = session;
  const plural = chooser === "query" ? "queries" : "keys";
  if (chosen.length === 1) return quoted(units[chooser][chosen[0]]?.text ?? "", langOf(session, chooser));
  return html`the ${state.aggregate === "max" ? "largest" : state.aggregate} of ${numeral(chosen.length, "selection")} ${state.words ? "words" : plural}`;
}

/** The meaning of the tint: "Color: how much of the attention of ‹sat› each token gets". */
export function tintLine(reading: Reading, session: Session, missing: number): TemplateResult {
  const { state } = session;
  const what = chosenText(reading, session);
  const by =
    state.stage === "weights"
      ? state.direction === "from"
        ? html`how much of the attention of ${what} each ${state.words ? "word" : "token"} gets`
        : html`how much of its attention each ${state.words ? "word" : "token"} gives to ${what}`
      : html`${STAGE_MEANINGS[state.stage]} ${state.direction === "from" ? html`with the query ${what}` : html`with the key ${what}`}`;
  const words = isSigned(state.stage)
    ? "words: the mean of their pieces"
    : "words: the sum over their keys, the mean over their queries";
  return html`<p>Color: ${by}.${reading.pinned ? nothing : html` <span class="quiet">Click to pin.</span>`}
    ${state.words ? html`<span class="quiet">${words}.</span>` : nothing}
    ${missing > 0 && !state.renormalize ? html`<span class="quiet">The tokens left out have ${numeral(missing, "hidden share", { style: "percent" })}.</span>` : nothing}</p>`;
}

/** The number of a unit: "0.412, ‹sat› to ‹cat›, rank 1 of 24". */
export function readLine(
  reading: Reading,
  { values, marks }: UnitValues,
  unit: number,
  session: Session,
): TemplateResult {
  const { state } = session;
  const text = quoted(reading.units[reading.target][unit]?.text ?? "", langOf(session, reading.target));
  const mark = marks[unit];
  const of = chosenText(reading, session);
  const source = `${state.direction === "from" ? "row" : "column"} ${state.stage}`;
  const pair = state.direction === "from" ? html`${of} to ${text}` : html`${text} to ${of}`;
  if (mark === MARK.masked || mark === MARK.hidden)
    return html`<p>${mark === MARK.masked ? "masked" : "hidden"}, ${pair}</p>`;
  const { rank, of: count } = rankOf(
    values,
    unit,
    Uint8Array.from(values, (_, at) => Number(marks[at] !== MARK.masked && marks[at] !== MARK.hidden)),
  );
  return html`<p>${numeral(values[unit], source)}, ${pair}, rank ${numeral(rank, "rankOf")} of ${numeral(count, "rankOf")}</p>`;
}
