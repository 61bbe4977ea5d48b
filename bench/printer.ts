/**
 * Prints the lines of a run that takes minutes. Where they cannot be printed, as on a full disk, the run goes on: its
 * results, in a file, are worth more than what it says of them.
 */
export class Printer {
  #failure: unknown;

  print(text: string): void {
    try {
      console.log(text);
    } catch (error) {
      this.#failure ??= error;
    }
  }

  /** @throws {Error} when a line could not be printed */
  check(): void {
    if (this.#failure === undefined) return;
    const why = this.#failure instanceof Error ? this.#failure.message : this.#failure;
    throw new Error(`wanted to print the results, got: ${why}`);
  }
}
