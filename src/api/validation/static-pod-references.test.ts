import assert from "node:assert/strict";
import { test } from "node:test";
import { decodePodDocument } from "../decode/decode.ts";
import { formatProblem } from "../decode/field-problem.ts";
import { parseYamlDocument } from "../text/yaml.ts";
import { staticPodProblems } from "./static-pod-references.ts";

function reported(spec: string): readonly string[] {
  const text = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: ${spec}}`;
  const { pods, problems } = decodePodDocument(parseYamlDocument(text).value);
  assert.deepEqual(problems.map(formatProblem), []);
  return pods.flatMap(staticPodProblems).map(formatProblem);
}

const withVolume = (source: string) =>
  reported(`{containers: [{name: c, image: i}], volumes: [{name: v, ${source}}]}`);
const refused = (path: string, what: string) =>
  `spec.${path}: Forbidden: static pods may not reference ${what}`;

test("a pod that needs nothing of the API has no problem", () => {
  assert.deepEqual(
    reported(`{
      serviceAccountName: "",
      imagePullSecrets: [{}],
      containers: [{name: c, image: i, env: [
        {name: A, value: x},
        {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}},
        {name: C, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]}],
      volumes: [
        {name: v, emptyDir: {}},
        {name: h, hostPath: {path: /}},
        {name: f, nfs: {server: s, path: /}},
        {name: o, image: {reference: r}},
        {name: r, rbd: {monitors: [m], image: i}},
        {name: d, projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}],
    }`),
    [],
  );
  assert.deepEqual(staticPodProblems({}), []);
});

test("references of the pod and of its containers", () => {
  assert.deepEqual(
    reported(`{
      serviceAccountName: a,
      imagePullSecrets: [{name: a}, {}, {name: b}],
      resourceClaims: [{name: a, resourceClaimName: b}],
      initContainers: [{name: i, image: i, envFrom: [{configMapRef: {name: a}}, {secretRef: {name: b}}]}],
      containers: [{name: c, image: i, env: [
        {name: A, valueFrom: {secretKeyRef: {name: a, key: b}}},
        {name: B, valueFrom: {configMapKeyRef: {name: a, key: b, optional: true}}}]}],
      ephemeralContainers: [{name: e, image: i, envFrom: [{secretRef: {name: b, optional: true}}]}],
    }`).toSorted(),
    [
      refused("serviceAccountName", "serviceaccounts"),
      refused("imagePullSecrets[0]", "secrets"),
      refused("imagePullSecrets[2]", "secrets"),
      refused("resourceClaims", "resourceclaims"),
      refused("initContainers[0].envFrom[0].configMapRef", "configmaps"),
      refused("initContainers[0].envFrom[1].secretRef", "secrets"),
      refused("containers[0].env[0].valueFrom.secretKeyRef", "secrets"),
      refused("containers[0].env[1].valueFrom.configMapKeyRef", "configmaps"),
      refused("ephemeralContainers[0].envFrom[0].secretRef", "secrets"),
    ].toSorted(),
  );
  assert.deepEqual(reported("{containers: [{name: c, image: i}], serviceAccount: old}"), [
    refused("serviceAccountName", "serviceaccounts"),
  ]);
});

const VOLUMES: readonly (readonly [string, string, string])[] = [
  ["configMap: {name: a, optional: true}", "configMap", "configmaps (via configmap volumes)"],
  ["secret: {secretName: a}", "secret", "secrets (via secret volumes)"],
  ["csi: {driver: d}", "csi", "csidrivers (via CSI volumes)"],
  ["glusterfs: {endpoints: e, path: p}", "glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim: {claimName: a}", "persistentVolumeClaim", "persistentvolumeclaims"],
  [
    "ephemeral: {volumeClaimTemplate: {spec: {}}}",
    "ephemeral",
    "persistentvolumeclaims (via ephemeral volumes)",
  ],
  ["azureFile: {secretName: a, shareName: b}", "azureFile", "secrets (via azureFile volumes)"],
  ["cephfs: {monitors: [m], secretRef: {name: a}}", "cephfs.secretRef", "secrets"],
  ["cinder: {volumeID: a, secretRef: {name: a}}", "cinder.secretRef", "secrets"],
  ["flexVolume: {driver: a, secretRef: {name: a}}", "flexVolume.secretRef", "secrets"],
  ["rbd: {monitors: [m], image: a, secretRef: {name: a}}", "rbd.secretRef", "secrets"],
  ["scaleIO: {gateway: a, system: b, secretRef: {name: a}}", "scaleIO.secretRef", "secrets"],
  ["iscsi: {targetPortal: a, iqn: b, lun: 0, secretRef: {name: a}}", "iscsi.secretRef", "secrets"],
  ["storageos: {secretRef: {name: a}}", "storageos.secretRef", "secrets"],
];

test("volumes that come from the API, or name a secret", () => {
  for (const [source, path, what] of VOLUMES)
    assert.deepEqual(withVolume(source), [refused(`volumes[0].${path}`, what)]);
});

const PROJECTIONS: readonly (readonly [string, string, string])[] = [
  ["configMap: {name: a}", "configMap", "configmaps (via projected volumes)"],
  ["secret: {name: a}", "secret", "secrets (via projected volumes)"],
  [
    "serviceAccountToken: {path: a}",
    "serviceAccountToken",
    "serviceaccounts (via projected volumes)",
  ],
  ["clusterTrustBundle: {name: a, path: b}", "clusterTrustBundle", "clustertrustbundles"],
  ["podCertificate: {signerName: a/b, keyType: ED25519}", "podCertificate", "podcertificates"],
];

test("sources of projected volumes", () => {
  for (const [source, path, what] of PROJECTIONS)
    assert.deepEqual(withVolume(`projected: {sources: [{${source}}]}`), [
      refused(`volumes[0].projected.sources[0].${path}`, what),
    ]);
  assert.equal(
    withVolume(`projected: {sources: [${PROJECTIONS.map(([source]) => `{${source}}`).join()}]}`)
      .length,
    PROJECTIONS.length,
  );
});
