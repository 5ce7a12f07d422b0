/**
 * Resource claims on one node, as the controllers of a cluster keep them: made from templates, free again after their last pod, gone
 * with the pod that they were made for. The scheduler allocates them. Invariant: a claim that a pod uses keeps its devices.
 */

import type { Pod, ResourceClaimTemplate } from "../../../api/generated/types.ts";
import { messageOf } from "../../../kit/errors.ts";
import { isFullyDeleted, storedAs } from "../../api-object.ts";
import type { StoredClaim } from "../../devices/claims-of-pod.ts";
import {
  type ClaimLifeStep,
  POD_CLAIM_NAME,
  planClaimLives,
} from "../../devices/plan-claim-lives.ts";
import {
  POD_KIND,
  RESOURCE_CLAIM_KIND,
  RESOURCE_CLAIM_TEMPLATE_KIND,
} from "../../kinds/catalog.ts";
import { isLatestVersion, type ObjectsCore } from "../../objects/core.ts";
import { createObject } from "../../objects/create.ts";
import { removeObject } from "../../objects/remove.ts";
import { type Controller, ownRequest } from "../controllers.ts";
import { noteEvent } from "../note-event.ts";

const EVERY_MS = 60_000;
const COMPONENT = "resource_claim";

/** See the head of this file. */
export function resourceClaimController(core: ObjectsCore): Controller {
  const { store } = core;
  return {
    name: "local API: resource claims",
    everyMs: EVERY_MS,
    plan: () => {
      // Most nodes have neither, and this runs with each change of any object.
      const kinds = [RESOURCE_CLAIM_KIND, RESOURCE_CLAIM_TEMPLATE_KIND];
      if (kinds.every(({ collection }) => store.count(collection) === 0)) return [];
      const steps = planClaimLives({
        pods: store.list(POD_KIND.collection).map(storedAs<Pod>),
        claims: store.list(RESOURCE_CLAIM_KIND.collection).map((each) => each as StoredClaim),
        templates: store
          .list(RESOURCE_CLAIM_TEMPLATE_KIND.collection)
          .map(storedAs<ResourceClaimTemplate>),
      });
      return steps.map((step) => () => perform(step, core));
    },
  };
}

function perform(step: ClaimLifeStep, core: ObjectsCore): void {
  const claims = RESOURCE_CLAIM_KIND.collection;
  switch (step.kind) {
    case "make":
      make(step, core);
      return;
    case "name":
      if (isLatestVersion(core, POD_KIND.collection, step.pod)) nameIn(step, core);
      return;
    case "release": {
      if (!isLatestVersion(core, claims, step.before)) return;
      if (isFullyDeleted(step.now)) core.store.remove(claims, step.now);
      else core.store.put(claims, step.now);
      return;
    }
    case "remove": {
      const { namespace = "", name } = step.claim.metadata;
      const kept = core.store.get(claims, `${namespace}/${name}`);
      if (kept) removeObject(core, ownRequest(RESOURCE_CLAIM_KIND, namespace, name), kept, {});
      return;
    }
    default:
      step satisfies never;
  }
}

function make(
  { pod, name, template }: Extract<ClaimLifeStep, { kind: "make" }>,
  core: ObjectsCore,
): void {
  const { namespace = "", name: podName, uid } = pod.metadata;
  const { metadata, spec } = template.spec;
  const owner = {
    apiVersion: "v1",
    kind: "Pod",
    name: podName,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const claim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      generateName: `${podName}-${name}-`,
      namespace,
      labels: { ...metadata?.labels },
      annotations: { ...metadata?.annotations, [POD_CLAIM_NAME]: name },
      ownerReferences: [owner],
    },
    spec,
  };
  try {
    createObject(core, ownRequest(RESOURCE_CLAIM_KIND, namespace, ""), claim as never);
  } catch (error) {
    const message = `PodResourceClaim ${name}: failed to create ResourceClaim: ${messageOf(error)}`;
    const text = { type: "Warning", reason: "FailedResourceClaimCreation", message } as const;
    noteEvent(core, pod, { ...text, component: COMPONENT });
    throw error;
  }
}

function nameIn(
  { pod, name, claim }: Extract<ClaimLifeStep, { kind: "name" }>,
  { store }: ObjectsCore,
): void {
  const others = pod.status?.resourceClaimStatuses ?? [];
  const resourceClaimStatuses = [...others, { name, resourceClaimName: claim.metadata.name }];
  store.put(POD_KIND.collection, { ...pod, status: { ...pod.status, resourceClaimStatuses } });
}
