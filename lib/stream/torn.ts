/** What a body breaks with. The runtime logs it; the generation's own line tells the rest, so a line is enough. */
export function torn({ message }: Error): Error {
  return Object.assign(new Error(message), { stack: message });
}
