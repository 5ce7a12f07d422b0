/** Namespaces: the usual ones are there, each has what pods need, and one that is deleted is emptied first. */
import { apiVersionOf } from "../../api/text/api-version.ts";
import { type ApiObject, treeOf } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import {
  CONFIG_MAP_KIND,
  KINDS,
  NAMESPACE_KIND,
  PRIORITY_CLASS_KIND,
  SERVICE_ACCOUNT_KIND,
  STORAGE_CLASSES,
} from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { createObject } from "../objects/create.ts";
import { removeObject } from "../objects/remove.ts";
import { finalizeNamespace } from "../serve/subresources.ts";
import { LOCAL_STORAGE_CLASS } from "./claims/claims.ts";
import { type Controller, ownRequest, stepsForEach } from "./controllers.ts";

const USUAL = ["default", "kube-node-lease", "kube-public", "kube-system"];
const ROOT_CA = "kube-root-ca.crt";
const EVERY_MS = 60_000;

/** Classes that pods of the system have. */
const CLASSES = [
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
];

/** Makes what is missing in a new database. */
export function createDefaultObjects(core: ObjectsCore): void {
  for (const name of USUAL) createIfAbsent(core, NAMESPACE_KIND, "", { metadata: { name } });
  for (const { name, ...content } of CLASSES)
    createIfAbsent(core, PRIORITY_CLASS_KIND, "", { ...content, metadata: { name } });
  createIfAbsent(core, STORAGE_CLASSES, "", LOCAL_STORAGE_CLASS);
}

/** See the head of this file. `authorityPem` is what pods verify the API with. */
export function namespaceController(core: ObjectsCore, authorityPem: string): Controller {
  const { store } = core;
  return {
    name: "local API: namespaces",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(NAMESPACE_KIND.collection), (namespace) => {
        const name = namespace.metadata.name;
        if (namespace.metadata.deletionTimestamp !== undefined)
          return emptyingSteps(core, namespace, name);
        return completionSteps(core, name, authorityPem);
      }),
  };
}

function completionSteps(
  core: ObjectsCore,
  namespace: string,
  authorityPem: string,
): (() => void)[] {
  const steps: (() => void)[] = [];
  if (!core.store.get(SERVICE_ACCOUNT_KIND.collection, `${namespace}/default`))
    steps.push(() =>
      createIfAbsent(core, SERVICE_ACCOUNT_KIND, namespace, { metadata: { name: "default" } }),
    );
  const kept = core.store.get(CONFIG_MAP_KIND.collection, `${namespace}/${ROOT_CA}`);
  const data = { "ca.crt": authorityPem };
  if (!kept)
    steps.push(() =>
      createIfAbsent(core, CONFIG_MAP_KIND, namespace, { metadata: { name: ROOT_CA }, data }),
    );
  else if (treeOf(kept["data"])["ca.crt"] !== authorityPem)
    steps.push(() => void core.store.put(CONFIG_MAP_KIND.collection, { ...kept, data }));
  return steps;
}

/** Deletes what is in the namespace; once it is empty, finalizes it. */
function emptyingSteps(core: ObjectsCore, namespace: ApiObject, name: string): (() => void)[] {
  const kinds = KINDS.filter(({ namespaced, view }) => namespaced && !view);
  const left = kinds.flatMap((kind) =>
    core.store
      .list(kind.collection)
      .filter(({ metadata }) => metadata.namespace === name)
      .map((object) => ({ kind, object })),
  );
  if (left.length === 0) {
    const hasFinalizers = Array.isArray(treeOf(namespace["spec"])["finalizers"]);
    return hasFinalizers || (namespace.metadata.finalizers ?? []).length === 0
      ? [() => void finalizeNamespace(core, namespace, [])]
      : [];
  }
  return left
    .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    .map(({ kind, object }) => () => {
      const request = ownRequest(kind, name, object.metadata.name);
      removeObject(core, request, object, {});
    });
}

/** Makes an object in the API's own name, unless one of that name is there. */
export function createIfAbsent(
  core: ObjectsCore,
  kind: Kind,
  namespace: string,
  content: { readonly metadata: { readonly name: string }; readonly [field: string]: unknown },
): void {
  const { name } = content.metadata;
  if (core.store.get(kind.collection, `${namespace}/${name}`)) return;
  const object = { ...content, apiVersion: apiVersionOf(kind), kind: kind.kind };
  createObject(core, ownRequest(kind, namespace, ""), object);
}
