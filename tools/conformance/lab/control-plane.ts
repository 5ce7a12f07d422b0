/** A stock control plane on a machine of a lab: what `startApiServer` starts, controller manager and scheduler. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "../../../test/box/box.ts";
import { type ApiServer, type Identity, startApiServer } from "../../../test/kube/apiserver.ts";
import { Authority } from "../../../test/kube/pki.ts";

/** Addresses of pods in the whole cluster; a node has a part of them. */
export const POD_RANGE = "10.244.0.0/16";
/** How long a step of the start may take, on a machine that does much else at the same time. */
export const START_LIMIT_MS = 300_000;
const SERVICE_RANGE = "10.96.0.0/16";
const FRONT_PROXY = "front-proxy-client";

/** Starts it in the box; it ends with the box. */
export async function startControlPlane(
  box: Box,
  program: (name: string) => string,
): Promise<ApiServer> {
  const aggregation = await aggregationFlags(box);
  const server = await startApiServer({
    box,
    serviceAccounts: true,
    startTimeoutMs: START_LIMIT_MS,
    // Of flags that are given twice the later count.
    flags: [
      ...aggregation,
      `--advertise-address=${box.nodeAddress}`,
      "--endpoint-reconciler-type=lease",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      "--api-audiences=https://kubernetes.default.svc.cluster.local",
    ],
  });
  const authority = identityFiles(server.folder, "signer", server.authority);
  await startClient(server, box, [
    program("kube-controller-manager"),
    "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
    "--use-service-account-credentials",
    `--root-ca-file=${server.caFile}`,
    `--service-account-private-key-file=${join(server.folder, "service-accounts.key")}`,
    `--cluster-signing-cert-file=${authority.certificate}`,
    `--cluster-signing-key-file=${authority.key}`,
    "--allocate-node-cidrs",
    `--cluster-cidr=${POD_RANGE}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
  ]);
  await startClient(server, box, [program("kube-scheduler")]);
  return server;
}

/** Starts a program of the control plane with its own account and log. */
async function startClient(
  server: ApiServer,
  box: Box,
  [program = "", ...flags]: readonly string[],
): Promise<void> {
  const name = program.replace(/^.*\//, "");
  const kubeconfig = await server.kubeconfigFor({ name: `system:${name}` });
  box.spawnLogged(`control-plane-${name}`, [
    program,
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    "--leader-elect=false",
    "--v=2",
    ...flags,
  ]);
}

/** By which API servers behind this one know who asks; with an authority of its own, as it must be. */
async function aggregationFlags(box: Box): Promise<readonly string[]> {
  const authority = await Authority.create("front-proxy-ca");
  const { certificate } = identityFiles(box.folder, "front-proxy-ca", authority);
  const client = identityFiles(
    box.folder,
    FRONT_PROXY,
    await authority.client({ name: FRONT_PROXY }),
  );
  return [
    `--requestheader-client-ca-file=${certificate}`,
    `--requestheader-allowed-names=${FRONT_PROXY}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${client.certificate}`,
    `--proxy-client-key-file=${client.key}`,
  ];
}

/** Writes both to files of the folder and gives their paths. */
function identityFiles(folder: string, name: string, identity: Identity) {
  const paths = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  writeFileSync(paths.certificate, identity.certificatePem);
  writeFileSync(paths.key, identity.privateKeyPem, { mode: 0o600 });
  return paths;
}
