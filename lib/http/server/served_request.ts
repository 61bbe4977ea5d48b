/** What a request is made of. */
interface RequestParts {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  /** `used`: something was read of the stream, or it was cancelled. */
  body: { readonly stream: ReadableStream<Uint8Array>; readonly used: boolean } | undefined;
  signal: AbortSignal;
}

/**
 * A request as a handler gets it: method, URL, headers, body and signal as they came. Whatever else is asked of it a true
 * `Request` answers, which is made then. To make one takes 16 µs, most of it for a signal that follows another, and
 * garbage to match; hardly a route needs one.
 *
 * It is an instance of `Request`, but the platform's own functions take none that they have not made: give them a
 * `clone()`.
 */
class ServedRequest {
  readonly #parts: RequestParts;
  #headers: Headers | undefined;
  #whole: Request | undefined;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  get method(): string {
    return this.#parts.method;
  }

  get url(): string {
    return this.#parts.url;
  }

  get headers(): Headers {
    if (this.#whole !== undefined) return this.#whole.headers;
    if (this.#headers === undefined) {
      this.#headers = new Headers();
      // One by one: given as a list they take twice as long.
      for (const [name, value] of this.#parts.headers) this.#headers.append(name, value);
    }
    return this.#headers;
  }

  get body(): ReadableStream<Uint8Array> | null {
    return this.#whole === undefined ? this.#parts.body?.stream ?? null : this.#whole.body;
  }

  get bodyUsed(): boolean {
    return this.#whole?.bodyUsed ?? this.#parts.body?.used ?? false;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  /** The request with its body; throws a TypeError once that was read from `body`. Static, to be no member of each. */
  static whole(request: ServedRequest): Request {
    const { method, url, body, signal } = request.#parts;
    return request.#whole ??= new Request(url, {
      method,
      headers: request.headers,
      signal,
      ...(body && { body: body.stream, duplex: "half" }),
    });
  }

  /** What answers for all that the body does not matter to. */
  static bodiless(request: ServedRequest): Request {
    return request.#whole ?? new Request(request.url, { method: request.method });
  }
}

const { whole, bodiless } = ServedRequest;

for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(Request.prototype))) {
  if (Object.hasOwn(ServedRequest.prototype, name)) continue;
  const call = (request: ServedRequest, args: unknown[]) => Reflect.apply(member.value, whole(request), args);
  let answer: PropertyDescriptor & ThisType<ServedRequest>;
  if (member.get) {
    answer = {
      get() {
        return Reflect.get(bodiless(this), name);
      },
    };
  } else if (name === "clone") {
    answer = {
      value(...args: unknown[]) {
        return call(this, args);
      },
    };
  } else {
    // A body's methods reject where `clone` throws.
    answer = {
      async value(...args: unknown[]) {
        return await call(this, args);
      },
    };
  }
  Object.defineProperty(ServedRequest.prototype, name, answer);
}
Object.setPrototypeOf(ServedRequest.prototype, Request.prototype);

/** The request that `parts` make. */
export function servedRequest(parts: RequestParts): Request {
  return new ServedRequest(parts) as unknown as Request;
}
