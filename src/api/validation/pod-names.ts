// pure

import { type FieldProblem, invalid } from "../decode/field-problem.ts";
import type { IdentifiedPod } from "../pod-identity.ts";
import { asPodUid, POD_UID_RULE } from "../pod-identity.ts";
import { isFileName } from "../text/path-names.ts";

const NAME_RULE = "must be the name of a file: no '/', no '.' or '..' alone, at most 255 bytes";

/** `metadata.uid` as a name of folders, logs and cgroups. */
export function podUidProblems({ metadata: { uid } }: IdentifiedPod): readonly FieldProblem[] {
  return asPodUid(uid) === undefined ? [invalid("metadata.uid", uid, POD_UID_RULE)] : [];
}

/**
 * All names of a pod that become parts of paths. An API server checks more than this; a pod from elsewhere has
 * not been checked by anyone.
 */
export function podNameProblems(pod: IdentifiedPod): readonly FieldProblem[] {
  const { metadata, spec } = pod;
  const names = (path: string, of: readonly { readonly name: string }[] = []) =>
    of.map(({ name }, i) => [`${path}[${i}].name`, name] as const);
  const all = [
    ["metadata.name", metadata.name] as const,
    ["metadata.namespace", metadata.namespace] as const,
    ...names("spec.initContainers", spec?.initContainers),
    ...names("spec.containers", spec?.containers),
    ...names("spec.ephemeralContainers", spec?.ephemeralContainers),
    ...names("spec.volumes", spec?.volumes),
  ];
  return [
    ...podUidProblems(pod),
    // What is missing is another rule's matter.
    ...all.flatMap(([path, name]) =>
      name === "" || isFileName(name) ? [] : [invalid(path, name, NAME_RULE)],
    ),
  ];
}
