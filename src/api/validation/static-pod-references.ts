// pure

import { forbidden } from "../decode/field-problem.ts";
import type { Pod, Volume, VolumeProjection } from "../generated/types.ts";
import { allContainers, type PlacedContainer } from "../pod/pod.ts";
import { child, eachOf, entry, FINE, type Problems } from "./fields.ts";
import { containerPath } from "./windows.ts";

const reference = (path: string, what: string): Problems => [
  forbidden(path, `static pods may not reference ${what}`),
];

/** Kinds of volumes that need the API, or may name a secret. */
function volumeReferences(volume: Volume, path: string): Problems {
  const secret = (name: string | undefined, at: string): Problems =>
    (name ?? "") === "" ? FINE : reference(child(path, at), "secrets");
  return [
    ...(volume.configMap === undefined
      ? FINE
      : reference(child(path, "configMap"), "configmaps (via configmap volumes)")),
    ...(volume.secret === undefined
      ? FINE
      : reference(child(path, "secret"), "secrets (via secret volumes)")),
    ...(volume.csi === undefined
      ? FINE
      : reference(child(path, "csi"), "csidrivers (via CSI volumes)")),
    ...(volume.glusterfs === undefined
      ? FINE
      : reference(child(path, "glusterfs"), "endpoints (via glusterFS volumes)")),
    ...(volume.persistentVolumeClaim === undefined
      ? FINE
      : reference(child(path, "persistentVolumeClaim"), "persistentvolumeclaims")),
    ...(volume.ephemeral === undefined
      ? FINE
      : reference(child(path, "ephemeral"), "persistentvolumeclaims (via ephemeral volumes)")),
    ...(volume.azureFile === undefined
      ? FINE
      : reference(child(path, "azureFile"), "secrets (via azureFile volumes)")),
    ...secret(volume.cephfs?.secretRef?.name, "cephfs.secretRef"),
    ...secret(volume.cinder?.secretRef?.name, "cinder.secretRef"),
    ...secret(volume.flexVolume?.secretRef?.name, "flexVolume.secretRef"),
    ...secret(volume.rbd?.secretRef?.name, "rbd.secretRef"),
    ...secret(volume.scaleIO?.secretRef.name, "scaleIO.secretRef"),
    ...secret(volume.iscsi?.secretRef?.name, "iscsi.secretRef"),
    ...secret(volume.storageos?.secretRef?.name, "storageos.secretRef"),
    ...eachOf(volume.projected?.sources, child(path, "projected.sources"), projectionReferences),
  ];
}

const PROJECTION_OBJECTS: readonly (readonly [keyof VolumeProjection, string])[] = [
  ["configMap", "configmaps (via projected volumes)"],
  ["secret", "secrets (via projected volumes)"],
  ["serviceAccountToken", "serviceaccounts (via projected volumes)"],
  ["clusterTrustBundle", "clustertrustbundles"],
  ["podCertificate", "podcertificates"],
];

const projectionReferences = (source: VolumeProjection, path: string): Problems =>
  PROJECTION_OBJECTS.flatMap(([name, what]) =>
    source[name] === undefined ? FINE : reference(child(path, name), what),
  );

function containerReferences(placed: PlacedContainer): Problems {
  const path = containerPath(placed);
  const { env, envFrom } = placed.container;
  return [
    ...eachOf(env, child(path, "env"), ({ valueFrom }, at) => [
      ...(valueFrom?.secretKeyRef === undefined
        ? FINE
        : reference(child(at, "valueFrom.secretKeyRef"), "secrets")),
      ...(valueFrom?.configMapKeyRef === undefined
        ? FINE
        : reference(child(at, "valueFrom.configMapKeyRef"), "configmaps")),
    ]),
    ...eachOf(envFrom, child(path, "envFrom"), ({ secretRef, configMapRef }, at) => [
      ...(secretRef === undefined ? FINE : reference(child(at, "secretRef"), "secrets")),
      ...(configMapRef === undefined ? FINE : reference(child(at, "configMapRef"), "configmaps")),
    ]),
  ];
}

/**
 * References of a static pod to objects of the API. A static pod runs without the API and with nobody
 * having checked its rights, so it may have none (CVE-2025-4563). The API server stops at the first;
 * ours names them all, with their places.
 */
export function staticPodProblems(pod: Pod): Problems {
  const spec = pod.spec;
  if (spec === undefined) return FINE;
  return [
    ...((spec.serviceAccountName ?? spec.serviceAccount ?? "") === ""
      ? FINE
      : reference("spec.serviceAccountName", "serviceaccounts")),
    ...eachOf(spec.imagePullSecrets, "spec.imagePullSecrets", ({ name = "" }, at) =>
      name === "" ? FINE : reference(at, "secrets"),
    ),
    ...allContainers(pod).flatMap(containerReferences),
    ...((spec.resourceClaims ?? []).length === 0
      ? FINE
      : reference("spec.resourceClaims", "resourceclaims")),
    ...(spec.volumes ?? []).flatMap((volume, i) =>
      volumeReferences(volume, entry("spec.volumes", i)),
    ),
  ];
}
