const INCOMPLETE = "\uFFFD";
/** A character has at most four bytes: what more than three tokens hold back is not one that can still be completed. */
const SETTLED = 8;

/**
 * Tokens to text in whole characters: the bytes of a character may be split over tokens, and then the text waits for
 * the token that completes it.
 *
 * The detokenizer turns an unfinished character at the end into one U+FFFD; everything before that is final.
 */
export class Pieces {
  readonly #detokenize: (tokens: Uint32Array) => string;
  /** The token before `#pending`: the detokenizer takes the leading space off the first one. */
  #before: number;
  #pending: number[] = [];
  /** How much of the text of `#pending` has been given out. */
  #given = 0;
  #unread = 0;

  /** `before` is the token the text follows: the last one of the prompt. */
  constructor(detokenize: (tokens: Uint32Array) => string, before: number) {
    this.#detokenize = detokenize;
    this.#before = before;
  }

  /** Tokens pushed since a text was last given out. */
  get unread(): number {
    return this.#unread;
  }

  /** The text that `token` makes certain: empty while a character is unfinished. */
  push(token: number): string {
    this.#pending.push(token);
    this.#unread++;
    const text = this.#text(this.#pending);
    const whole = text.endsWith(INCOMPLETE) ? text.length - 1 : text.length;
    const piece = text.slice(this.#given, whole);
    this.#given = whole;
    if (whole === text.length) this.#forget(this.#pending.length, whole);
    else if (this.#pending.length >= SETTLED) this.#shorten(text);
    if (piece !== "") this.#unread = 0;
    return piece;
  }

  /** What is held back, at the end: U+FFFD for a character cut off, else nothing. */
  end(): string {
    const piece = this.#text(this.#pending).slice(this.#given);
    this.#forget(this.#pending.length, this.#given);
    this.#unread = 0;
    return piece;
  }

  #text(tokens: number[]): string {
    const skip = this.#detokenize(Uint32Array.of(this.#before)).length;
    return this.#detokenize(Uint32Array.of(this.#before, ...tokens)).slice(skip);
  }

  /** Bytes that never become a character must not make each further token dearer. */
  #shorten(text: string): void {
    const count = this.#pending.length - SETTLED / 2;
    const head = this.#text(this.#pending.slice(0, count));
    const rest = this.#detokenize(Uint32Array.from(this.#pending.slice(count - 1)));
    const skip = this.#detokenize(Uint32Array.of(this.#pending[count - 1]!)).length;
    // Only where the cut does not run through a character.
    if (head + rest.slice(skip) === text) this.#forget(count, head.length);
  }

  #forget(count: number, length: number): void {
    if (count === 0) return;
    this.#before = this.#pending[count - 1]!;
    this.#pending = this.#pending.slice(count);
    this.#given -= length;
  }
}
