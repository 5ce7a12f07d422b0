/** Keys and certificates of the API: made once, kept in its folder, certificates renewed in time. */
import { base64ToBytes } from "../../kit/base64.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import type { DecodedState, StateFile, StateFiles } from "../../kit/state/state-files.ts";
import {
  type CertificateUsage,
  generateKeyPair,
  isIssuedBy,
  keyBelongsTo,
  keyPairOf,
  parseCertificate,
  signCertificate,
} from "../../outside/x509/x509.ts";

/** A certificate with its key, both PEM. */
interface KeyAndCertificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** Everything the API identifies itself and others with. */
export interface ApiCredentials {
  readonly authority: KeyAndCertificate;
  readonly serving: KeyAndCertificate;
  /** ApiCredentials of the machine's administrator: all rights. */
  readonly admin: KeyAndCertificate;
  /** Of the node's agent. */
  readonly node: KeyAndCertificate;
  /** Signs tokens of service accounts. */
  readonly tokenKeyPem: string;
}

/** Folder of the credentials and name of the node. */
interface CredentialOptions {
  readonly folder: string;
  readonly nodeName: string;
}

interface Deps {
  readonly state: StateFiles;
  readonly clock: Clock;
}

const DAY_MS = 86_400_000;
const AUTHORITY_MS = 20 * 365 * DAY_MS;
const LEAF_MS = 10 * 365 * DAY_MS;
/** A certificate that ends sooner is recreated. */
const RENEW_BEFORE_MS = 60 * DAY_MS;
const BACKDATED_MS = 3_600_000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const MAX_BYTES = 64 * 1024;

/** Names under which the API is asked for. */
const SERVING_NAMES = {
  dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
  ipAddresses: ["127.0.0.1", "::1"],
};

/**
 * Reads what is there and makes what is missing, broken or about to end. What is broken is set aside; what cannot be
 * written is good until the next start.
 */
export async function loadCredentials(
  { folder, nodeName }: CredentialOptions,
  deps: Deps,
): Promise<ApiCredentials> {
  await deps.state.makeFolder(stateFile(folder), FOLDER_MODE);
  const authority = await loadAuthority(folder, deps);
  const leaf = (name: string, request: Leaf) =>
    loadLeaf(`${folder}/${name}`, request, authority, deps);
  return {
    authority,
    serving: await leaf("apiserver", {
      commonName: "kube-apiserver",
      organizations: [],
      use: ["serverAuth"],
    }),
    admin: await leaf("admin", {
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
      use: ["clientAuth"],
    }),
    node: await leaf("node", {
      commonName: `system:node:${nodeName}`,
      organizations: ["system:nodes"],
      use: ["clientAuth"],
    }),
    tokenKeyPem: await loadTokenKey(`${folder}/service-accounts.key`, deps),
  };
}

interface Leaf {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly use: readonly CertificateUsage[];
}

async function loadAuthority(folder: string, deps: Deps): Promise<KeyAndCertificate> {
  const path = `${folder}/ca`;
  const found = await readIdentity(path, deps);
  if (found) return found;
  const now = deps.clock.wall();
  const key = await generateKeyPair();
  const certificatePem = signCertificate(
    {
      subject: { commonName: `nodelet-ca@${Math.floor(now / 1000)}`, organizations: [] },
      publicKey: key.publicKey,
      use: "authority",
      ...validity(now, AUTHORITY_MS),
    },
    { privateKeyPem: key.privateKeyPem },
  );
  return await keep(path, { certificatePem, privateKeyPem: key.privateKeyPem }, deps);
}

async function loadLeaf(
  path: string,
  leaf: Leaf,
  authority: KeyAndCertificate,
  deps: Deps,
): Promise<KeyAndCertificate> {
  const found = await readIdentity(path, deps);
  if (found && isGood(found, leaf, authority, deps)) return found;
  const { commonName, organizations, use } = leaf;
  const key = await generateKeyPair();
  const certificatePem = signCertificate(
    {
      subject: { commonName, organizations },
      publicKey: key.publicKey,
      use,
      ...(use.includes("serverAuth") ? { names: SERVING_NAMES } : {}),
      ...validity(deps.clock.wall(), LEAF_MS),
    },
    authority,
  );
  return await keep(path, { certificatePem, privateKeyPem: key.privateKeyPem }, deps);
}

function isGood(
  { certificatePem }: KeyAndCertificate,
  leaf: Leaf,
  authority: KeyAndCertificate,
  { clock }: Deps,
): boolean {
  const { subject, notAfter, der } = factsOf(certificatePem);
  const now = clock.wall();
  return (
    subject.commonName === leaf.commonName &&
    notAfter - now > RENEW_BEFORE_MS &&
    isIssuedBy(der, authority.certificatePem, now)
  );
}

function factsOf(pem: string) {
  const base64 = pem.replaceAll(/-----[^-]+-----|\s/g, "");
  return { ...parseCertificate(pem), der: base64ToBytes(base64) };
}

function validity(now: WallMs, lifetimeMs: number) {
  return {
    notBefore: (now - BACKDATED_MS) as WallMs,
    notAfter: (now + lifetimeMs) as WallMs,
  };
}

/** Reads key and certificate; undefined when they are missing or invalid. */
async function readIdentity(path: string, { state }: Deps): Promise<KeyAndCertificate | undefined> {
  const [certFile, keyFile] = [stateFile(`${path}.crt`), stateFile(`${path}.key`)];
  const certificatePem = await state.read(certFile, MAX_BYTES, certificateOf);
  const privateKeyPem = await state.read(keyFile, MAX_BYTES, keyOf);
  if (certificatePem === undefined || privateKeyPem === undefined) return undefined;
  if (keyBelongsTo(privateKeyPem, certificatePem)) return { certificatePem, privateKeyPem };
  await state.setAside(keyFile, "it is not the key of the certificate");
  return undefined;
}

function stateFile(path: string): StateFile {
  const holds = "a key or certificate of the local API; it is recreated";
  return { name: "local_api_pki", path, holds, important: true };
}

/** Decoders may throw: then the text is broken. */
function certificateOf(text: string): DecodedState<string> {
  factsOf(text);
  return { kind: "read", value: text };
}

function keyOf(text: string): DecodedState<string> {
  keyPairOf(text);
  return { kind: "read", value: text };
}

/** The certificate comes last: without it the pair is recreated. */
async function keep(
  path: string,
  identity: KeyAndCertificate,
  { state }: Deps,
): Promise<KeyAndCertificate> {
  try {
    await state.write(stateFile(`${path}.key`), identity.privateKeyPem, FILE_MODE);
    await state.write(stateFile(`${path}.crt`), identity.certificatePem, FILE_MODE);
  } catch {
    // Reported by the state files; the next start makes another.
  }
  return identity;
}

async function loadTokenKey(path: string, { state }: Deps): Promise<string> {
  const found = await state.read(stateFile(path), MAX_BYTES, keyOf);
  if (found !== undefined) return found;
  const { privateKeyPem } = await generateKeyPair();
  await state.write(stateFile(path), privateKeyPem, FILE_MODE).catch(() => {});
  return privateKeyPem;
}

/** A kubeconfig as JSON, which is YAML too. */
export function kubeconfigText(
  server: string,
  authorityPem: string,
  user: { readonly name: string; readonly identity: KeyAndCertificate },
): string {
  const { certificatePem, privateKeyPem } = user.identity;
  const cluster = { server, "certificate-authority-data": btoa(authorityPem) };
  const credentials = {
    "client-certificate-data": btoa(certificatePem),
    "client-key-data": btoa(privateKeyPem),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "nodelet", cluster }],
    users: [{ name: user.name, user: credentials }],
    contexts: [{ name: "nodelet", context: { cluster: "nodelet", user: user.name } }],
    "current-context": "nodelet",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
