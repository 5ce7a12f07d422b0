// The packages that runtime dependencies bring along, as a table of docs/supply-chain.md.

const SECTION = /(<!-- begin brought -->\n).*(\n<!-- end brought -->)/s;
const PREFIX = "node_modules/";

/** The page with its generated table made from a package-lock.json. */
export function withBroughtPackages(page, lock) {
  const rows = broughtPackages(lock).map(
    ({ name, version, license, by }) =>
      `| \`${name}\` | ${version} | ${license} | ${by.join(", ")} |`,
  );
  const table = [
    "| package | version | licence | brought by |",
    "| --- | --- | --- | --- |",
    ...rows,
  ];
  return page.replace(SECTION, (_, begin, end) => `${begin}${table.join("\n")}${end}`);
}

/** Runtime packages of a package-lock.json that package.json does not name, by name. */
export function broughtPackages({ packages }) {
  const own = packages[""];
  const direct = new Set(Object.keys({ ...own.dependencies, ...own.optionalDependencies }));
  const runtime = Object.entries(packages)
    .filter(([path, { dev }]) => path !== "" && !dev)
    .map(([path, entry]) => ({ name: nameOf(path), ...entry }));
  return runtime
    .filter(({ name }) => !direct.has(name))
    .map(({ name, version, license }) => ({
      name,
      version,
      license,
      by: runtime
        .filter(({ dependencies = {} }) => name in dependencies)
        .map((each) => each.name)
        .toSorted(),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf(PREFIX) + PREFIX.length);
}
