/** What one run of measure found. Times in milliseconds. */
export interface Figures {
  /** The generator's tokens, one JSON string per line, as two processes printed them. */
  generated: [first: string, second: string];
  ttftMs: number;
  /** Inter-token latencies. */
  itl: { count: number; p50: number; p99: number; max: number };
  cancel: { requested: number; generated: number };
  tokens: number;
  /** Tokens over the time from the request to the last token. */
  tokensPerSecond: number;
}

const MAX_TTFT_MS = 3000;
export const MIN_ITL_COUNT = 19;
export const CANCEL_REQUESTED = 100;
export const CANCEL_AFTER = 5;
const MAX_GENERATED = 30;

/** The file names, in the order in which they are shown. */
export const FILE_NAMES = [
  "gen1.txt",
  "gen2.txt",
  "ttft.txt",
  "itl.txt",
  "cancel.txt",
  "report.txt",
] as const;

/** The files' contents, exactly. */
export function filesOf(figures: Figures): Record<typeof FILE_NAMES[number], string> {
  const ttft = `ttft_ms=${wholeMs(figures.ttftMs)}\n`;
  const { count, p50, p99 } = figures.itl;
  return {
    "gen1.txt": figures.generated[0],
    "gen2.txt": figures.generated[1],
    "ttft.txt": ttft,
    "itl.txt": `count=${count} p50_ms=${decimal(p50)} p99_ms=${decimal(p99)}\n`,
    "cancel.txt": `requested=${figures.cancel.requested} generated=${figures.cancel.generated}\n`,
    "report.txt": `${ttft}itl_p50_ms=${decimal(p50)}\ntokens=${figures.tokens}\n` +
      `throughput_tps=${decimal(figures.tokensPerSecond)}\n`,
  };
}

/** A p99 passes over the one gap in a hundred that a reader has noticed. In no file: those have the form of a contract. */
export function longestGap({ itl }: Figures): string {
  return `itl_max_ms=${decimal(itl.max)}`;
}

/** The bounds that these figures break, each as what was wanted and what came; none when all hold. */
export function brokenBounds({ generated, ttftMs, itl, cancel }: Figures): string[] {
  const broken: string[] = [];
  if (generated[0] !== generated[1] || generated[0] === "") {
    broken.push("gen1.txt and gen2.txt must be identical, they differ or are empty");
  }
  if (!(wholeMs(ttftMs) > 0 && wholeMs(ttftMs) < MAX_TTFT_MS)) {
    broken.push(`ttft_ms must be over 0 and under ${MAX_TTFT_MS}, it is ${wholeMs(ttftMs)}`);
  }
  if (itl.count < MIN_ITL_COUNT) {
    broken.push(`itl count must be at least ${MIN_ITL_COUNT}, it is ${itl.count}`);
  }
  if (cancel.requested !== CANCEL_REQUESTED) {
    broken.push(
      `the cancelled stream must be of ${CANCEL_REQUESTED} tokens, the server recorded ${cancel.requested}`,
    );
  }
  if (cancel.generated > MAX_GENERATED) {
    broken.push(
      `the tokens generated for the stream that was left must be at most ${MAX_GENERATED}, there were ${cancel.generated}`,
    );
  }
  return broken;
}

/** Whole milliseconds; a time under half of one is 1, since 0 would say that nothing was measured. */
function wholeMs(ms: number): number {
  return ms > 0 ? Math.max(1, Math.round(ms)) : 0;
}

function decimal(value: number): string {
  return String(Number(value.toFixed(3)));
}
