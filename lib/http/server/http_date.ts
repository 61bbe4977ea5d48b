let madeFor = -1;
let made = "";

/** The time as a Date header has it, made once a second. */
export function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== madeFor) {
    madeFor = second;
    made = new Date(second * 1000).toUTCString();
  }
  return made;
}
