/** A text in lines of at most `limit` characters, broken at spaces. */
export const wrapped = (text: string, limit: number): string[] =>
  text.match(new RegExp(`\\S.{0,${limit - 1}}(?=\\s|$)|\\S+`, "g"))!;
