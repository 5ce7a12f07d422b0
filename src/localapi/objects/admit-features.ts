import type { Node, Pod } from "../../api/generated/types.ts";
import { featuresForUpdate, missingFeatures } from "../../api/node/node-features.ts";
import type { ApiObject } from "../api-object.ts";
import { NODE_KIND, POD_KIND } from "../kinds/catalog.ts";
import { forbiddenRequest } from "../status-error.ts";
import type { ObjectsCore } from "./core.ts";
import type { ObjectRequest } from "./object-request.ts";

/**
 * Refuses the change of a pod that needs features its node does not declare, as the admission plugin
 * NodeDeclaredFeatureValidator does. Throws `StatusError` Forbidden.
 */
export function admitChange(
  core: ObjectsCore,
  { kind, subresource }: ObjectRequest,
  change: { readonly before: ApiObject; readonly now: ApiObject },
): void {
  if (kind !== POD_KIND || (subresource !== "" && subresource !== "resize")) return;
  const { spec } = change.now as unknown as Pod;
  const { name, generation } = change.now.metadata;
  const nodeName = spec?.nodeName ?? "";
  if (nodeName === "" || change.before.metadata.generation === generation) return;
  const needed = featuresForUpdate(change.before as unknown as Pod, change.now as unknown as Pod);
  if (needed.length === 0) return;
  const node = core.store.get(NODE_KIND.collection, `/${nodeName}`) as unknown as Node | undefined;
  if (!node) throw forbiddenRequest(POD_KIND, name, `node "${nodeName}" not found`);
  const missing = missingFeatures(needed, node.status?.declaredFeatures ?? []);
  if (missing === undefined) return;
  throw forbiddenRequest(
    POD_KIND,
    name,
    `pod update requires features ${missing} which are not available on node "${nodeName}"`,
  );
}
