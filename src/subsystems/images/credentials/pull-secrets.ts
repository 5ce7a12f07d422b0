/** Pull secrets of pods from the API (kubelet_pods.go getPullSecretsForPod). */

import type { Secret } from "../../../api/generated/types.ts";
import { base64ToBytes } from "../../../kit/base64.ts";
import { isOutside } from "../../../kit/errors.ts";
import { appendAll } from "../../../kit/limits/lists.ts";
import type { Log } from "../../../kit/log.ts";
import { type ObjectSource, SECRETS } from "../../../outside/kube/kube.ts";
import type { PullSecret, PullSecretPort } from "./registry-access.ts";

const FORMS = {
  "kubernetes.io/dockerconfigjson": { form: "config.json", key: ".dockerconfigjson" },
  "kubernetes.io/dockercfg": { form: "dockercfg", key: ".dockercfg" },
} as const;

/** Asks for the secrets that a pod names; without an API every one of them is missing. */
export function pullSecretsFrom(objects: ObjectSource | undefined, log: Log): PullSecretPort {
  return async (pod, signal) => {
    const { namespace = "default" } = pod.metadata ?? {};
    const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
    const secrets: PullSecret[] = [];
    const missing: string[] = [];
    for (const name of new Set(names)) {
      const secret = await secretOf({ namespace, name }, objects, log, signal);
      if (!secret) missing.push(name);
      else appendAll(secrets, readSecret(secret, namespace, name));
    }
    return { secrets, missing };
  };
}

async function secretOf(
  place: { readonly namespace: string; readonly name: string },
  objects: ObjectSource | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  try {
    return await objects?.get(SECRETS, place, signal);
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("failed to get a pull secret", {
      secret: `${place.namespace}/${place.name}`,
      error,
    });
    return undefined;
  }
}

/** A secret of another type holds no credentials for registries, and is no fault either. */
function readSecret(secret: Secret, namespace: string, name: string): readonly PullSecret[] {
  const kind = FORMS[secret.type as keyof typeof FORMS];
  const data = kind && secret.data?.[kind.key];
  if (!kind || data === undefined) return [];
  const { uid = "" } = secret.metadata ?? {};
  return [{ uid, namespace, name, form: kind.form, content: textOf(data) }];
}

function textOf(base64: string): string {
  try {
    return new TextDecoder().decode(base64ToBytes(base64));
  } catch {
    return "";
  }
}
