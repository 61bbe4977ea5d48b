import { z } from "zod";
import { Quantiles } from "./samples.ts";

const common = {
  port: z.number().int().positive(),
  /** The server's process, whose CPU and memory are read; absent: not read. */
  pid: z.number().int().positive().optional(),
  prompt: z.string().default("hello"),
  transport: z.enum(["auto", "epoll", "sockets"]).default("auto"),
};

export const PacedJob = z.object({
  ...common,
  kind: z.literal("paced"),
  streams: z.number().int().positive().default(1000),
  /** Time between tokens of a stream, ms. */
  itlMs: z.number().positive().default(20),
  /** Length of the measured window, s. */
  seconds: z.number().positive().default(10),
  /** The starts of the streams are spread evenly over this time, ms, so that they do not tick together. */
  spreadMs: z.number().nonnegative().default(1000),
  /** Rest between the last start and the window, ms. */
  settleMs: z.number().nonnegative().default(2000),
});

export const UnpacedJob = z.object({
  ...common,
  kind: z.literal("unpaced"),
  readers: z.number().int().positive().default(32),
  /** Tokens of each stream. */
  tokens: z.number().int().positive().default(500),
  seconds: z.number().positive().default(4),
  /** Time under the same load before the window, ms. */
  settleMs: z.number().nonnegative().default(1000),
  /** Rest between two requests to /health, ms. */
  healthEveryMs: z.number().positive().default(10),
});

export const Job = z.discriminatedUnion("kind", [PacedJob, UnpacedJob]);

export type PacedJob = z.infer<typeof PacedJob>;
export type UnpacedJob = z.infer<typeof UnpacedJob>;
export type Job = z.infer<typeof Job>;

const measured = {
  transport: z.string(),
  seconds: z.number(),
  /** Token events that arrived in the window. */
  tokens: z.number(),
  tokensPerSecond: z.number(),
  bodyBytesPerToken: z.number(),
  ttftMs: Quantiles.nullable(),
  /** Streams that ended with [DONE] and exactly the tokens asked for. */
  complete: z.number(),
  /** Streams that ended otherwise. */
  incomplete: z.number(),
  /** Streams that had not ended when their time was over: the server fell behind its pace. */
  unfinished: z.number(),
  errors: z.array(z.string()),
  /** CPU of the whole server process per token in the window, µs. Null without /proc or a pid. */
  serverCpuUsPerToken: z.number().nullable(),
  /** Shares of one core. */
  serverCpuShare: z.number().nullable(),
  generatorCpuShare: z.number(),
  /** What other processes of this machine used meanwhile: the more, the less the figures mean. */
  otherCpuShare: z.number().nullable(),
};

export const PacedResult = z.object({
  ...measured,
  kind: z.literal("paced"),
  streams: z.number(),
  /** Of the tokens due in the window, the share that arrived. */
  rateShare: z.number(),
  gapMs: Quantiles.nullable(),
  /** (Resident memory with all streams open − before) / streams, KiB. */
  residentKibPerStream: z.number().nullable(),
});

export const UnpacedResult = z.object({
  ...measured,
  kind: z.literal("unpaced"),
  readers: z.number(),
  healthMs: Quantiles.nullable(),
});

export const Result = z.discriminatedUnion("kind", [PacedResult, UnpacedResult]);

export type PacedResult = z.infer<typeof PacedResult>;
export type UnpacedResult = z.infer<typeof UnpacedResult>;
export type Result = z.infer<typeof Result>;
