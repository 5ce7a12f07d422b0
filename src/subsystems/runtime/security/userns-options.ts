// pure
import type { DeepPartial, StatusResponse } from "../../../outside/cri/cri.ts";
import {
  type Mount,
  NamespaceMode,
  type UserNamespace,
} from "../../../outside/cri/generated/api.ts";
import type { IdRange } from "./id-ranges.ts";

/** Why pods of this handler cannot have ids of their own; `undefined` when they can. */
export function usernsRefusal(
  { runtimeHandlers }: Pick<StatusResponse, "runtimeHandlers">,
  handler: string,
): string | undefined {
  const found = runtimeHandlers.find(({ name }) => name === handler);
  if (found?.features?.userNamespaces === true) return undefined;
  const who = handler === "" ? "runtime does" : `RuntimeClass handler "${handler}" does`;
  const message = `can't set \`spec.hostUsers: false\`, ${who} not support user namespaces`;
  const isUnknown = runtimeHandlers.length > 0 && !found;
  return isUnknown ? `${message}: the handler "${handler}" is not known` : message;
}

/** The pod's id mappings for CRI. */
export function usernsOptions({ first, length }: IdRange): DeepPartial<UserNamespace> {
  const ids = { hostId: first, containerId: 0, length };
  return { mode: NamespaceMode.POD, uids: [{ ...ids }], gids: [{ ...ids }] };
}

/** Mounts show files to the pod under the ids they have on the node (id-mapped mounts). */
export function idMappedMounts(
  mounts: readonly DeepPartial<Mount>[],
  namespace: DeepPartial<UserNamespace> | undefined,
): DeepPartial<Mount>[] {
  if (!namespace) return [...mounts];
  const { uids = [], gids = [] } = namespace;
  return mounts.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}
