/**
 * Deep equality with std's rules, which differ from node's `isDeepStrictEqual`: 0 equals -0, and an object without a
 * prototype equals a plain one. NaN equals NaN. Sets and maps are compared without their order. A missing key
 * differs from a key that holds undefined.
 *
 * @throws {TypeError} for WeakMap and WeakSet, whose content cannot be read
 */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, new Map());
}

type Seen = Map<unknown, unknown>;

function compare(a: unknown, b: unknown, seen: Seen): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (
    typeof a !== "object" || typeof b !== "object" || a === null || b === null
  ) return false;
  if (!sameConstructor(a, b)) return false;
  // A cycle: this pair is being compared further up, where a difference will be found if there is one.
  if (seen.get(a) === b) return true;
  if (a instanceof WeakMap || a instanceof WeakSet) {
    throw new TypeError("cannot compare WeakMap or WeakSet");
  }
  if (a instanceof WeakRef) {
    return compare(a.deref(), (b as WeakRef<WeakKey>).deref(), seen);
  }
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime());
  seen.set(a, b);
  if (a instanceof Set) {
    return sameMembers([...a], [...b as Set<unknown>], seen);
  }
  if (a instanceof Map) {
    return sameMembers([...a], [...b as Map<unknown, unknown>], seen);
  }
  if (a instanceof Error && a.message !== (b as Error).message) return false;
  if (a instanceof ArrayBuffer) {
    return sameKeys(new Uint8Array(a), new Uint8Array(b as ArrayBuffer), seen);
  }
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) return false;
  return sameKeys(a, b, seen);
}

function sameConstructor(a: object, b: object): boolean {
  const [left, right] = [a.constructor, b.constructor];
  return left === right || (left === Object && !right) ||
    (!left && right === Object);
}

function sameKeys(a: object, b: object, seen: Seen): boolean {
  const keys = ownKeys(a);
  if (keys.length !== ownKeys(b).length) return false;
  return keys.every((key) =>
    Object.hasOwn(b, key) &&
    compare(Reflect.get(a, key), Reflect.get(b, key), seen)
  );
}

function ownKeys(value: object): PropertyKey[] {
  return Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
}

/** Each member of `a` has a partner of its own in `b`; identical ones first, since that is cheap and usual. */
function sameMembers(a: unknown[], b: unknown[], seen: Seen): boolean {
  if (a.length !== b.length) return false;
  const rest = [...b];
  return a.every((member) => {
    let at = rest.indexOf(member);
    // A trial that fails must not leave pairs behind that a later trial would take as equal.
    if (at < 0) {
      at = rest.findIndex((other) => compare(member, other, new Map(seen)));
    }
    if (at < 0) return false;
    rest.splice(at, 1);
    return true;
  });
}
