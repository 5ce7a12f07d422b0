// pure
/** The rules of `rooms.json`: who may import whom, which packages, which modules of Node. */
import type { Violation } from "./violation.ts";

/** The content of `tools/rooms.json`. */
export interface House {
  /** For each room below src/ the rooms it may import. */
  readonly rooms: Readonly<Record<string, readonly string[]>>;
  /** Rooms whose folders must not import one another, with what is allowed all the same. */
  readonly siblings: Readonly<Record<string, string | Readonly<Record<string, readonly string[]>>>>;
  /** Folders, as `room/*`, that are entered through the file of their own name only. */
  readonly doors: readonly string[];
  /** Further files of such a folder that may be entered, by folder, like `{ "outside/cri": ["connect-cri.ts"] }`. */
  readonly doorFiles?: Readonly<Record<string, readonly string[]>>;
  /** Folders or files below src/ that alone may import a package. */
  readonly packages: Readonly<Record<string, readonly string[]>>;
  /** Folders or files below src/ that may import `node:` modules. */
  readonly nodeModules: readonly string[];
  /** Folders or files below src/ whose file system and process calls may block the thread, by the reason. */
  readonly synchronous?: Readonly<Record<string, string | readonly string[]>>;
  /** Where work on a list is started through `kit/in-parallel.ts` only. */
  readonly boundedParallel?: readonly string[];
}

/** An import with both ends resolved; paths are relative to the checkout. */
export interface Edge {
  readonly from: string;
  readonly line: number;
  readonly specifier: string;
  /** Undefined for packages and Node's modules. */
  readonly to: string | undefined;
}

/** Files that only tests use: they may reach for any tool. */
export function isTestFile(path: string): boolean {
  return !path.startsWith("src/") || /\.(test|vectors)\.ts$|\/testdata\//.test(path);
}

/** What is wrong with one import. */
export function checkEdge(edge: Edge, house: House): Violation[] {
  if (!edge.from.startsWith("src/")) return [];
  const wrong = edge.to === undefined ? wrongPackage(edge, house) : wrongFile(edge, edge.to, house);
  return wrong.map((message) => ({ rule: "rooms", path: edge.from, line: edge.line, message }));
}

function wrongPackage({ from, specifier }: Edge, house: House): string[] {
  if (isTestFile(from)) return [];
  const place = from.slice("src/".length);
  if (specifier.startsWith("node:"))
    return isWithin(place, house.nodeModules)
      ? []
      : [`${specifier} only in ${house.nodeModules.join(", ")}`];
  const rooms = roomsOfPackage(specifier, house);
  return rooms === undefined || isWithin(place, rooms)
    ? []
    : [`${specifier} only in ${rooms.join(", ")}`];
}

/** Where a package may be imported; undefined means anywhere. */
export function roomsOfPackage(specifier: string, house: House): readonly string[] | undefined {
  return Object.entries(house.packages).find(
    ([name]) => specifier === name || specifier.startsWith(`${name}/`),
  )?.[1];
}

function wrongFile(edge: Edge, to: string, house: House): string[] {
  const { from } = edge;
  if (!to.startsWith("src/")) return isTestFile(from) ? [] : [`${to} is not part of the product`];
  const source = from.slice("src/".length);
  const target = to.slice("src/".length);
  const [sourceRoom, targetRoom] = [roomOf(source), roomOf(target)];
  const allowed = house.rooms[sourceRoom];
  if (!allowed) return [`${sourceRoom} is no room of rooms.json`];
  if (sourceRoom !== targetRoom && !allowed.includes(targetRoom))
    return [`${sourceRoom} must not import ${targetRoom} (${target})`];
  const between = sourceRoom === targetRoom ? siblingRule(source, target, house) : undefined;
  if (between === "forbidden") return [`${source} must not import its sibling ${target}`];
  if (between === "listed" || isTestFile(from)) return [];
  return passesDoor(source, target, house) ? [] : [`${target} is behind the door of its folder`];
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/** What the sibling rules say of an import within one room; undefined when they say nothing. */
function siblingRule(
  source: string,
  target: string,
  house: House,
): "listed" | "forbidden" | undefined {
  const rules = house.siblings[roomOf(source)];
  if (rules === undefined || typeof rules === "string") return undefined;
  const [from, to] = [source.split("/")[1] ?? "", target.split("/")[1] ?? ""];
  if (from === to) return undefined;
  const exceptions = rules[from];
  const rest = target.slice(roomOf(target).length + 1);
  if (exceptions?.includes(rest)) return "listed";
  if (exceptions?.includes(to)) return undefined;
  const betweenFolders = !from.endsWith(".ts") && !to.endsWith(".ts");
  return exceptions || betweenFolders ? "forbidden" : undefined;
}

/** The door of `outside/net` is `outside/net/net.ts`; whoever is inside needs none. */
function passesDoor(source: string, target: string, house: House): boolean {
  const [room, folder, ...rest] = target.split("/");
  if (rest.length === 0 || !house.doors.includes(`${room}/*`)) return true;
  if (source.startsWith(`${room}/${folder}/`)) return true;
  const doors = [`${folder}.ts`, ...(house.doorFiles?.[`${room}/${folder}`] ?? [])];
  return doors.includes(rest.join("/"));
}

/** Whether a file below src/ is one of the rooms or in one of them. */
export function isWithin(place: string, rooms: readonly string[]): boolean {
  return rooms.some((room) => place === room || place.startsWith(`${room}/`));
}
