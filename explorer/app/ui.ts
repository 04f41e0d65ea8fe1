/** The interface that every template gets. The small templates they share are the kit's (ui/). */
import type { nothing, TemplateResult } from "lit";
import type { AttentionSource } from "../../src/view/element.ts";
import type { Session } from "./session.ts";

/** What a template can use besides the session. */
export interface Ui {
  readonly session: Session;
  /** The explorer owns the page: its reader is the person who opened it. */
  readonly owns: boolean;
  /** Runs an action by name; see actions.ts. */
  readonly act: (name: string) => void;
  /** Announces a text to screen readers. */
  readonly say: (text: string) => void;
  /** The panels below the atlas that switch the cursor's head, show causes and rank all heads; nothing until they have been loaded. */
  readonly headPanels: () => TemplateResult | typeof nothing;
  /** The score of the shown cell as a sum; nothing until it has been loaded, and without a model. */
  readonly why: () => TemplateResult | typeof nothing;
  /** Adds a source, or puts it in the place of the one that is shown, and shows it. */
  readonly open: (source: AttentionSource, inPlace?: boolean) => Promise<void>;
}

export { check, choice, select } from "../../ui/controls.ts";
export { bar, numeral, quoted, shown, token, withCode } from "../../ui/text.ts";
