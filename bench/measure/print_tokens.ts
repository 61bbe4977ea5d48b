import { generate } from "../../lib/engine/vocabulary.ts";

// Run by measure in a process of its own: prints the tokens of PROMPT, N as one JSON string per line, since a token
// may hold a line feed itself.
const [prompt, n] = Deno.args;
console.log(generate(prompt, Number(n)).map((token) => JSON.stringify(token)).join("\n"));
