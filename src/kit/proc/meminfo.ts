// pure

/** `/proc/meminfo` in bytes by name; lines without a unit, which count pages, are left out. */
export function parseMeminfo(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [, name = "", kibibytes] of text.matchAll(/^([^:\n]+):\s+(\d+) kB$/gm))
    values.set(name, Number(kibibytes) * 1024);
  return values;
}
