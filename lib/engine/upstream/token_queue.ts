import type { Token } from "../engine.ts";

/** Tokens that have come and wait for the reader; whole characters only. */
export class TokenQueue {
  #tokens: Token[] = [];
  #taken = 0;
  /** The first half of a character whose second half is to come, and the tokens it is worth. */
  #half = "";
  #halfTokens = 0;

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
    this.#tokens.push({ text: text.toWellFormed(), tokens, reasoning: true });
  }

  /** A pair of surrogates sent in two deltas is one character: its first half waits for the second. */
  said(text: string, tokens: number): void {
    if (this.#half !== "") {
      text = this.#half + text;
      tokens += this.#halfTokens;
      this.#half = "";
      this.#halfTokens = 0;
    }
    if ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
      if (text === "") {
        this.#halfTokens = tokens;
        return;
      }
    }
    // A half that is left has no other half: it would be text that is not UTF-8.
    this.#tokens.push({ text: text.toWellFormed(), tokens });
  }

  /** No second half will come. */
  end(): void {
    if (this.#half === "") return;
    this.#half = "";
    this.#tokens.push({ text: "\ufffd", tokens: this.#halfTokens });
  }

  clear(): void {
    this.#tokens.length = this.#taken = 0;
  }
}
