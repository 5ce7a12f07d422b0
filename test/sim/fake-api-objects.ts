// The objects of a simulated API server: versions, history, deletion in steps, patches.

import { formatProblems } from "../../src/api/decode/field-problem.ts";
import type { Pod, Status } from "../../src/api/generated/types.ts";
import { defaultPod } from "../../src/api/pod/pod-defaults.ts";
import { computeQosClass } from "../../src/api/pod/qos.ts";
import { withPodLevelDefaults } from "../../src/api/pod/resource-defaults.ts";
import { rfc3339 } from "../../src/api/text/timestamps.ts";
import type { Problems } from "../../src/api/validation/fields.ts";
import { nodeUpdateProblems } from "../../src/api/validation/node-update.ts";
import {
  podStatusProblems,
  withAgreeingIps,
  withQosClass,
} from "../../src/api/validation/pod-status.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Random } from "../../src/kit/random.ts";
import { applyMergePatch } from "./strategic-merge.ts";

/** An object as it is kept. */
export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly [other: string]: unknown;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [other: string]: unknown;
}

export interface HistoryEntry {
  readonly version: number;
  readonly collection: string;
  readonly before: StoredObject | undefined;
  readonly now: StoredObject | undefined;
}

/** Where an object is: its collection (`pods`, `coordination.k8s.io/leases`), namespace and name. */
export interface Place {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** A refusal, as it goes over the wire. */
export class Refusal extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, place?: Place) {
    super(message);
    this.status = {
      apiVersion: "v1",
      kind: "Status",
      status: "Failure",
      code,
      reason,
      message,
      ...(place ? { details: { name: place.name, kind: place.collection } } : {}),
    };
  }
}

/** Collections whose status is only written through the subresource. */
const WITH_STATUS = new Set(["pods", "nodes"]);
const KINDS: Readonly<Record<string, string>> = {
  pods: "Pod",
  nodes: "Node",
  configmaps: "ConfigMap",
  secrets: "Secret",
  events: "Event",
  namespaces: "Namespace",
  services: "Service",
  serviceaccounts: "ServiceAccount",
  "coordination.k8s.io/leases": "Lease",
  "certificates.k8s.io/certificatesigningrequests": "CertificateSigningRequest",
};

export class FakeApiObjects {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #collections = new Map<string, Map<string, StoredObject>>();
  readonly history: HistoryEntry[] = [];
  /** Changes up to this version are forgotten. */
  forgottenUpTo = 2;
  version = 2;
  /** Namespaces that are being deleted: nothing is made in them. */
  readonly terminating = new Set<string>();
  refusedCreations = 0;
  onChange: (entry: HistoryEntry) => void = () => {};

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get(place: Place): StoredObject {
    const found = this.find(place);
    if (!found) throw notFound(place);
    return found;
  }

  find(place: Place): StoredObject | undefined {
    return this.#collection(place.collection).get(keyOf(place));
  }

  list(collection: string, namespace?: string): readonly StoredObject[] {
    return [...this.#collection(collection).values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
  }

  create(at: Omit<Place, "name">, given: Readonly<Record<string, unknown>>): StoredObject {
    const metadata = (given["metadata"] ?? {}) as Readonly<Record<string, unknown>>;
    const name = String(
      metadata["name"] ?? `${metadata["generateName"]}${this.#random.hex(3).slice(0, 5)}`,
    );
    const place = { ...at, name };
    if (this.terminating.has(at.namespace ?? "")) {
      this.refusedCreations += 1;
      const why = `unable to create new content in namespace ${at.namespace} because it is being terminated`;
      throw new Refusal(403, "Forbidden", `${at.collection} "${name}" is forbidden: ${why}`, place);
    }
    if (this.find(place))
      throw new Refusal(409, "AlreadyExists", `${at.collection} "${name}" already exists`, place);
    const made = {
      kind: KINDS[at.collection] ?? "Unknown",
      ...given,
      metadata: {
        ...metadata,
        name,
        ...(at.namespace === undefined ? {} : { namespace: at.namespace }),
        uid: uuid(this.#random),
        creationTimestamp: rfc3339(this.#clock.wall()),
        ...(at.collection === "pods" ? { generation: 1 } : {}),
      },
    };
    return this.#write(place, undefined, at.collection === "pods" ? newPod(made) : made);
  }

  /** Replaces an object or its status; a stale one is refused. */
  update(place: Place, status: boolean, given: StoredObject): StoredObject {
    const before = this.get(place);
    const version = given.metadata?.resourceVersion;
    if (version !== undefined && version !== before.metadata.resourceVersion) throw stale(place);
    return this.#replace(place, before, status, given);
  }

  patch(
    place: Place,
    status: boolean,
    patch: { readonly body: unknown; readonly strategic: boolean },
  ): StoredObject {
    const before = this.get(place);
    const after = applyMergePatch(before, patch.body, patch.strategic) as StoredObject;
    if (after.metadata.uid !== before.metadata.uid)
      throw new Refusal(
        409,
        "Conflict",
        `the UID in the precondition is not that of ${place.name}`,
        place,
      );
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) throw stale(place);
    return this.#replace(place, before, status, after);
  }

  delete(
    place: Place,
    options: {
      readonly gracePeriodSeconds?: number;
      readonly preconditions?: { readonly uid?: string };
    },
  ): StoredObject {
    const before = this.get(place);
    const { uid } = options.preconditions ?? {};
    if (uid !== undefined && uid !== before.metadata.uid)
      throw new Refusal(
        409,
        "Conflict",
        `the UID in the precondition is not that of ${place.name}`,
        place,
      );
    const graceSeconds =
      place.collection === "pods" ? graceOf(before, options.gracePeriodSeconds) : 0;
    if (graceSeconds === 0 && (before.metadata.finalizers ?? []).length === 0) {
      this.#write(place, before, undefined);
      return before;
    }
    const known = before.metadata.deletionGracePeriodSeconds;
    if (known !== undefined && graceSeconds >= known) return before;
    return this.#write(place, before, {
      ...before,
      metadata: {
        ...before.metadata,
        deletionTimestamp: rfc3339(
          (this.#clock.wall() + graceSeconds * 1000) as ReturnType<Clock["wall"]>,
        ),
        deletionGracePeriodSeconds: graceSeconds,
      },
    });
  }

  /** Forgets what happened until now: watches from the past end with 410. */
  forget(): void {
    this.history.length = 0;
    this.forgottenUpTo = this.version;
  }

  #replace(place: Place, before: StoredObject, status: boolean, given: StoredObject): StoredObject {
    const { uid, resourceVersion } = before.metadata;
    const separate = WITH_STATUS.has(place.collection);
    const now: StoredObject = !separate
      ? { ...given, metadata: { ...given.metadata, uid, resourceVersion } }
      : status
        ? withStatus(place, before, given)
        : {
            ...given,
            metadata: { ...given.metadata, uid, resourceVersion },
            ...(before.status ? { status: before.status } : {}),
          };
    if (JSON.stringify(now) === JSON.stringify(before)) return before;
    if (
      now.metadata.deletionTimestamp !== undefined &&
      (now.metadata.finalizers ?? []).length === 0 &&
      now.metadata.deletionGracePeriodSeconds === 0
    ) {
      this.#write(place, before, undefined);
      return now;
    }
    return this.#write(place, before, now);
  }

  #write(place: Place, before: StoredObject | undefined, now: object | undefined): StoredObject {
    this.version += 1;
    const resourceVersion = String(this.version);
    const source = (now ?? before) as StoredObject;
    const stamped = { ...source, metadata: { ...source.metadata, resourceVersion } };
    const collection = this.#collection(place.collection);
    if (now) collection.set(keyOf(place), stamped);
    else collection.delete(keyOf(place));
    const entry: HistoryEntry = {
      version: this.version,
      collection: place.collection,
      before: now ? before : stamped,
      now: now ? stamped : undefined,
    };
    this.history.push(entry);
    this.onChange(entry);
    return stamped;
  }

  #collection(name: string): Map<string, StoredObject> {
    let collection = this.#collections.get(name);
    if (!collection) {
      collection = new Map();
      this.#collections.set(name, collection);
    }
    return collection;
  }
}

function keyOf({ namespace, name }: Place): string {
  return `${namespace ?? ""}/${name}`;
}

function notFound(place: Place): Refusal {
  return new Refusal(404, "NotFound", `${place.collection} "${place.name}" not found`, place);
}

function stale(place: Place): Refusal {
  return new Refusal(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${place.collection} "${place.name}": the object has been modified; please apply your changes to the latest version and try again`,
    place,
  );
}

function newPod(made: object): object {
  const pod = withPodLevelDefaults(defaultPod(made as Pod));
  return { ...pod, status: { phase: "Pending", qosClass: computeQosClass(pod), ...pod.status } };
}

/** The object with the status that is given, unless the rules of the API refuse it. */
function withStatus(place: Place, before: StoredObject, given: StoredObject): StoredObject {
  const written = { ...before, ...(given.status ? { status: given.status } : {}) };
  if (place.collection === "nodes")
    return accepted(place, written, nodeUpdateProblems(written, before));
  const old = before as unknown as Pod;
  const now = withAgreeingIps(withQosClass(written as unknown as Pod, old));
  return accepted(place, now as unknown as StoredObject, podStatusProblems(now, old));
}

function accepted(place: Place, now: StoredObject, problems: Problems): StoredObject {
  if (problems.length === 0) return now;
  const what = `${KINDS[place.collection]} "${place.name}" is invalid`;
  throw new Refusal(422, "Invalid", `${what}: ${formatProblems(problems)}`, place);
}

/** Pods nobody runs, or that have ended, are gone at once. */
function graceOf(pod: StoredObject, asked: number | undefined): number {
  const phase = pod.status?.["phase"];
  if (!pod.spec?.["nodeName"] || phase === "Failed" || phase === "Succeeded") return 0;
  return asked ?? Number(pod.spec["terminationGracePeriodSeconds"] ?? 30);
}

function uuid(random: Random): string {
  const hex = random.hex(16);
  return [0, 8, 12, 16, 20].map((from, i) => hex.slice(from, [8, 12, 16, 20, 32][i])).join("-");
}
