import { Refusal } from "./own_answer.ts";

const HOST = /^[\w.~!$&'()*+,;=:%[\]-]*$/;

/**
 * What a URL would make another path of. A server in front may have let the path pass as it stood: with a rule for
 * `/_debug` it knows nothing of `/x/../_debug`, nor of backslashes.
 */
const REWRITTEN_PATH = /^[^?]*?(\\|\/(\.|%2e){1,2}([/?]|$))/i;

/**
 * The URL a request asks for.
 *
 * @param host its Host header, "" without one
 * @throws {Refusal} where there is none, or servers could read it in two ways
 */
export function requestUrl(method: string, target: string, host: string): string {
  if (!HOST.test(host)) throw new Refusal(400, "wanted a host name in the Host header");
  if (target.includes("#")) throw new Refusal(400, "wanted a target without a fragment (#)");
  const absolute = /^https?:\/\/[^/?]/i.test(target);
  if (!absolute && target[0] !== "/" && !(target === "*" && method === "OPTIONS")) {
    throw new Refusal(400, "wanted a target that begins with a slash or http://");
  }
  if (REWRITTEN_PATH.test(target)) {
    throw new Refusal(400, "wanted a path without backslashes and dot segments");
  }
  // As all do who take them at all: what is typed into curl comes as it stands.
  const ascii = target.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  const url = URL.parse(absolute ? ascii : `http://${host || "localhost"}${target === "*" ? "/" : ascii}`);
  if (url === null || url.username !== "" || url.password !== "") {
    throw new Refusal(400, "wanted a host and a target that make a URL");
  }
  return url.href;
}
