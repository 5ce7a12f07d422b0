/** Rights that nodes get in a cluster that `up` makes: routes to each other's pods, and to take themselves out of it. */
import type * as kube from "../../outside/kube/kube.ts";
import { connectApi } from "../api-access.ts";
import { KUBEADM_FILES } from "./places.ts";

const NAME = "nodelet:node";
const GROUP = "rbac.authorization.k8s.io";
const ROLES: kube.Resource<object> = {
  group: GROUP,
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
const BINDINGS: kube.Resource<object> = {
  group: GROUP,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

/** A node can delete only itself: the admission plugin NodeRestriction sees to that. */
const ROLE = {
  apiVersion: `${GROUP}/v1`,
  kind: ROLES.kind,
  metadata: { name: NAME },
  rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch", "delete"] }],
};
const BINDING = {
  apiVersion: `${GROUP}/v1`,
  kind: BINDINGS.kind,
  metadata: { name: NAME },
  roleRef: { apiGroup: GROUP, kind: ROLES.kind, name: NAME },
  subjects: [{ apiGroup: GROUP, kind: "Group", name: "system:nodes" }],
};

/** Grants them, as often as it is called. */
export async function grantNodeRights(signal: AbortSignal): Promise<void> {
  const api = await connectApi(KUBEADM_FILES.adminKubeconfig, "kubeadm writes it");
  try {
    for (const [resource, body] of [[ROLES, ROLE] as const, [BINDINGS, BINDING] as const])
      await api.client.patch(
        resource,
        { name: NAME },
        { kind: "apply", body, fieldManager: "nodelet", force: true },
        signal,
      );
  } finally {
    api.close();
  }
}
