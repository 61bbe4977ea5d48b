/** More under each other is a circle or says nothing new. */
const MAX_DEPTH = 4;

/**
 * What a thrown value says, with the causes under it: "fetch failed" alone would not tell a refused connection from a
 * name that nobody knows. Runtimes that fail on several addresses at once say it with a code and no words.
 */
export function messageOf(thrown: unknown): string {
  const said: string[] = [];
  let under = thrown;
  for (let depth = 0; depth < MAX_DEPTH && under instanceof Error; depth++) {
    const words = under.message || ("code" in under ? String(under.code) : "");
    if (words !== "" && !said.some((before) => before.includes(words))) said.push(words);
    under = under.cause;
  }
  return said.length === 0 ? String(thrown) : said.join(": ");
}
