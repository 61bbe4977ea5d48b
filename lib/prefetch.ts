/** Something that can read what it will need before it needs it. */
export interface Prefetching {
  /**
   * Reads what its next call reads, and returns a number that depends on all of it, or the compiler would leave it out.
   *
   * The state of a thousand streams does not stay in the processor's caches from one token to the next, and each step
   * of a token waits for memory. What several streams need, read first for all of them, comes at once: group
   * prefetching (S. Chen et al., "Improving hash join performance through prefetching", 2004). One field of each cache
   * line is enough.
   */
  prefetch?(): number;
}
