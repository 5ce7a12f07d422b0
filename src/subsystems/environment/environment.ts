/**
 * The environment of containers. Owns: the watches of objects that environments refer to, as long as their
 * pod exists. In: objects and services of the API, the pod, its addresses. Out: variables, or the message
 * that says what is missing. Invariants: an object is watched once for each pod that names it, and only while that pod exists.
 *
 * Example:
 *     const environments = new Environments({ nodeName, allocatable }, { objects, services, readVolumeFile, events });
 *     environments.follow(pod); // when the pod is admitted
 *     const environment = await environments.of({ pod, container, podIps, hostIps }, signal);
 *     environments.forget(uid);
 */

import {
  type Allocatable,
  envFieldText,
  type PodPlace,
  resourceText,
  type Selected,
} from "../../api/env/downward.ts";
import { assembleEnv, type Environment, type EnvValue } from "../../api/env/env.ts";
import { serviceEnv } from "../../api/env/service-env.ts";
import type {
  ConfigMap,
  Container,
  EnvFromSource,
  EnvVarSource,
  Secret,
} from "../../api/generated/types.ts";
import { allContainers, isStaticPod } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import { base64ToBytes } from "../../kit/base64.ts";
import { messageOf } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  type ObjectSource,
  type Resource,
  SECRETS,
  type ServiceList,
} from "../../outside/kube/kube.ts";
import { readEnvFile } from "./env-file.ts";

/** Constant values. */
interface EnvironmentOptions {
  readonly nodeName: string;
  /** Allocatable amounts, for sizes and for values that volumes show. */
  readonly allocatable: Allocatable;
}

interface EnvironmentDeps {
  readonly objects?: ObjectSource;
  readonly services?: ServiceList;
  /** A file of an emptyDir volume of the pod; `undefined` when there is none. */
  readonly readVolumeFile: (
    pod: IdentifiedPod,
    volume: string,
    path: string,
  ) => Promise<string | undefined>;
  readonly events: PodEvents;
}

/** A container to compute the environment of. */
interface EnvironmentRequest {
  readonly pod: IdentifiedPod;
  readonly container: Container;
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

const NO_SERVICES = "services have not yet been read at least once, cannot construct envvars";

/** A missing object or key that was not optional, or something that could not be asked for. */
class Missing extends Error {}

/** The module; see above. */
export class Environments {
  readonly #options: EnvironmentOptions;
  readonly #deps: EnvironmentDeps;
  readonly #followed = new Map<string, readonly (() => void)[]>();

  constructor(options: EnvironmentOptions, deps: EnvironmentDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Watches the objects that the pod's environment refers to, until `forget`. */
  follow(pod: IdentifiedPod): void {
    const uid = pod.metadata.uid;
    const { objects } = this.#deps;
    if (!objects || this.#followed.has(uid)) return;
    const namespace = pod.metadata.namespace;
    const stops = referredObjects(pod).map(({ resource, name }) =>
      objects.follow(resource, { namespace, name }),
    );
    this.#followed.set(uid, stops);
  }

  forget(uid: string): void {
    for (const stop of this.#followed.get(uid) ?? []) stop();
    this.#followed.delete(uid);
  }

  /** The variables of a container, or the text of what is missing for them. */
  async of(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
    try {
      const services = this.#services(request.pod);
      const from: (readonly [string, string])[] = [];
      for (const source of request.container.envFrom ?? [])
        appendAll(from, await this.#envFrom(source, request.pod, signal));
      const values = new Map<number, EnvValue>();
      for (const [index, { value = "", valueFrom }] of (request.container.env ?? []).entries())
        if (value === "" && valueFrom)
          values.set(index, await this.#valueFrom(valueFrom, request, signal));
      const referred = (index: number): EnvValue => values.get(index) ?? { kind: "absent" };
      return assembleEnv(request.container, { services, from, valueFrom: referred });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "fault", message: messageOf(error) };
    }
  }

  /** A pod of the API waits until services are known: what runs in it counts on finding the API server. */
  #services(pod: IdentifiedPod): ReadonlyMap<string, string> {
    const { services } = this.#deps;
    if (!services) return new Map();
    const known = services.list();
    if (!known && !isStaticPod(pod)) throw new Missing(NO_SERVICES);
    const namespace = pod.metadata.namespace;
    return serviceEnv(known ?? [], namespace, pod.spec?.enableServiceLinks !== false);
  }

  async #envFrom(
    { prefix = "", configMapRef, secretRef }: EnvFromSource,
    pod: IdentifiedPod,
    signal: AbortSignal,
  ): Promise<readonly (readonly [string, string])[]> {
    const entries = configMapRef
      ? Object.entries((await this.#configMap(pod, configMapRef, signal))?.data ?? {})
      : this.#textsOf(pod, await this.#secret(pod, secretRef ?? {}, signal));
    return entries.map(([key, value]) => [prefix + key, value] as const);
  }

  /** A secret that is taken as a whole may hold files beside variables, such as key stores: these are left out. */
  #textsOf(pod: IdentifiedPod, secret: Secret | undefined): readonly (readonly [string, string])[] {
    const texts: (readonly [string, string])[] = [];
    const skipped: string[] = [];
    for (const [key, value] of Object.entries(secret?.data ?? {})) {
      const text = textOf(value);
      if (text === undefined) skipped.push(key);
      else texts.push([key, text]);
    }
    if (skipped.length > 0) {
      const { namespace = "", name = "" } = secret?.metadata ?? {};
      const keys = skipped.sort().join(", ");
      const message = `Keys [${keys}] from the EnvFrom secret ${namespace}/${name} were skipped since their values are not UTF-8, but environment variables must be`;
      const reason = "InvalidEnvironmentVariableValues";
      this.#deps.events.ofPod(pod, { type: "Warning", reason, message });
    }
    return texts;
  }

  async #valueFrom(
    source: EnvVarSource,
    { pod, container, podIps, hostIps }: EnvironmentRequest,
    signal: AbortSignal,
  ): Promise<EnvValue> {
    const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
    const { nodeName, allocatable } = this.#options;
    const place: PodPlace = { nodeName, podIps, hostIps };
    if (fieldRef) return selected(envFieldText(pod, fieldRef, place));
    if (resourceFieldRef)
      return selected(resourceText(pod, resourceFieldRef, allocatable, container));
    if (configMapKeyRef) {
      const configMap = await this.#configMap(pod, configMapKeyRef, signal);
      return keyOf(configMap?.data, configMapKeyRef, pod, "ConfigMap");
    }
    if (secretKeyRef) {
      const secret = await this.#secret(pod, secretKeyRef, signal);
      const found = keyOf(secret?.data, secretKeyRef, pod, "Secret");
      return found.kind === "value" ? textValue(found.value, secretKeyRef, pod) : found;
    }
    if (fileKeyRef) {
      const { volumeName, path } = fileKeyRef;
      const text = await this.#deps.readVolumeFile(pod, volumeName, path);
      return readEnvFile(text, fileKeyRef);
    }
    return { kind: "absent" };
  }

  #configMap(
    pod: IdentifiedPod,
    reference: Reference,
    signal: AbortSignal,
  ): Promise<ConfigMap | undefined> {
    return this.#object(CONFIG_MAPS, pod, reference, signal);
  }

  #secret(
    pod: IdentifiedPod,
    reference: Reference,
    signal: AbortSignal,
  ): Promise<Secret | undefined> {
    return this.#object(SECRETS, pod, reference, signal);
  }

  async #object<T extends KubeObject>(
    resource: Resource<T>,
    pod: IdentifiedPod,
    { name = "", optional }: Reference,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { objects } = this.#deps;
    const called = resource.kind.toLowerCase();
    const namespace = pod.metadata.namespace;
    if (!objects)
      throw new Missing(`couldn't get ${called} ${namespace}/${name}, no kubeClient defined`);
    const found = await objects.get(resource, { namespace, name }, signal);
    if (!found && optional !== true) throw new Missing(`${called} "${name}" not found`);
    return found;
  }
}

interface Reference {
  readonly name?: string;
  readonly optional?: boolean;
}

function selected(found: Selected): EnvValue {
  return found.kind === "text" ? { kind: "value", value: found.text } : found;
}

function keyOf(
  data: Readonly<Record<string, string>> | undefined,
  { name = "", key, optional }: Reference & { readonly key: string },
  pod: IdentifiedPod,
  called: string,
): EnvValue {
  const value = data?.[key];
  if (value !== undefined) return { kind: "value", value };
  if (optional === true) return { kind: "absent" };
  const where = `${pod.metadata.namespace}/${name}`;
  return { kind: "fault", message: `couldn't find key ${key} in ${called} ${where}` };
}

/** Runtimes keep variables as JSON, which holds no other bytes: they would put U+FFFD in their place. */
function textValue(
  base64: string,
  { name = "", key }: Reference & { readonly key: string },
  pod: IdentifiedPod,
): EnvValue {
  const value = textOf(base64);
  if (value !== undefined) return { kind: "value", value };
  const where = `${pod.metadata.namespace}/${name}`;
  const why = "is not UTF-8, but environment variables must be (mount it as a volume instead)";
  return { kind: "fault", message: `the value of key ${key} in Secret ${where} ${why}` };
}

/** Base64 of the API as text; `undefined` when the bytes are not UTF-8. */
function textOf(base64: string): string | undefined {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
  try {
    return decoder.decode(base64ToBytes(base64));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Secrets and config maps that the environments of a pod name, each once. */
function referredObjects(
  pod: IdentifiedPod,
): readonly { resource: Resource<KubeObject>; name: string }[] {
  const found = new Map<string, { resource: Resource<KubeObject>; name: string }>();
  const add = (resource: Resource<KubeObject>, name: string | undefined) => {
    if (name) found.set(`${resource.kind}/${name}`, { resource, name });
  };
  for (const { container } of allContainers(pod)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add(CONFIG_MAPS, configMapRef?.name);
      add(SECRETS, secretRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      add(CONFIG_MAPS, valueFrom?.configMapKeyRef?.name);
      add(SECRETS, valueFrom?.secretKeyRef?.name);
    }
  }
  return [...found.values()];
}
