/** `heed summarize MODEL TEXT`: a summary that an encoder–decoder writes of a text. */
import { translationCommand } from "../support/run/translation.ts";

export const command = translationCommand({
  name: "summarize",
  summary: "summarize a text with an encoder–decoder",
  notes: "A prefix that config.json names for summaries, as T5's does, is added.",
  examples: [
    "heed summarize ./bart-large-cnn - --beams 4 --length-penalty 2 --no-repeat 3 --min-tokens 56 < article.txt",
    'heed summarize ./t5-small "Two ships met in a storm last night. Both reached the harbor." --beams 4',
  ],
  prefix({ model }) {
    const { source } = model.config as { readonly source?: Readonly<Record<string, unknown>> };
    const tasks = source?.task_specific_params as
      | { readonly summarization?: { readonly prefix?: unknown } }
      | undefined;
    const prefix = tasks?.summarization?.prefix;
    return typeof prefix === "string" ? prefix : "";
  },
});
