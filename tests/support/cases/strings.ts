/** Varied texts for tokenizers: words, scripts, accents, emoji with joiners, white space of every kind, code, numbers, marks. */
import type { Dice } from "../../files/mutants.ts";

const WORDS =
  "the cat sat on mat time flies like an arrow fruit banana bank river it's don't I'LL we've HELLO World naïve café déjà résumé Straße ÆON œuvre ﬁsh ①② Ⅳ ½ x² 日本語 漢字 かな カタカナ 한국어 조선말 中文 字 हिन्दी नमस्ते தமிழ் ไทย العربية مرحبا עברית שלום Ελλάδα Привет мир ქართული አማርኛ 👩‍👩‍👧 🇩🇪 😀 👍🏽 e\u0301 a\u0308 o\u0302\u0323 1 12 123 1234 3.14 1,000 2024-11-22 0x1F foo_bar fooBar() a==b != => // /* */ <b> &amp; https://example.com/?q=1&r=2 @user #tag $5 €10 100% -1 ... … ?! “quoted” ‘q’ «g» — – \u00ad \u200b \ufeff İstanbul ǅ ß ſ K Å \u1e9b\u0323 ｆｕｌｌ ＷＩＤＴＨ ㍿ ﷺ".split(
    " ",
  );
const GAPS = [
  " ",
  " ",
  " ",
  " ",
  " ",
  "  ",
  "   ",
  "\n",
  "\n\n",
  "\r\n",
  "\t",
  "",
  "",
  "\u00a0",
  "\u3000",
  " \n ",
];

/** A text by the numbers of `dice`. */
export function variedText(dice: Dice): string {
  const kind = dice.below(10);
  let text = "";
  if (kind === 0) {
    // Single characters of the lower planes.
    for (let n = 1 + dice.below(12); n > 0; n--) {
      const code = dice.pick([
        0x20 + dice.below(0x60),
        dice.below(0x250),
        dice.below(0x3000),
        dice.below(0xd800),
        0x1f300 + dice.below(0x300),
      ]);
      text += String.fromCodePoint(code);
    }
    return text;
  }
  for (let n = 1 + dice.below(kind === 1 ? 2 : 14); n > 0; n--) text += dice.pick(WORDS) + dice.pick(GAPS);
  return kind === 2 ? text.trim() : text;
}
