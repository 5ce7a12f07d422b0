// pure

import { invalid, required, unsupported } from "../../decode/field-problem.ts";
import type { DownwardAPIVolumeFile, KeyToPath } from "../../generated/types.ts";
import { FILE_FIELDS, fieldSelectorProblems, resourceSelectorProblems } from "../env.ts";
import { child, eachOf, FINE, fileMode, type Problems, unreservedPath } from "../fields.ts";

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"] as const;

/** When an image is pulled. */
export function pullPolicyProblems(policy: string | undefined, path: string): Problems {
  if (policy === undefined || policy === "") return [required(path)];
  return (PULL_POLICIES as readonly string[]).includes(policy)
    ? FINE
    : [unsupported(path, policy, PULL_POLICIES)];
}

/** Which keys of a config map or secret become which files. */
export const keyToPathProblems = (
  items: readonly KeyToPath[] | undefined,
  path: string,
): Problems =>
  eachOf(items, path, ({ key, path: target, mode }, at) => [
    ...(key === "" ? [required(child(at, "key"))] : []),
    ...(target === "" ? [required(child(at, "path"))] : []),
    ...unreservedPath(child(at, "path"), target),
    ...fileMode(child(at, "mode"), mode),
  ]);

/** A file with what a field of the pod or a resource of a container says. */
export function downwardFileProblems(file: DownwardAPIVolumeFile, path: string): Problems {
  const { fieldRef, resourceFieldRef, path: target, mode } = file;
  const both = fieldRef !== undefined && resourceFieldRef !== undefined;
  return [
    ...(target === "" ? [required(child(path, "path"))] : []),
    ...unreservedPath(child(path, "path"), target),
    ...(fieldRef === undefined
      ? FINE
      : fieldSelectorProblems(fieldRef, child(path, "fieldRef"), FILE_FIELDS)),
    ...(both
      ? [
          invalid(
            path,
            "resource",
            "fieldRef and resourceFieldRef can not be specified simultaneously",
          ),
        ]
      : resourceFieldRef === undefined
        ? FINE
        : resourceSelectorProblems(resourceFieldRef, child(path, "resourceFieldRef"), true)),
    ...(fieldRef === undefined && resourceFieldRef === undefined
      ? [required(path, "one of fieldRef and resourceFieldRef is required")]
      : []),
    ...fileMode(child(path, "mode"), mode),
  ];
}
