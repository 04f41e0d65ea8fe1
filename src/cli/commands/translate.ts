/** `heed translate [MODEL] TEXT`: the text that an encoder–decoder writes from a text. */
import { translationCommand } from "../support/run/translation.ts";

export const command = translationCommand({
  name: "translate",
  summary: "translate a text with an encoder–decoder",
  model: "translator",
  help: { words: "print the words that the model reads: those of the translator" },
  notes:
    'The default is the package\'s translator, from English to German with 639 words. A T5 needs --prefix "translate English to German: ".',
  examples: [
    'heed translate "Today the man sees the dog."',
    'heed translate Helsinki-NLP/opus-mt-en-de "The cat sat on the mat." --beams 4',
    'heed translate ./nllb-200-distilled-600M "Good morning." --from eng_Latn --to deu_Latn',
    'heed translate ./t5-small "Good morning." --prefix "translate English to German: "',
  ],
  prefix: () => "",
});
