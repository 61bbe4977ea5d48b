/** The parts of a deno.json that this law reads. */
export interface Config {
  imports: Record<string, string>;
}

const EXACT = /^npm:\/?(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+(-[\w.]+)?\/?$/;

/**
 * Packages are pinned exactly, and two projects that name the same one name the same version: the type-check of lib
 * must see the zod that lib runs on. `@std/assert` is a link to a local package.
 *
 * @param configs the root's deno.json first, by path
 */
export function versions(configs: Record<string, Config>): string[] {
  const [[, root], ...others] = Object.entries(configs);
  const inexact = Object.entries(configs).flatMap(([path, { imports }]) =>
    Object.entries(imports).filter(([name, version]) => name !== "@std/assert" && !EXACT.test(version))
      .map(([name, version]) => `${path}: "${name}" is "${version}"; wanted an exact npm version`)
  );
  const apart = others.flatMap(([path, { imports }]) =>
    Object.entries(imports).filter(([name, version]) => (root.imports[name] ?? version) !== version)
      .map(([name, version]) => `${path}: "${name}" is "${version}"; the root has "${root.imports[name]}"`)
  );
  return [...inexact, ...apart];
}
