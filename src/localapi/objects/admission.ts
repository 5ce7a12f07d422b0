/** Fields that the API adds to new objects from other objects (admission plugins of the API server). */
import type {
  Pod,
  PodSpec,
  PriorityClass,
  RuntimeClass,
  ServiceAccount,
  StorageClass,
} from "../../api/generated/types.ts";
import { type ApiObject, storedAs, treeOf } from "../api-object.ts";
import {
  CLAIMS,
  POD_CERTIFICATE_REQUEST_KIND,
  POD_KIND,
  PRIORITY_CLASS_KIND,
  RUNTIME_CLASS_KIND,
  SERVICE_ACCOUNT_KIND,
  SIGNING_REQUEST_KIND,
  STORAGE_CLASSES,
} from "../kinds/catalog.ts";
import { forbiddenRequest } from "../status-error.ts";
import { defaultClassOf } from "../storage-class.ts";
import { admitPodCertificate } from "./admit-pod-certificate.ts";
import { admitRuntimeClass } from "./admit-runtime-class.ts";
import type { ObjectsCore } from "./core.ts";
import type { ObjectRequest } from "./object-request.ts";

const MIRROR = "kubernetes.io/config.mirror";
const DEFAULT_ACCOUNT = "default";

/** A new object with what belongs to it. Throws `StatusError` Forbidden. */
export function admitNew(core: ObjectsCore, request: ObjectRequest, object: ApiObject): ApiObject {
  if (request.kind === SIGNING_REQUEST_KIND)
    return { ...object, spec: requestSpec(object, request) };
  if (request.kind === POD_CERTIFICATE_REQUEST_KIND) admitPodCertificate(core, request, object);
  if (request.kind === CLAIMS) return withDefaultClass(core, object);
  if (request.kind !== POD_KIND) return object;
  const pod = object as unknown as Pod;
  const spec = pod.spec ?? { containers: [] };
  const isMirror = pod.metadata?.annotations?.[MIRROR] !== undefined;
  const withAccount = isMirror ? spec : accountOf(core, request, object, spec);
  const admitted = {
    ...withAccount,
    ...priorityOf(core, object, spec),
    ...ofRuntimeClass(core, object, spec),
  };
  return { ...object, spec: admitted };
}

/** The user of a certificate request is set by the server, never by the client. */
function requestSpec(object: ApiObject, { user }: ObjectRequest): object {
  const { username: _, groups: __, uid: ___, extra: ____, ...spec } = treeOf(object["spec"]);
  const { name, groups, uid, extra } = user;
  return {
    ...spec,
    username: name,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

/** A claim that names no class gets the default one (DefaultStorageClass). */
function withDefaultClass(core: ObjectsCore, object: ApiObject): ApiObject {
  const spec = treeOf(object["spec"]);
  if (spec["storageClassName"] !== undefined) return object;
  const name = defaultClassOf(
    core.store.list(STORAGE_CLASSES.collection).map(storedAs<StorageClass>),
  );
  return name === undefined ? object : { ...object, spec: { ...spec, storageClassName: name } };
}

function refuse(object: ApiObject, why: string) {
  return forbiddenRequest(POD_KIND, object.metadata.name, why);
}

function accountOf(
  core: ObjectsCore,
  request: ObjectRequest,
  object: ApiObject,
  spec: PodSpec,
): PodSpec {
  const name = spec.serviceAccountName || DEFAULT_ACCOUNT;
  const key = `${request.namespace}/${name}`;
  const account = core.store.get(SERVICE_ACCOUNT_KIND.collection, key) as
    | ServiceAccount
    | undefined;
  if (!account)
    throw refuse(
      object,
      `error looking up service account ${request.namespace}/${name}: serviceaccount "${name}" not found`,
    );
  // A pod that names secrets of its own gets none of the account's.
  const secrets = spec.imagePullSecrets?.length ? spec.imagePullSecrets : account.imagePullSecrets;
  return {
    ...spec,
    serviceAccountName: name,
    serviceAccount: name,
    ...(secrets ? { imagePullSecrets: secrets } : {}),
  };
}

function priorityOf(
  core: ObjectsCore,
  object: ApiObject,
  spec: PodSpec,
): Pick<PodSpec, "priority" | "priorityClassName" | "preemptionPolicy"> {
  const classes = core.store.list(PRIORITY_CLASS_KIND.collection).map(storedAs<PriorityClass>);
  const requested = spec.priorityClassName ?? "";
  const found =
    requested === ""
      ? classes.find(({ globalDefault }) => globalDefault === true)
      : classes.find(({ metadata }) => metadata.name === requested);
  if (requested !== "" && !found)
    throw refuse(object, `no PriorityClass with name ${requested} was found`);
  const priority = found?.value ?? 0;
  if (spec.priority !== undefined && spec.priority !== priority)
    throw refuse(
      object,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  const name = requested === "" ? found?.metadata.name : requested;
  return {
    priority,
    ...(name === undefined ? {} : { priorityClassName: name }),
    preemptionPolicy: spec.preemptionPolicy ?? found?.preemptionPolicy ?? "PreemptLowerPriority",
  };
}

function ofRuntimeClass(
  core: ObjectsCore,
  object: ApiObject,
  spec: PodSpec,
): Pick<PodSpec, "overhead" | "nodeSelector" | "tolerations"> {
  const name = spec.runtimeClassName ?? "";
  const found =
    name === ""
      ? undefined
      : (core.store.get(RUNTIME_CLASS_KIND.collection, `/${name}`) as RuntimeClass | undefined);
  if (name !== "" && !found) throw refuse(object, `pod rejected: RuntimeClass "${name}" not found`);
  const verdict = admitRuntimeClass(spec, found);
  if (verdict.kind === "refused") throw refuse(object, verdict.why);
  return verdict.spec;
}
