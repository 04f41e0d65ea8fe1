/** What a conversation's template needs from the model's files. */
export interface ChatFormat {
  /** The template, in Jinja. */
  readonly template: string;
  /** Texts of special tokens by role: `bos_token`, `eos_token`. */
  readonly tokens: Readonly<Record<string, string>>;
}
