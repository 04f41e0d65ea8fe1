/** The color scale with its own ticks, and what a hatch means. */
import { html, nothing, type TemplateResult } from "lit";
import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { formatNumber, num } from "../../../src/store/text/number.ts";
import { colorTable, hex } from "../../../src/view/color.ts";
import { rampOf } from "../../canvas/colors.ts";
import { css } from "../../styles/css.ts";
import { hasMask } from "../../views/row/steps.ts";
import type { Session } from "../session.ts";

/**
 * @param drawn the value at full color, of what is on the canvas
 * @param weightsOnly the picture shows weights whatever the stage
 */
export function legend(session: Session, drawn: number | undefined, weightsOnly = false): TemplateResult {
  const { state, dark, block } = session;
  const { notNumbers = 0, negative = 0 } = session.measures() ?? {};
  const signed = isSigned(state.stage) && !weightsOnly;
  const weights = state.stage === "weights" || weightsOnly;
  const most = weights && state.domain === "absolute" ? 1 : (drawn ?? 1);
  const table = colorTable(rampOf(state.ramp, signed, dark));
  const steps = Array.from({ length: 17 }, (_, i) => hex(table[Math.round((i * 255) / 16)]));
  const shares = { sqrt: [0, 0.01, 0.1, 0.25, 1], linear: [0, 0.25, 0.5, 0.75, 1], log: [0, 1e-4, 1e-2, 1] };
  const ticks = signed ? [-most, 0, most] : shares[state.transfer].map((share) => share * most);
  const place = (value: number) =>
    signed ? (signedCodeOf(value, most) - 1) / 254 : codeOf(value, state.transfer, most) / 255;
  return html`<span class="legend" part="legend">
    <span class="scale" role="img" aria-label=${`Colors from ${formatNumber(ticks[0])} to ${formatNumber(most)}`}>
      <span class="ramp swatch" ${css({ background: `linear-gradient(to right, ${steps.join(", ")})` })}></span>
      ${ticks.map((value) => html`<span class="tick" ${css({ left: `${(100 * place(value)).toFixed(1)}%` })}>${num(value, "legend", { digits: 2 }).text.replace(/^0(\.\d*?[1-9])0*$/, "$1")}</span>`)}
    </span>
    ${block && hasMask(block) ? html`<span class="hatched swatch" aria-hidden="true"></span><span>masked</span>` : nothing}
    ${notNumbers + negative > 0 ? html`<span class="strange swatch" aria-hidden="true">×</span><span>not a weight</span>` : nothing}
  </span>`;
}
