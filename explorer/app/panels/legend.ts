/** The color scale with its ticks, and the swatches of masked cells and of cells that are not weights. */
import { html, nothing, type TemplateResult } from "lit";
import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { formatNumber, num } from "../../../src/store/text/number.ts";
import { colorTable, hex } from "../../../src/view/color.ts";
import { css } from "../../../ui/css.ts";
import { rampOf } from "../../canvas/colors.ts";
import { hasMask } from "../../views/row/steps.ts";
import type { Session } from "../session.ts";

/**
 * @param drawn the value at full color of the picture on the canvas
 * @param options `weightsOnly`: the picture shows weights at every stage; `plainMask`: masked cells have the color of the paper, not a hatch
 */
export function legend(
  session: Session,
  drawn: number | undefined,
  {
    weightsOnly = false,
    plainMask = false,
  }: { readonly weightsOnly?: boolean; readonly plainMask?: boolean } = {},
): TemplateResult {
  const { state, dark, block } = session;
  const { notNumbers = 0, negative = 0 } = session.measures() ?? {};
  const signed = isSigned(state.stage) && !weightsOnly;
  const weights = state.stage === "weights" || weightsOnly;
  const largest = weights && state.domain === "absolute" ? 1 : (drawn ?? 1);
  const table = colorTable(rampOf(state.ramp, signed, dark));
  const steps = Array.from({ length: 17 }, (_, i) => hex(table[Math.round((i * 255) / 16)]));
  const shares = { sqrt: [0, 0.01, 0.1, 0.25, 1], linear: [0, 0.25, 0.5, 0.75, 1], log: [0, 1e-4, 1e-2, 1] };
  const ticks = signed ? [-largest, 0, largest] : shares[state.transfer].map((share) => share * largest);
  const place = (value: number) =>
    signed ? (signedCodeOf(value, largest) - 1) / 254 : codeOf(value, state.transfer, largest) / 255;
  return html`<span class="legend" part="legend">
    <span class="scale" role="img" aria-label=${`Colors from ${formatNumber(ticks[0])} to ${formatNumber(largest)}`}>
      <span class="ramp swatch" ${css({ background: `linear-gradient(to right, ${steps.join(", ")})` })}></span>
      ${ticks.map((value) => html`<span class="tick" ${css({ left: `${(100 * place(value)).toFixed(1)}%` })}>${num(value, "legend", { digits: 2 }).text.replace(/^0(\.\d*?[1-9])0*$/, "$1")}</span>`)}
    </span>
    ${block && hasMask(block) ? html`<span class="${plainMask ? "plain" : "hatched"} swatch" aria-hidden="true"></span><span>masked</span>` : nothing}
    ${notNumbers + negative > 0 ? html`<span class="not-a-weight swatch" aria-hidden="true">×</span><span>not a weight</span>` : nothing}
  </span>`;
}
