import type {
  ClusterTrustBundleProjection,
  PodCertificateProjection,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import { isOutside, messageOf, OutsideError } from "../../../kit/errors.ts";
import { allValues, inParallel } from "../../../kit/in-parallel.ts";
import { CONFIG_MAPS, SECRETS } from "../../../outside/kube/kube.ts";
import {
  type Followed,
  type KindDeps,
  namespaceOf,
  type VolumeKind,
  type VolumeRequest,
} from "../kind.ts";
import { setUpPayload } from "../payload-volume.ts";
import {
  DEFAULT_FILE_MODE,
  downwardFiles,
  mergePayloads,
  onlyUser,
  type Payload,
  type VolumeFile,
} from "../payloads.ts";
import { configMapPayload, secretPayload } from "./object-files.ts";
import { anchorsOf, trustBundles } from "./trust-bundles.ts";

const PLUGIN = VOLUME_SOURCES.projected.folder;
/** Sources of one volume that are asked side by side. */
const SOURCES_AT_ONCE = 8;

/** Mode of tokens whose reader is known: no other user may read them. */
const PRIVATE_MODE = 0o600;

const DEFAULT_TOKEN_SECONDS = 3600;

/** Several sources in one folder, tokens of the pod's service account among them. */
export const projectedKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: (request, deps, signal) =>
    setUpPayload(request, deps, {
      plugin: PLUGIN,
      medium: "memory",
      payload: () => collect(request, deps, signal),
    }),
  keeps: ({ pod, volume }, { certificates }, onChange) =>
    sourcesOf(volume).flatMap(({ podCertificate }, index) =>
      podCertificate && certificates
        ? [certificates.keep({ pod, volume: volume.name, index }, podCertificate, onChange)]
        : [],
    ),
  follows: (request) => sourcesOf(request.volume).flatMap((source) => followedBy(source, request)),
  showsPod: (volume) => sourcesOf(volume).some(({ downwardAPI }) => downwardAPI !== undefined),
  ages: (volume) =>
    sourcesOf(volume).some(
      ({ serviceAccountToken, clusterTrustBundle }) =>
        serviceAccountToken !== undefined || clusterTrustBundle !== undefined,
    ),
};

function sourcesOf({ projected }: VolumeRequest["volume"]): readonly VolumeProjection[] {
  return projected?.sources ?? [];
}

function followedBy(source: VolumeProjection, { pod }: VolumeRequest): readonly Followed[] {
  const namespace = namespaceOf(pod);
  const { secret, configMap } = source;
  return [
    ...(secret ? [{ resource: SECRETS, namespace, name: secret.name ?? "" }] : []),
    ...(configMap ? [{ resource: CONFIG_MAPS, namespace, name: configMap.name ?? "" }] : []),
  ];
}

async function collect(
  request: VolumeRequest,
  deps: KindDeps,
  signal: AbortSignal,
): Promise<Payload> {
  const sources = [...sourcesOf(request.volume).entries()];
  const parts = await inParallel(sources, SOURCES_AT_ONCE, ([index, source]) =>
    source.podCertificate
      ? certificatePart(source.podCertificate, index, { ...request, ...deps }, signal)
      : partOf(source, request, deps, signal),
  );
  return mergePayloads(allValues(parts));
}

async function partOf(
  { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle }: VolumeProjection,
  request: VolumeRequest,
  deps: KindDeps,
  signal: AbortSignal,
): Promise<Payload> {
  const { pod } = request;
  const defaultMode = request.volume.projected?.defaultMode ?? DEFAULT_FILE_MODE;
  const keysOf = ({ items, optional }: NonNullable<VolumeProjection["secret"]>) => ({
    items,
    defaultMode,
    optional: optional === true,
  });
  if (secret) {
    const keys = keysOf(secret);
    return secretPayload({ pod, name: secret.name ?? "", keys, deps, signal });
  }
  if (configMap) {
    const keys = keysOf(configMap);
    return configMapPayload({ pod, name: configMap.name ?? "", keys, deps, signal });
  }
  if (downwardAPI) {
    const { allocatable } = deps;
    return downwardFiles(pod, downwardAPI.items, { defaultMode, allocatable });
  }
  if (serviceAccountToken) return tokenPart(serviceAccountToken, request, deps, signal);
  if (clusterTrustBundle) return bundlePart(clusterTrustBundle, request, deps, signal);
  return { kind: "fault", message: "this source of a projected volume is not supported" };
}

async function tokenPart(
  { audience = "", expirationSeconds, path }: ServiceAccountTokenProjection,
  { pod, volume }: VolumeRequest,
  { tokens }: KindDeps,
  signal: AbortSignal,
): Promise<Payload> {
  const { name, namespace, uid } = pod.metadata;
  if (!tokens) {
    const message = "cannot use TokenManager when kubelet is in standalone mode";
    return { kind: "fault", message: `failed to fetch token: ${message}` };
  }
  const rights = privateRights(pod, volume);
  try {
    const { token } = await tokens.token(
      {
        namespace,
        serviceAccount: pod.spec?.serviceAccountName ?? "",
        audiences: audience === "" ? [] : [audience],
        expirationSeconds: expirationSeconds ?? DEFAULT_TOKEN_SECONDS,
        pod: { name, uid },
      },
      signal,
    );
    const content = new TextEncoder().encode(token);
    return { kind: "files", files: [{ path, content, ...rights }] };
  } catch (error) {
    signal.throwIfAborted();
    const message = `failed to fetch token: ${messageOf(error)}`;
    if (isOutside(error)) throw new OutsideError(error.code, message, { cause: error });
    return { kind: "fault", message };
  }
}

/** Rights of what only the pod's own user may read, where that is known. */
function privateRights(
  pod: VolumeRequest["pod"],
  volume: VolumeRequest["volume"],
): Pick<VolumeFile, "mode" | "ownerUid"> {
  const user = onlyUser(pod);
  const readerKnown = user !== undefined || pod.spec?.securityContext?.fsGroup !== undefined;
  const mode = readerKnown ? PRIVATE_MODE : (volume.projected?.defaultMode ?? DEFAULT_FILE_MODE);
  return { mode, ...(user === undefined ? {} : { ownerUid: user }) };
}

async function certificatePart(
  projection: PodCertificateProjection,
  index: number,
  { pod, volume, certificates }: VolumeRequest & KindDeps,
  signal: AbortSignal,
): Promise<Payload> {
  if (!certificates)
    return { kind: "fault", message: "no certificate for the pod: there is no API server" };
  const place = { pod, volume: volume.name, index };
  const found = await certificates.credentials(place, signal);
  if (typeof found === "string") return { kind: "fault", message: found };
  const { privateKeyPem, chainPem } = found;
  const { credentialBundlePath, keyPath, certificateChainPath } = projection;
  const rights = privateRights(pod, volume);
  const file = (path: string | undefined, text: string): readonly VolumeFile[] =>
    (path ?? "") === ""
      ? []
      : [{ path: path ?? "", content: new TextEncoder().encode(text), ...rights }];
  const files = [
    ...file(credentialBundlePath, privateKeyPem + chainPem),
    ...file(keyPath, privateKeyPem),
    ...file(certificateChainPath, chainPem),
  ];
  return { kind: "files", files };
}

async function bundlePart(
  projection: ClusterTrustBundleProjection,
  { volume }: VolumeRequest,
  deps: KindDeps,
  signal: AbortSignal,
): Promise<Payload> {
  const { optional, path } = projection;
  const bundles = await trustBundles(projection, deps, signal);
  if (typeof bundles === "string" && optional !== true) return { kind: "fault", message: bundles };
  const text = typeof bundles === "string" ? "" : anchorsOf(bundles);
  const content = new TextEncoder().encode(text);
  const mode = volume.projected?.defaultMode ?? DEFAULT_FILE_MODE;
  return { kind: "files", files: [{ path, content, mode }] };
}
