import { invalid } from "../../api/decode/field-problem.ts";
import type { Pod, PodCertificateRequest } from "../../api/generated/types.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { parseCsrDer } from "../../outside/x509/x509.ts";
import type { ApiObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { NODE_KIND, POD_KIND, SERVICE_ACCOUNT_KIND } from "../kinds/catalog.ts";
import { forbiddenRequest, invalidObject } from "../status-error.ts";
import type { ObjectsCore } from "./core.ts";
import type { ObjectRequest } from "./object-request.ts";

/**
 * Checks that the client holds the key, and that pod, service account and node exist and belong together
 * (NodeRestriction). Throws `StatusError`.
 */
export function admitPodCertificate(
  core: ObjectsCore,
  request: ObjectRequest,
  object: ApiObject,
): void {
  const { kind, namespace } = request;
  const name = object.metadata.name;
  const { spec } = object as unknown as PodCertificateRequest;
  const fault = csrFault(spec.stubPKCS10Request);
  if (fault !== undefined)
    throw invalidObject(kind, name, [invalid("spec.stubPKCS10Request", "", fault)]);
  const find = (of: Kind, place: string, uid: string) => {
    const found = core.store.get(of.collection, place);
    if (!found) throw forbiddenRequest(kind, name, `${of.plural} "${place}" not found`);
    if (found.metadata.uid !== uid)
      throw forbiddenRequest(
        kind,
        name,
        `${of.plural} "${place}" does not have the UID that the request names`,
      );
    return found;
  };
  const pod = find(POD_KIND, `${namespace}/${spec.podName}`, spec.podUID) as unknown as Pod;
  find(SERVICE_ACCOUNT_KIND, `${namespace}/${spec.serviceAccountName}`, spec.serviceAccountUID);
  find(NODE_KIND, `/${spec.nodeName}`, spec.nodeUID);
  const { nodeName, serviceAccountName } = pod.spec ?? {};
  if (nodeName !== spec.nodeName || serviceAccountName !== spec.serviceAccountName)
    throw forbiddenRequest(
      kind,
      name,
      `pod "${spec.podName}" belongs to another node or service account`,
    );
  if (isNode(request) && !mountsCertificate(pod, spec.signerName))
    throw forbiddenRequest(
      kind,
      name,
      `pod "${namespace}/${spec.podName}" does not mount a podCertificate projected volume for signer "${spec.signerName}"`,
    );
}

function isNode({ user: { groups } }: ObjectRequest): boolean {
  return groups.includes("system:nodes") && !groups.includes("system:masters");
}

function mountsCertificate({ spec }: Pod, signerName: string): boolean {
  return (spec?.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(({ podCertificate }) => podCertificate?.signerName === signerName),
  );
}

function csrFault(base64: string): string | undefined {
  try {
    const bytes = Buffer.from(base64, "base64");
    return parseCsrDer(bytes).signatureIsValid ? undefined : "could not verify the signature";
  } catch (error) {
    if (isOutside(error)) return messageOf(error);
    throw error;
  }
}
