import type { Token } from "../engine.ts";

/** Tokens that have come and wait for the reader; whole characters only. */
export class TokenQueue {
  #tokens: Token[] = [];
  #taken = 0;
  readonly #saying = new Halves();
  readonly #thinking = new Halves();

  get size(): number {
    return this.#tokens.length - this.#taken;
  }

  take(): Token | undefined {
    if (this.size === 0) return undefined;
    const token = this.#tokens[this.#taken++];
    if (this.size === 0) this.#tokens.length = this.#taken = 0;
    return token;
  }

  thought(text: string, tokens: number): void {
    const whole = this.#thinking.take(text, tokens);
    if (whole !== undefined) this.#tokens.push({ ...whole, reasoning: true });
  }

  said(text: string, tokens: number): void {
    const whole = this.#saying.take(text, tokens);
    if (whole !== undefined) this.#tokens.push(whole);
  }

  /** No second half will come. */
  end(): void {
    const thought = this.#thinking.end();
    if (thought !== undefined) this.#tokens.push({ ...thought, reasoning: true });
    const said = this.#saying.end();
    if (said !== undefined) this.#tokens.push(said);
  }

  clear(): void {
    this.#tokens.length = this.#taken = 0;
  }
}

/** A pair of surrogates sent in two deltas is one character: its first half waits here for the second. */
class Halves {
  #half = "";
  /** The tokens it is worth, where they came with nothing else. */
  #tokens = 0;

  /** What can be handed on, or undefined. */
  take(text: string, tokens: number): { text: string; tokens: number } | undefined {
    if (this.#half !== "") {
      text = this.#half + text;
      tokens += this.#tokens;
      this.#half = "";
      this.#tokens = 0;
    }
    if ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
      if (text === "") {
        this.#tokens = tokens;
        return undefined;
      }
    }
    // A half that is left has no other half: it would be text that is not UTF-8.
    return { text: text.toWellFormed(), tokens };
  }

  end(): { text: string; tokens: number } | undefined {
    if (this.#half === "") return undefined;
    this.#half = "";
    return { text: "\ufffd", tokens: this.#tokens };
  }
}
