import { stableJson } from "../../api/pod/pod-keys.ts";
import { fnv1a128Hex } from "../../api/text/fnv.ts";
import { dumpYaml } from "../../api/text/yaml.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Files } from "../../outside/host/host.ts";
import { isApiError, type Kubeconfig } from "../../outside/kube/kube.ts";
import { generateKeyPair, type KeyPair, keyPairOf } from "../../outside/x509/x509.ts";
import { requestCertificate, type SignDeps } from "./sign.ts";
import { CLIENT_STORE, clientRotation, NO_NAMES, nodeSubject } from "./signers.ts";
import { CertificateStore } from "./store.ts";

/** A node that has no certificate yet. */
export interface BootstrapOptions {
  readonly nodeName: string;
  readonly certFolder: string;
}

export interface BootstrapDeps extends SignDeps {
  readonly files: Files;
}

/** How long a person or controller may take to approve (WaitForCertificate). */
const APPROVAL_MS = 3_600_000;
const RETRY = { initialMs: 500, maxMs: 15_000 };
const MAX_BYTES = 64 * 1024;
const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o755;

/**
 * Gets a node its first certificate: makes a key, asks with the bootstrap credentials, waits for the
 * signature, and keeps the pair. Gives the path of the pair. Asked again after a restart, the same
 * request is waited for. Throws `OutsideError` "denied" when it was refused.
 */
export async function bootstrapCertificate(
  { nodeName, certFolder }: BootstrapOptions,
  deps: BootstrapDeps,
  signal: AbortSignal,
): Promise<string> {
  const { clock, log, files } = deps;
  const store = new CertificateStore(certFolder, CLIENT_STORE, deps);
  const keyPath = `${certFolder}/${CLIENT_STORE}.key.tmp`;
  const { signerName, usages } = clientRotation(nodeName);
  for (let failures = 1; ; failures += 1) {
    const key = await pendingKey(keyPath, certFolder, files);
    const subject = nodeSubject(nodeName);
    const name = `node-csr-${digestOf(key, { signerName, usages, subject })}`;
    const signing = {
      signerName,
      usages,
      subject,
      names: NO_NAMES,
      key,
      name,
      timeoutMs: APPROVAL_MS,
    };
    try {
      const certificatePem = await requestCertificate(signing, deps, signal);
      await store.update({ certificatePem, privateKeyPem: key.privateKeyPem });
      await files.remove(keyPath);
      return store.currentPath;
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      // A refused request is not taken up again; the next try comes with another key.
      if (error.code === "denied" && !isApiError(error)) await files.remove(keyPath);
      const fields = { error };
      if (failures === 1 || !error.retryable)
        log.warn("failed to obtain the node's certificate; will retry", fields);
      await clock.sleep(retryDelayMs(failures, RETRY), signal);
    }
  }
}

/** The key of a request that may be under way; only on disk until the certificate is there. */
async function pendingKey(path: string, folder: string, files: Files): Promise<KeyPair> {
  try {
    const text = await files.readText(path, { maxBytes: MAX_BYTES });
    if (text !== undefined) return keyPairOf(text);
  } catch (error) {
    if (!isOutside(error)) throw error;
  }
  const key = await generateKeyPair();
  if (!(await files.facts(folder, { follow: true })))
    await files.makeDirectory(folder, FOLDER_MODE);
  await files.writeAtomic(path, key.privateKeyPem, PRIVATE_MODE);
  return key;
}

function digestOf({ publicKey }: KeyPair, about: object): string {
  return fnv1a128Hex(`${toHex(publicKey)}${stableJson(about)}`);
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The kubeconfig of a node that has its certificate: the server of the bootstrap kubeconfig, and the pair
 * at `pairPath`. Nothing in it is secret.
 */
export function nodeKubeconfig(
  { server, serverName, insecure, authorities }: Kubeconfig,
  pairPath: string,
): string {
  const cluster = {
    server,
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(insecure ? { "insecure-skip-tls-verify": true } : {}),
    ...(authorities?.kind === "file" ? { "certificate-authority": authorities.path } : {}),
    ...(authorities?.kind === "text"
      ? { "certificate-authority-data": btoa(authorities.text) }
      : {}),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "default-cluster", cluster }],
    contexts: [
      {
        name: "default-context",
        context: { cluster: "default-cluster", namespace: "default", user: "default-auth" },
      },
    ],
    "current-context": "default-context",
    users: [
      { name: "default-auth", user: { "client-certificate": pairPath, "client-key": pairPath } },
    ],
  };
  return dumpYaml(config);
}
