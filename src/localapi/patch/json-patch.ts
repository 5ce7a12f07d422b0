// pure

import { isSame } from "../../api/decode/strategic-diff.ts";
import { isTree, setOwn } from "../../kit/json.ts";

/** A patch that does not fit its object; the message says where. */
export class PatchFault extends Error {}

/** Most operations of one patch (the API's own bound). */
const MAX_OPERATIONS = 10_000;

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[] | undefined;
  readonly value: unknown;
  readonly hasValue: boolean;
}

/** The value after a JSON patch (RFC 6902). Throws `PatchFault`. */
export function applyJsonPatch(value: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new PatchFault("a JSON patch is a list of operations");
  if (patch.length > MAX_OPERATIONS)
    throw new PatchFault(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  let result = value;
  for (const step of patch) result = applyOperation(result, readOperation(step));
  return result;
}

function readOperation(step: unknown): Operation {
  if (!isTree(step)) throw new PatchFault("an operation of a JSON patch is an object");
  const { op, path, from, value } = step;
  if (typeof op !== "string") throw new PatchFault("an operation of a JSON patch has no op");
  if (typeof path !== "string") throw new PatchFault(`operation ${op} has no path`);
  if (from !== undefined && typeof from !== "string")
    throw new PatchFault(`operation ${op} has a from that is not a path`);
  return {
    op,
    path: readPointer(path),
    from: from === undefined ? undefined : readPointer(from),
    value,
    hasValue: Object.hasOwn(step, "value"),
  };
}

function readPointer(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.startsWith("/")) throw new PatchFault(`path ${text} does not begin with a slash`);
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function applyOperation(root: unknown, operation: Operation): unknown {
  const { op, path, from, value, hasValue } = operation;
  const needed = () => {
    if (!hasValue) throw new PatchFault(`operation ${op} of /${path.join("/")} has no value`);
    return value;
  };
  const source = () => {
    if (from === undefined) throw new PatchFault(`operation ${op} has no from`);
    return from;
  };
  switch (op) {
    case "add":
      return change(root, path, { kind: "add", value: needed() });
    case "replace":
      return change(root, path, { kind: "replace", value: needed() });
    case "remove":
      return change(root, path, { kind: "remove" });
    case "test":
      if (!isSame(find(root, path), needed()))
        throw new PatchFault(`testing value /${path.join("/")} failed`);
      return root;
    case "copy":
      return change(root, path, { kind: "add", value: find(root, source()) });
    case "move": {
      const moved = find(root, source());
      return change(change(root, source(), { kind: "remove" }), path, {
        kind: "add",
        value: moved,
      });
    }
    default:
      throw new PatchFault(`Unexpected kind: ${op}`);
  }
}

function missing(path: readonly string[]): PatchFault {
  return new PatchFault(`nonexistent path: /${path.join("/")}`);
}

function find(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of path) {
    if (Array.isArray(value)) value = value[indexIn(value.length - 1, key, path)];
    else if (isTree(value) && Object.hasOwn(value, key)) value = value[key];
    else throw missing(path);
  }
  return value;
}

type Change =
  | { readonly kind: "add" | "replace"; readonly value: unknown }
  | { readonly kind: "remove" };

/** Replaces what lies on the way to the changed place; the rest is shared. */
function change(at: unknown, path: readonly string[], what: Change, whole = path): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    if (what.kind === "remove") throw new PatchFault("the whole object cannot be removed");
    return what.value;
  }
  const last = rest.length === 0;
  if (Array.isArray(at)) return changeList(at, key, { rest, what, whole });
  if (!isTree(at)) throw missing(whole);
  const there = Object.hasOwn(at, key);
  if (!there && !(last && what.kind === "add")) throw missing(whole);
  const result: Record<string, unknown> = { ...at };
  if (last && what.kind === "remove") delete result[key];
  else setOwn(result, key, change(at[key], rest, what, whole));
  return result;
}

function changeList(
  list: readonly unknown[],
  key: string,
  { rest, what, whole }: { rest: readonly string[]; what: Change; whole: readonly string[] },
): unknown {
  const result = [...list];
  if (rest.length > 0 || what.kind === "replace") {
    const index = indexIn(list.length - 1, key, whole);
    result[index] = change(list[index], rest, what, whole);
  } else if (what.kind === "remove") result.splice(indexIn(list.length - 1, key, whole), 1);
  else {
    const index = key === "-" ? list.length : indexIn(list.length, key, whole);
    result.splice(index, 0, what.value);
  }
  return result;
}

function indexIn(highest: number, key: string, path: readonly string[]): number {
  const index = Number(key);
  if (!/^(0|[1-9][0-9]{0,8})$/.test(key) || index > highest)
    throw new PatchFault(`invalid index ${key} in /${path.join("/")}`);
  return index;
}
