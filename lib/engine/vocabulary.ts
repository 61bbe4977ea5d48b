import type { Token } from "./engine.ts";
import { draw, PURPOSE, seedOf } from "./hash.ts";

/** Words that begin with a space when they are not the first. Several are more than one byte a character in UTF-8. */
const WORDS = (
  "the a and of to in is that it for on with as this are by from at be an or we can not when each one more than " +
  "stream token model server reader answer word line time first last next slow fast queue batch slot prefill " +
  "decode engine event chunk buffer socket proxy client request response header number measure count limit " +
  "signal close open send wait start stop run hold free keep give take read write never always only while " +
  "river stone light window garden winter morning music paper letter bridge island mountain forest ocean " +
  "small large quiet bright early late simple clear plain exact whole open steady gentle sudden " +
  "café naïve résumé über señor façade crème smörgås jalapeño Zürich ångström " +
  "안녕 세상 토큰 모델 바다 하늘 시간 서버 사람 아침 노래 봄날 " +
  "東京 言葉 音楽 привет мир слово γειά λόγος שלום مرحبا 🙂 🚀 🌊 👩‍🚀 ½ →"
).split(" ");

/** Pieces that join to the word before them. */
const ENDINGS = [
  ",",
  ".",
  "ing",
  "ed",
  "s",
  "ly",
  "er",
  ";",
  ":",
  "?",
  "!",
  "-",
  "é",
  "은",
  "는",
  "…",
  ".\n",
];

/** One token in this many is an ending. */
const ENDING_EVERY = 6;

/**
 * The seed of a prompt. `seed` is the server's or the request's; 0 leaves the prompt alone to decide.
 */
export function promptSeed(prompt: string, seed = 0): number {
  return seedOf(prompt, 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1));
}

/** The text of the token at `index` of the endless answer to a seed. Depends on nothing else, so any prefix is stable. */
export function tokenAt(seed: number, index: number): string {
  return stepAt(seed, index).text;
}

/** That token as an engine hands it over. The same object each time: one made anew for each would be garbage at once. */
export function stepAt(seed: number, index: number): Token {
  const value = draw(seed, PURPOSE.token, index);
  if (index === 0) return FIRST[value % FIRST.length];
  const rest = (value / ENDING_EVERY) >>> 0;
  return value % ENDING_EVERY === 0 ? JOINED[rest % JOINED.length] : SPACED[rest % SPACED.length];
}

let size = 0;
const FIRST = WORDS.map(step);
const SPACED = WORDS.map((word) => step(" " + word));
const JOINED = ENDINGS.map(step);

function step(text: string): Token {
  return Object.freeze({ text, tokens: 1, id: size++ });
}

/**
 * The first `n` tokens of the answer to `prompt`: the same on every machine, in every process, under any load; and
 * the first m of n are `generate(prompt, m)`.
 */
export function generate(prompt: string, n: number, seed = 0): string[] {
  const from = promptSeed(prompt, seed);
  return Array.from({ length: n }, (_, index) => tokenAt(from, index));
}

/**
 * How many pieces a text is worth: runs of up to six letters or digits (with the space before them), up to two of
 * wider scripts, and every other character alone. Linear in the text and free of allocation, so that a hostile
 * prompt costs no more than reading it.
 */
export function countPieces(text: string): number {
  let pieces = 0;
  let run = 0;
  let wide = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const plain = (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122) ||
      (unit >= 0xc0 && unit < 0x250);
    if (plain) {
      wide = 0;
      if (run === 0) pieces++;
      run = (run + 1) % 6;
    } else if (unit >= 0x250) {
      run = 0;
      if (wide === 0) pieces++;
      wide = (wide + 1) % 2;
    } else {
      run = wide = 0;
      // A single space belongs to the word after it.
      const next = text.charCodeAt(i + 1);
      const joins = unit === 32 && next > 32;
      if (!joins) pieces++;
    }
  }
  return pieces;
}
