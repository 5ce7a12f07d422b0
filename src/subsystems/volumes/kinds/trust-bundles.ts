/** Trust bundles of the cluster as files of projected volumes (KEP-3257). */
import type { ClusterTrustBundleProjection } from "../../../api/generated/types.ts";
import { labelRequirements, matchesLabels } from "../../../api/text/labels.ts";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import type { ObjectSource, Resource } from "../../../outside/kube/kube.ts";
import { getObject, type KindDeps } from "../kind.ts";

/** As much of a ClusterTrustBundle as pods are shown. */
export interface TrustBundle {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

/** In all versions that API servers serve, the newest first; the fields that pods are shown are the same. */
const TRUST_BUNDLES: readonly Resource<TrustBundle>[] = ["v1", "v1beta1", "v1alpha1"].map(
  (version) => ({
    group: "certificates.k8s.io",
    version,
    kind: "ClusterTrustBundle",
    plural: "clustertrustbundles",
    namespaced: false,
  }),
);

/** The bundles that are meant, by name or by signer and labels, or why there are none. Throws `OutsideError`. */
export async function trustBundles(
  { name, signerName, labelSelector }: ClusterTrustBundleProjection,
  deps: Pick<KindDeps, "objects">,
  signal: AbortSignal,
): Promise<readonly TrustBundle[] | string> {
  if (name !== undefined) {
    // Where a version is not served there is no bundle of the name in it either.
    for (const resource of TRUST_BUNDLES) {
      const bundle = await getObject(deps, resource, { namespace: "", name }, signal);
      if (bundle) return [bundle];
    }
    return `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`;
  }
  if (!deps.objects)
    throw new OutsideError("precondition", "couldn't get trust bundles: there is no API server");
  // No selector means nothing, an empty one everything.
  const requirements = labelRequirements(labelSelector);
  if (requirements.kind === "fault") return requirements.message;
  const { selector } = requirements;
  const all = await listServed(deps.objects, signal);
  const found = all.filter(
    ({ metadata, spec }) =>
      spec?.signerName === signerName &&
      selector !== undefined &&
      matchesLabels(selector, metadata?.labels),
  );
  return found.length > 0
    ? found
    : "combination of signerName and labelSelector matched zero ClusterTrustBundles";
}

/** All bundles in the first version that the API server serves. */
async function listServed(
  objects: ObjectSource,
  signal: AbortSignal,
): Promise<readonly TrustBundle[]> {
  let unserved: unknown;
  for (const resource of TRUST_BUNDLES)
    try {
      return await objects.list(resource, signal);
    } catch (error) {
      if (!isOutside(error, "notFound")) throw error;
      unserved = error;
    }
  throw unserved;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;
const LINE = /.{1,64}/g;

/** The certificates of the bundles, each once, in an order that says nothing. */
export function anchorsOf(bundles: readonly TrustBundle[]): string {
  const found = bundles.flatMap(({ spec }) =>
    [...(spec?.trustBundle ?? "").matchAll(CERTIFICATE)].map(([, body = ""]) =>
      body.replace(/\s/g, ""),
    ),
  );
  return [...new Set(found)]
    .sort()
    .map((body) => {
      const lines = body.match(LINE) ?? [];
      return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
    })
    .join("");
}
