/** What a conversation needs from a model's files, and its check. */
import { checkKind, checkKinds } from "../../core/option-names.ts";

/** What a conversation's template needs from the model's files. */
export interface ChatFormat {
  /** The template, in Jinja. */
  readonly template: string;
  /** Texts of special tokens by role: `bos_token`, `eos_token`. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** Throws unless `chat` has a template and the texts of tokens. */
export function checkChat(what: string, chat: ChatFormat): void {
  checkKinds(`${what}: chat`, chat, { "a text": "template", "an object": "tokens" });
  checkKind(`${what}: chat`, "template", "a text", chat.template);
  checkKind(`${what}: chat`, "tokens", "an object", chat.tokens);
  for (const [name, token] of Object.entries(chat.tokens))
    checkKind(`${what}: chat`, `tokens.${name}`, "a text", token);
}
