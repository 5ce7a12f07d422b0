/**
 * The credentials that a pull of an image for a pod is tried with. Owns: the node's own credentials, read again
 * every few minutes. In: secrets of the pod, files of the node, programs. Out: credentials in the order in
 * which they are tried.
 */
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { sha256Hex } from "../../../outside/digest.ts";
import type { Files } from "../../../outside/host/host.ts";
import { repositoryOf } from "../image-names.ts";
import type { CredentialPrograms } from "./credential-programs.ts";
import {
  type KeyringPart,
  lookupCredentials,
  parseDockerConfig,
  type SecretSource,
  type TrackedCredentials,
} from "./keyring.ts";
import type { PodAccountPort } from "./pod-account.ts";
import type { PullingAccount, PullingSecret } from "./pulled-record.ts";

/** A secret of type `kubernetes.io/dockerconfigjson` or `kubernetes.io/dockercfg`, as the API server has it. */
export interface PullSecret extends SecretSource {
  readonly form: "config.json" | "dockercfg";
  /** The decoded content of the one key that such a secret has. */
  readonly content: string;
}

/** Result of reading the pod's image pull secrets. */
export interface PullSecrets {
  readonly secrets: readonly PullSecret[];
  /** Names of those that could not be had. */
  readonly missing: readonly string[];
}

/** Source of pull secrets; a node without a cluster has none. */
export type PullSecretPort = (pod: IdentifiedPod, signal: AbortSignal) => Promise<PullSecrets>;

interface RegistryAccessDeps {
  readonly files: Pick<Files, "readText">;
  readonly clock: Clock;
  readonly log: Log;
  /** Files with credentials of the node, the first that is there counts; `.dockercfg` is the old form. */
  readonly nodeFiles: readonly string[];
  readonly pullSecrets: PullSecretPort;
  readonly accounts: PodAccountPort;
  readonly programs?: CredentialPrograms;
}

/** All that a pod has to pull with. */
interface PodAccess {
  readonly credentials: readonly TrackedCredentials[];
  readonly missingSecrets: readonly string[];
}

const MAX_FILE_BYTES = 1024 * 1024;
/** So long the node's files are believed (defaultDockerConfigProvider). */
const NODE_FILES_MS = 5 * 60_000;

/** See the head of this file. */
export class RegistryAccess {
  readonly #deps: RegistryAccessDeps;
  #node: { readonly parts: readonly KeyringPart[]; readonly untilMs: number } | undefined;

  constructor(deps: RegistryAccessDeps) {
    this.#deps = deps;
  }

  /** Credentials to try for an image, the pod's own first. */
  async credentials(image: string, pod: IdentifiedPod, signal: AbortSignal): Promise<PodAccess> {
    const repository = repositoryOf(image) ?? image;
    const { parts, missing } = await this.#podParts(pod, signal);
    const programs = (await this.#deps.programs?.credentialsFor(repository, pod, signal)) ?? [];
    const node = [...(await this.#nodeParts()), ...programs];
    return {
      credentials: [
        ...lookupCredentials(parts, repository),
        ...lookupCredentials(node, repository),
      ],
      missingSecrets: missing,
    };
  }

  /** The pod's secrets that are meant for an image, with the hash of what they hold. */
  async secretsFor(
    image: string,
    pod: IdentifiedPod,
    signal: AbortSignal,
  ): Promise<readonly PullingSecret[]> {
    const { parts } = await this.#podParts(pod, signal);
    const found = lookupCredentials(parts, repositoryOf(image) ?? image);
    return found.flatMap((credentials) =>
      credentials.source
        ? [{ ...credentials.source, credentialHash: credentialHash(credentials) }]
        : [],
    );
  }

  /** The pod's service account; `undefined` when it has none, or when it cannot be had. */
  async accountOf(pod: IdentifiedPod, signal: AbortSignal): Promise<PullingAccount | undefined> {
    try {
      return await this.#deps.accounts.account(pod, signal);
    } catch (error) {
      if (!isOutside(error)) throw error;
      this.#deps.log.warn("failed to get the service account of a pod", {
        pod: podDisplayName(pod),
        error,
      });
      return undefined;
    }
  }

  async #podParts(
    pod: IdentifiedPod,
    signal: AbortSignal,
  ): Promise<{ readonly parts: readonly KeyringPart[]; readonly missing: readonly string[] }> {
    if ((pod.spec?.imagePullSecrets ?? []).length === 0) return { parts: [], missing: [] };
    const { secrets, missing } = await this.#deps.pullSecrets(pod, signal);
    const parts = secrets.flatMap(({ uid, namespace, name, form, content }) => {
      try {
        const config = parseDockerConfig(content, form);
        return [{ config, source: { uid, namespace, name } }];
      } catch (error) {
        this.#deps.log.warn("failed to read a pull secret", {
          secret: `${namespace}/${name}`,
          error,
        });
        return [];
      }
    });
    return { parts, missing };
  }

  async #nodeParts(): Promise<readonly KeyringPart[]> {
    const now = this.#deps.clock.monotonic();
    if (this.#node && now < this.#node.untilMs) return this.#node.parts;
    const parts = await this.#readNodeFiles();
    this.#node = { parts, untilMs: now + NODE_FILES_MS };
    return parts;
  }

  async #readNodeFiles(): Promise<readonly KeyringPart[]> {
    const { files, nodeFiles, log } = this.#deps;
    for (const path of nodeFiles) {
      try {
        const text = await files.readText(path, { maxBytes: MAX_FILE_BYTES });
        if (text === undefined) continue;
        const form = path.endsWith("/.dockercfg") ? "dockercfg" : "config.json";
        return [{ config: parseDockerConfig(text, form) }];
      } catch (error) {
        log.warn("failed to read the registry credentials of the node", {
          path,
          error,
        });
      }
    }
    return [];
  }
}

/** The hash under which the Go kubelet knows credentials: SHA-256 of its JSON form. */
export function credentialHash({ username, password, email }: TrackedCredentials): string {
  return sha256Hex(
    goJson({
      ...(username === "" ? {} : { username }),
      ...(password === "" ? {} : { password }),
      ...(email === undefined || email === "" ? {} : { email }),
    }),
  );
}

/** JSON as Go's encoder writes it, which spells out what could end a script or a line. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
