/** The arrival of one event that carries tokens. */
export interface Arrival {
  /** When its read returned, in milliseconds. */
  at: number;
  /** Tokens in the event. */
  tokens: number;
  /** Length of its text in UTF-16 units: 0 for a token that shows nothing yet, such as half a character. */
  length: number;
}

/** What is known of one stream when it has ended. All times in milliseconds on one clock. */
export interface StreamTimes {
  /** When the request was sent. */
  sentAt: number;
  /** When it should have been sent by the plan of an open-loop load; `sentAt` when there was no plan. */
  intendedAt?: number;
  /** When the stream ended: the last event of any kind, or the cut. */
  endAt: number;
  arrivals: readonly Arrival[];
}

/** The timings of one stream, in milliseconds. `null` where the stream gave nothing to measure: never 0. */
export interface StreamTiming {
  tokens: number;
  /** Request sent to first token with text. */
  ttftMs: number | null;
  /** Request sent to last token. */
  endToEndMs: number | null;
  /** The same two from the intended start, which also count the time the request itself waited to be sent. */
  ttftFromIntendedMs: number | null;
  endToEndFromIntendedMs: number | null;
  /** Last token to the end of the stream: usage, `[DONE]`. No part of any other figure. */
  tailMs: number | null;
  /** (last token − first token) / (tokens − tokens in the first event). */
  tpotMs: number | null;
  /** Times between two arrivals of events that carry tokens. */
  gapsMs: number[];
  /** Each gap divided by the tokens in the event that ends it. */
  itlMs: number[];
}

/** Turns the arrivals of one stream into its timings. */
export function timeStream({ sentAt, intendedAt = sentAt, endAt, arrivals }: StreamTimes): StreamTiming {
  const gapsMs: number[] = [];
  const itlMs: number[] = [];
  let tokens = 0;
  let first: Arrival | undefined;
  let last: Arrival | undefined;
  let firstTextAt: number | undefined;
  for (const arrival of arrivals) {
    if (firstTextAt === undefined && arrival.length > 0) firstTextAt = arrival.at;
    if (arrival.tokens === 0) continue;
    tokens += arrival.tokens;
    first ??= arrival;
    if (last) {
      const gap = arrival.at - last.at;
      gapsMs.push(gap);
      itlMs.push(gap / arrival.tokens);
    }
    last = arrival;
  }
  const since = (start: number, end: number | undefined) => end === undefined ? null : end - start;
  const later = first ? tokens - first.tokens : 0;
  return {
    tokens,
    ttftMs: since(sentAt, firstTextAt),
    endToEndMs: since(sentAt, last?.at),
    ttftFromIntendedMs: since(intendedAt, firstTextAt),
    endToEndFromIntendedMs: since(intendedAt, last?.at),
    tailMs: last ? endAt - last.at : null,
    tpotMs: first && last && later > 0 ? (last.at - first.at) / later : null,
    gapsMs,
    itlMs,
  };
}

/** The distribution of a set of samples; the mean is left out, for it hides the one long stall. */
export interface Distribution {
  count: number;
  min: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/**
 * Sums up samples pooled from any number of streams. `null` for no samples.
 *
 * Pool the samples of all streams first: a percentile of each stream's percentile is no percentile.
 */
export function distribution(samples: Iterable<number>): Distribution | null {
  const sorted = Float64Array.from(samples).sort();
  if (sorted.length === 0) return null;
  return {
    count: sorted.length,
    min: sorted[0],
    p50: percentile(sorted, 50),
    p90: percentile(sorted, 90),
    p99: percentile(sorted, 99),
    max: sorted[sorted.length - 1],
  };
}

/**
 * Percentile by nearest rank: the smallest sample that at least `p` percent of all samples do not exceed.
 * Always one of the samples, never a value between two.
 *
 * @param sorted samples in ascending order, at least one
 * @param p over 0 and at most 100
 * @throws {RangeError} for no samples or a `p` out of range
 */
export function percentile(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) throw new RangeError("percentile needs at least one sample, got none");
  if (!(p > 0 && p <= 100)) throw new RangeError(`percentile must be over 0 and at most 100, got ${p}`);
  // p × n first: 99.9 / 100 × 1000 is 999.0000000000001, one rank too far.
  return sorted[Math.ceil(p * sorted.length / 100) - 1];
}

/**
 * Spreads `total` tokens evenly over the arrivals, for a server that packs several tokens into an event and says
 * only their sum at the end. Each arrival gets at least one where there are
 * as many, and the remainder is spread as well.
 */
export function spreadTokens(arrivals: readonly Arrival[], total: number): Arrival[] {
  const share = total / arrivals.length;
  return arrivals.map((arrival, i) => ({
    ...arrival,
    tokens: Math.floor((i + 1) * share + 1e-9) - Math.floor(i * share + 1e-9),
  }));
}
