import type {
  PodCertificateProjection,
  PodCertificateRequest,
} from "../../../api/generated/types.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { bytesToBase64 } from "../../../kit/base64.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { Random } from "../../../kit/random.ts";
import {
  followObjects,
  isApiError,
  type KubeClient,
  type KubeObject,
  NODES,
  POD_CERTIFICATE_REQUESTS,
  type Resource,
  SERVICE_ACCOUNTS,
} from "../../../outside/kube/kube.ts";
import {
  createStubCsr,
  isKeyType,
  type KeyPair,
  type KeyType,
  keyBelongsTo,
} from "../../../outside/x509/x509.ts";
import { type Answer, answerOf, unusable } from "./answer.ts";

/** A PodCertificateRequest to create. */
interface CertificateRequestOptions {
  readonly pod: IdentifiedPod;
  readonly source: PodCertificateProjection;
  /** Called with the request's name as soon as it is created. */
  readonly onAsked: (request: string) => void;
}

export interface SignerRequestDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
  readonly newKey: (type: KeyType) => Promise<KeyPair>;
}

/** Outcome of one request. */
export interface SignerOutcome {
  /** Namespace and name. */
  readonly request: string;
  /** Of the key that was asked about. */
  readonly privateKeyPem: string;
  /** `none`: the request was deleted. */
  readonly answer: Answer;
}

/** A request that was not seen by then counts as deleted (assumeDeletedThreshold, jitterDuration). */
const UNSEEN_MS = 600_000;
const UNSEEN_JITTER_MS = 300_000;

/**
 * Makes a new key, asks the signer for a certificate about it, and waits for the answer as long as it
 * takes. Throws `OutsideError` with what kept it from asking.
 */
export async function requestFromSigner(
  options: CertificateRequestOptions,
  deps: SignerRequestDeps,
  signal: AbortSignal,
): Promise<SignerOutcome> {
  const { keyType } = options.source;
  if (!isKeyType(keyType))
    throw new OutsideError("invalid", `while generating keypair: unknown key type "${keyType}"`);
  const names = await namesOf(options.pod, deps, signal);
  const key = await deps.newKey(keyType);
  signal.throwIfAborted();
  const { made, resource } = await create(options, { ...names, key }, deps, signal);
  const request = `${made.metadata?.namespace ?? ""}/${made.metadata?.name ?? ""}`;
  options.onAsked(request);
  const answer = await answerTo({ made, resource }, deps, signal);
  const { privateKeyPem } = key;
  if (answer.kind === "issued" && !fits(privateKeyPem, answer.chainPem)) {
    const why = "the issued certificate is invalid or for a different key";
    return { request, privateKeyPem, answer: unusable(why) };
  }
  return { request, privateKeyPem, answer };
}

interface Names {
  readonly serviceAccountUID: string;
  readonly nodeUID: string;
}

/** UIDs of the pod's account and of the node: the signer needs them to identify both. */
async function namesOf(
  pod: IdentifiedPod,
  { client, nodeName }: SignerRequestDeps,
  signal: AbortSignal,
): Promise<Names> {
  const uidOf = async (what: string, get: Promise<KubeObject>) => {
    const found = await get.catch((error: unknown) => {
      throw describedError(what, error);
    });
    return found.metadata?.uid ?? "";
  };
  const account = {
    namespace: pod.metadata.namespace,
    name: pod.spec?.serviceAccountName ?? "",
  };
  const serviceAccountUID = await uidOf(
    "while fetching service account",
    client.get(SERVICE_ACCOUNTS as Resource<KubeObject>, account, signal),
  );
  const nodeUID = await uidOf(
    "while getting node object",
    client.get(NODES as Resource<KubeObject>, { name: nodeName }, signal),
  );
  return { serviceAccountUID, nodeUID };
}

async function create(
  { pod, source }: CertificateRequestOptions,
  { key, ...uids }: Names & { readonly key: KeyPair },
  { client, nodeName }: SignerRequestDeps,
  signal: AbortSignal,
): Promise<MadeRequest> {
  const { name: podName, namespace, uid: podUID } = pod.metadata;
  const { signerName, maxExpirationSeconds, userAnnotations } = source;
  const request: PodCertificateRequest = {
    metadata: {
      namespace,
      generateName: "req-",
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid: podUID }],
    },
    spec: {
      signerName,
      podName,
      podUID,
      nodeName,
      ...uids,
      serviceAccountName: pod.spec?.serviceAccountName ?? "",
      stubPKCS10Request: bytesToBase64(createStubCsr(key)),
      ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
      ...(userAnnotations === undefined ? {} : { unverifiedUserAnnotations: userAnnotations }),
    },
  };
  let cause: unknown;
  for (const resource of POD_CERTIFICATE_REQUESTS)
    try {
      return { made: await client.create(resource, { namespace }, request, signal), resource };
    } catch (error) {
      const isUnserved = isApiError(error, 404) && error.status.details?.kind !== "namespaces";
      if (!isUnserved) throw describedError("while creating on API", error);
      cause = error;
    }
  throw new OutsideError(
    "unimplemented",
    "the API server does not serve podcertificaterequests of certificates.k8s.io in v1 or v1beta1 (feature gate PodCertificateRequest)",
    { cause },
  );
}

/** A request that was created, and the resource that it is of. */
interface MadeRequest {
  readonly made: PodCertificateRequest;
  readonly resource: Resource<PodCertificateRequest>;
}

/** An error of the outside with what was being done. */
function describedError(doing: string, error: unknown): unknown {
  if (!isOutside(error)) return error;
  return new OutsideError(error.code, `${doing}: ${error.message}`, { cause: error });
}

/** Waits for the answer by a watch of this one request. */
async function answerTo(
  { made, resource }: MadeRequest,
  deps: SignerRequestDeps,
  signal: AbortSignal,
): Promise<Answer> {
  const atOnce = answerOf(made);
  if (atOnce.kind !== "none") return atOnce;
  const { name = "", namespace = "", uid } = made.metadata ?? {};
  // Nodes may only follow requests that name them (node authorizer).
  const fieldSelector = `metadata.name=${name},spec.nodeName=${deps.nodeName}`;
  const options = { resource, namespace, fieldSelector };
  const unseen = new AbortController();
  // A list that does not have it yet may come from a cache that is behind.
  const timeoutMs = UNSEEN_MS + deps.random.next() * UNSEEN_JITTER_MS;
  const cancel = deps.clock.alarm(timeoutMs, () => unseen.abort(new Error("never seen")));
  let seen = false;
  try {
    const either = AbortSignal.any([signal, unseen.signal]);
    for await (const change of followObjects(options, deps, either)) {
      const now = change.kind === "all" ? change.objects[0] : change.object;
      if (change.kind === "gone" || (seen && !now)) return { kind: "none" };
      if (!now) continue;
      if (now.metadata?.uid !== uid) return { kind: "none" };
      seen = true;
      cancel();
      const answer = answerOf(now);
      if (answer.kind !== "none") return answer;
    }
  } catch (error) {
    if (signal.aborted || !unseen.signal.aborted) throw error;
  } finally {
    cancel();
  }
  return { kind: "none" };
}

function fits(privateKeyPem: string, chainPem: string): boolean {
  try {
    return keyBelongsTo(privateKeyPem, chainPem);
  } catch (error) {
    if (isOutside(error)) return false;
    throw error;
  }
}
