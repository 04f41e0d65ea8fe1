/**
 * "Continue the text": the model writes token by token, the most likely one or one that is drawn with a seed, and each token becomes a row
 * of the picture. Nothing where the text has no model that writes.
 */
import { html, nothing, type TemplateResult } from "lit";
import { settled } from "../../../../ui/controls.ts";
import {
  canContinue,
  continuationOf,
  continueText,
  setContinuation,
  settingsOf,
} from "../../../state/causes/continuation.ts";
import type { Session } from "../../session.ts";
import { choice, token, type Ui } from "../../ui.ts";

/** Temperature of a first sample. */
const SAMPLED = 0.8;

export function continuationPanel(ui: Ui): TemplateResult | typeof nothing {
  const { session } = ui;
  const { model } = session;
  const run = continuationOf(session);
  const isRunning = run?.stop !== undefined;
  if (!canContinue(session) && !isRunning) return nothing;
  const { temperature } = settingsOf(session);
  const start = () => void continueText(session, ui.open).then(ui.say);
  return html`<div class="continuation"><h2>Continue the text</h2>
    <p>${choice(
      "Next token",
      [
        ["likely", "most likely", "The most likely token each time", isRunning],
        [
          "drawn",
          "sampled",
          "A token drawn from the model's distribution, with the numbers of the seed",
          isRunning,
        ],
      ],
      temperature === 0 ? "likely" : "drawn",
      (how) => setContinuation(session, { temperature: how === "likely" ? 0 : SAMPLED }),
    )}</p>
    <p class="settings">${number(session, "total", "tokens", 1, 500, 1, isRunning)}
      ${temperature === 0 ? nothing : html`${number(session, "temperature", "temperature", 0.05, 5, 0.05, isRunning)} ${number(session, "seed", "seed", 0, 2 ** 31, 1, isRunning)}`}</p>
    <p><button type="button" class="bordered" @click=${isRunning ? run?.stop : start}>${isRunning ? "Stop" : `Continue by ${model?.name ?? ""}`}</button></p>
    ${
      run === undefined
        ? nothing
        : html`<p class="written"><span class="quiet">${run.model.name}, ${run.settings.temperature === 0 ? "most likely tokens" : `temperature ${run.settings.temperature}, seed ${run.settings.seed}`}:</span>
        ${run.tokens.map(({ token: text, at }) => html`<button type="button" class="link" title="Its row" @click=${() => session.set({ query: Math.min(at, (session.block?.Nq ?? 1) - 1) })}>${token(text)}</button>`)}${isRunning ? " …" : nothing}</p>
      ${run.why === undefined ? nothing : html`<p class="quiet">${sentence(run.why)}</p>`}
      ${run.error === undefined ? nothing : html`<p class="warning" role="alert">${run.error}</p>`}`
    }</div>`;
}

const sentence = (text: string) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** A number of the settings; a value that is none, or outside its range, keeps the last one. */
function number(
  session: Session,
  name: "total" | "temperature" | "seed",
  label: string,
  min: number,
  max: number,
  step: number,
  disabled: boolean,
): TemplateResult {
  const value = settingsOf(session)[name];
  const change = ({ target }: Event) => {
    const input = target as HTMLInputElement;
    const x = input.valueAsNumber;
    const isRight = x >= min && x <= max && (name === "temperature" || Number.isInteger(x));
    if (isRight) setContinuation(session, { [name]: x });
    else input.value = String(value);
  };
  return html`<label>${label} <input type="number" min=${min} max=${max} step=${step} .value=${settled(String(value))} ?disabled=${disabled} @change=${change}></label>`;
}
