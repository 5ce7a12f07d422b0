/**
 * What a cluster says of itself to machines that want to join (ConfigMap cluster-info in kube-public), checked against the line
 * that they join with (https://kubernetes.io/docs/reference/setup-tools/kubeadm/implementation-details/#discovery-cluster-info).
 */
import { createHash, createHmac, X509Certificate } from "node:crypto";
import { parseYaml } from "../../api/text/yaml.ts";
import { messageOf } from "../../kit/errors.ts";
import { spokenDuration } from "../../present/amounts.ts";
import { yamlAt } from "../control-plane/kubeadm-config.ts";
import type { ClusterObstacle } from "../control-plane/version-skew.ts";

/** How the machine proves itself, and recognizes the cluster. */
export interface JoinCredentials {
  /** Address and port, like `10.0.0.1:6443`. */
  readonly endpoint: string;
  /** `id.secret`. */
  readonly token: string;
  /** Of the public keys of certificate authorities, one of which has to be the cluster's; empty to trust any. */
  readonly caCertHashes: readonly string[];
}

/** What the cluster has answered. */
interface ClusterInfo {
  readonly data: Readonly<Record<string, string>>;
  /** The server's clock, where it says so. */
  readonly serverTimeMs: number | undefined;
  readonly nowMs: number;
}

const NEW_LINE = "kubeadm token create --print-join-command on a control plane prints a new line";
const SIGNATURE_PREFIX = "jws-kubeconfig-";
const MAX_CLOCK_MS = 5 * 60_000;

/** The certificate authorities of the cluster as PEM, or why the machine cannot join with these credentials. */
export function judgeClusterInfo(
  { token, caCertHashes }: JoinCredentials,
  { data, serverTimeMs, nowMs }: ClusterInfo,
): { readonly authoritiesPem: string } | ClusterObstacle {
  if (serverTimeMs !== undefined && Math.abs(serverTimeMs - nowMs) > MAX_CLOCK_MS) {
    const [off, way] =
      serverTimeMs > nowMs ? [serverTimeMs - nowMs, "behind"] : [nowMs - serverTimeMs, "ahead of"];
    return {
      problem: `the clock of this machine is ${spokenDuration(off)} ${way} that of the API server`,
      fix: "set it, for example with: timedatectl set-ntp true",
    };
  }
  const [id = "", secret = ""] = token.split(".");
  const content = data["kubeconfig"] ?? "";
  const signature = data[`${SIGNATURE_PREFIX}${id}`];
  if (content === "")
    return {
      problem: "the cluster does not accept machines that join with a token",
      fix: NEW_LINE,
    };
  if (signature === undefined)
    return {
      problem: `the cluster does not know the token ${id}.…, or it has expired`,
      fix: NEW_LINE,
    };
  if (!isSignedBy(signature, content, secret))
    return {
      problem: `the part of the token ${id}.… behind the dot is not the one that the cluster has`,
      fix: "copy the whole line that kubeadm token create --print-join-command has printed",
    };
  return judgeAuthority(content, caCertHashes);
}

function judgeAuthority(
  kubeconfig: string,
  caCertHashes: readonly string[],
): { readonly authoritiesPem: string } | ClusterObstacle {
  const pem = authoritiesOf(kubeconfig);
  const found = certificatesIn(pem).map(keyHash);
  const [first] = found;
  if (first === undefined)
    return {
      problem: "the cluster names no certificate authority",
      fix: "the ConfigMap cluster-info in kube-public has to have one: kubeadm init phase bootstrap-token",
    };
  if (caCertHashes.length > 0 && !found.some((hash) => caCertHashes.includes(hash)))
    return {
      problem: `the certificate authority of the cluster is ${first}, not ${caCertHashes.join(" or ")}`,
      fix: `${NEW_LINE}; if that has the same value as before, something else answers at this address`,
    };
  return { authoritiesPem: pem };
}

/** Whether the detached signature (JWS, HS256) of the content was made with the secret. */
function isSignedBy(signature: string, content: string, secret: string): boolean {
  const [header = "", , mac = ""] = signature.split(".");
  const payload = Buffer.from(content).toString("base64url");
  const made = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url");
  return made === mac;
}

function authoritiesOf(kubeconfig: string): string {
  const [document] = parsedOrNone(kubeconfig);
  const clusters = yamlAt(document?.value, ["clusters"]);
  const first = Array.isArray(clusters) ? clusters[0] : undefined;
  const data = yamlAt(first, ["cluster", "certificate-authority-data"]);
  return typeof data === "string" ? Buffer.from(data, "base64").toString("utf8") : "";
}

function parsedOrNone(text: string) {
  try {
    return parseYaml(text);
  } catch {
    return [];
  }
}

function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** As kubeadm writes it: of the public key with its algorithm (SPKI). */
function keyHash({ publicKey }: X509Certificate): string {
  const key = publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** What a failed connection to the API server means. */
export function connectionObstacle(endpoint: string, error: unknown): ClusterObstacle {
  const { code } = error as { readonly code?: unknown };
  const why = CONNECTION_ERRORS[String(code)] ?? messageOf(error);
  return {
    problem: `the API server at ${endpoint} cannot be reached: ${why}`,
    fix: `it has to answer from this machine: curl -k https://${endpoint}/livez`,
  };
}

const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  EHOSTUNREACH: "no route to that address",
  ENETUNREACH: "there is no way to that network",
  ETIMEDOUT: "no answer",
  ENOTFOUND: "the host name is not known (DNS)",
  EAI_AGAIN: "no name server answers",
};
