/**
 * Persistent volume claims on one node: binds them to volumes that fit, makes volumes of class `local` for them, which
 * are folders of this machine, and removes these when the claims go. In: claims, volumes, classes, pods. Out: the
 * same, and folders below `folder`. Invariants: a claim that a pod uses stays; a folder goes only with its claim.
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../../api/generated/types.ts";
import type { MonotonicMs } from "../../../kit/clock.ts";
import { messageOf } from "../../../kit/errors.ts";
import { after } from "../../../kit/instant.ts";
import type { PodFiles } from "../../../outside/host/host.ts";
import { type Stored, type StoredObject, storedAs } from "../../api-object.ts";
import type { Kind } from "../../kind.ts";
import { CLAIMS, NODE_KIND, POD_KIND, STORAGE_CLASSES, VOLUMES } from "../../kinds/catalog.ts";
import { CLAIM_IN_USE, VOLUME_IN_USE } from "../../kinds/other-rules.ts";
import { isLatestVersion, type ObjectsCore } from "../../objects/core.ts";
import { createObject } from "../../objects/create.ts";
import { updateObject } from "../../objects/update.ts";
import { DEFAULT_CLASS } from "../../storage-class.ts";
import { type Controller, ownRequest } from "../controllers.ts";
import { noteEvent } from "../note-event.ts";
import {
  type ClaimStep,
  LOCAL_CLASS,
  newVolume,
  PROVISIONER,
  planClaims,
  volumeNameOf,
} from "./plan-claims.ts";

interface ClaimsDeps {
  readonly core: ObjectsCore;
  /** Data of pods: one volume may hold millions of files, or lie on a disk that does not answer. */
  readonly podFiles: Pick<PodFiles, "makeDirectory" | "removeTree">;
  /** Folder with the folders of volumes. */
  readonly folder: string;
  readonly nodeName: string;
}

const EVERY_MS = 60_000;
/** Everybody who lands in a pod may write to its volumes, as local provisioners have it. */
const VOLUME_MODE = 0o777;
const FOLDER_MODE = 0o711;
const COMPONENT = "persistentvolume-controller";
/** Claims whose waiting was reported; beyond that they are reported again. */
const MAX_REPORTED = 1_000;
/** Data that could not be removed is left alone for so long, whatever else changes. */
const RECLAIM_RETRY_MS = 60_000;

/** The class that is there from the beginning. */
export const LOCAL_STORAGE_CLASS = {
  metadata: {
    name: LOCAL_CLASS,
    annotations: { [DEFAULT_CLASS]: "true" },
  },
  provisioner: PROVISIONER,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
};

/** See the head of this file. */
export function claimController(deps: ClaimsDeps): Controller {
  const { store } = deps.core;
  const reported: Reported = new Map();
  const failed: FailedReclaims = new Map();
  return {
    name: "local API: claims",
    everyMs: EVERY_MS,
    plan: () => {
      // Most nodes have neither, and this runs with each change of any object.
      if (store.count(CLAIMS.collection) + store.count(VOLUMES.collection) === 0) return [];
      const view = {
        claims: store.list(CLAIMS.collection).map(storedAs<PersistentVolumeClaim>),
        volumes: store.list(VOLUMES.collection).map(storedAs<PersistentVolume>),
        classes: store.list(STORAGE_CLASSES.collection).map(storedAs<StorageClass>),
        pods: store.list(POD_KIND.collection).map(storedAs<Pod>),
      };
      return planClaims(view)
        .filter((step) => step.kind !== "event" || !isReported(reported, step))
        .filter((step) => step.kind !== "reclaim" || isDue(failed, step.volume, deps.core))
        .map((step) => () => perform(step, deps, { reported, failed }));
    },
  };
}

type Reported = Map<string, string>;
/** When the data of a volume may be tried to be removed again, by the volume's UID. */
type FailedReclaims = Map<string, MonotonicMs>;

interface Memory {
  readonly reported: Reported;
  readonly failed: FailedReclaims;
}

function isDue(failed: FailedReclaims, { metadata }: StoredObject, core: ObjectsCore): boolean {
  const retryAt = failed.get(metadata.uid);
  return retryAt === undefined || core.clock.monotonic() >= retryAt;
}

type EventStep = Extract<ClaimStep, { kind: "event" }>;

function isReported(reported: Reported, { claim, message }: EventStep): boolean {
  return reported.get(claim.metadata.uid) === message;
}

function report(reported: Reported, step: EventStep, core: ObjectsCore): void {
  if (reported.size >= MAX_REPORTED) reported.clear();
  reported.set(step.claim.metadata.uid, step.message);
  noteEvent(core, step.claim, { ...step, component: COMPONENT });
}

async function perform(
  step: ClaimStep,
  deps: ClaimsDeps,
  { reported, failed }: Memory,
): Promise<void> {
  const { core } = deps;
  if ("claim" in step && !isLatestVersion(core, CLAIMS.collection, step.claim)) return;
  if ("volume" in step && !isLatestVersion(core, VOLUMES.collection, step.volume)) return;
  switch (step.kind) {
    case "bind":
      return bind(core, step.claim, step.volume);
    case "provision":
      return await provision(step, deps);
    case "releaseClaim":
      return removeFinalizer(core, CLAIMS, step.claim, CLAIM_IN_USE);
    case "releaseVolume":
      return removeFinalizer(core, VOLUMES, step.volume, VOLUME_IN_USE);
    case "phase":
      core.store.put(VOLUMES.collection, {
        ...step.volume,
        status: { ...step.volume.status, phase: step.phase },
      });
      return;
    case "markLost":
      core.store.put(CLAIMS.collection, {
        ...step.claim,
        status: { ...step.claim.status, phase: "Lost" },
      });
      return;
    case "reclaim":
      return await reclaim(step.volume, deps, failed);
    case "event":
      return report(reported, step, core);
    default:
      return step satisfies never;
  }
}

function removeFinalizer(
  core: ObjectsCore,
  kind: Kind,
  before: StoredObject,
  finalizer: string,
): void {
  const { namespace = "", name, finalizers = [] } = before.metadata;
  const left = finalizers.filter((each) => each !== finalizer);
  const now = { ...before, metadata: { ...before.metadata, finalizers: left } };
  updateObject(core, ownRequest(kind, namespace, name), { before, now });
}

/** Binds claim and volume to each other, the volume first: no other claim can get it then. */
function bind(
  core: ObjectsCore,
  claim: Stored<PersistentVolumeClaim>,
  volume: Stored<PersistentVolume>,
): void {
  const { namespace = "", name, uid, resourceVersion = "" } = claim.metadata;
  const claimRef = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    namespace,
    name,
    uid,
    resourceVersion,
  };
  core.store.put(VOLUMES.collection, {
    ...volume,
    spec: {
      ...volume.spec,
      claimRef: volume.spec?.claimRef?.uid === uid ? volume.spec.claimRef : claimRef,
    },
    status: { ...volume.status, phase: "Bound" },
  });
  const { accessModes, capacity } = volume.spec ?? {};
  core.store.put(CLAIMS.collection, {
    ...claim,
    spec: { ...claim.spec, volumeName: volume.metadata.name },
    status: { ...claim.status, phase: "Bound", accessModes, capacity },
  });
}

async function provision(
  { claim, storageClass }: Extract<ClaimStep, { kind: "provision" }>,
  { core, podFiles, folder, nodeName }: ClaimsDeps,
): Promise<void> {
  const node = core.store.get(NODE_KIND.collection, `/${nodeName}`);
  const hostname = node?.metadata.labels?.["kubernetes.io/hostname"] ?? nodeName;
  const path = `${folder}/${volumeNameOf(claim)}`;
  await podFiles.makeDirectory(folder, FOLDER_MODE);
  await podFiles.makeDirectory(path, VOLUME_MODE);
  const volume = newVolume(claim, storageClass, { path, hostname });
  // The claim may have changed meanwhile; the next pass binds it to the volume that is there now.
  createObject(core, ownRequest(VOLUMES, "", ""), volume);
  noteEvent(core, claim, {
    type: "Normal",
    reason: "ProvisioningSucceeded",
    message: `Successfully provisioned volume ${volumeNameOf(claim)}`,
    component: PROVISIONER,
  });
}

const OUR_VOLUME = /^pvc-[0-9a-f-]{36}$/;

/** The data goes first: as long as it is there, the volume says so, and why it could not be removed. */
async function reclaim(
  volume: Stored<PersistentVolume>,
  { core, podFiles, folder }: ClaimsDeps,
  failed: FailedReclaims,
): Promise<void> {
  const { name, uid } = volume.metadata;
  if (!OUR_VOLUME.test(name)) return;
  try {
    await podFiles.removeTree(`${folder}/${name}`);
    failed.delete(uid);
  } catch (error) {
    if (failed.size >= MAX_REPORTED) failed.clear();
    failed.set(uid, after(core.clock.monotonic(), RECLAIM_RETRY_MS));
    reportFailedReclaim(core, volume, messageOf(error));
    throw error;
  }
  const kept = core.store.get(VOLUMES.collection, `/${name}`);
  if (kept) core.store.remove(VOLUMES.collection, kept);
}

/** Phase and event of a volume whose data stays (pv_controller `deleteVolume`). */
function reportFailedReclaim(
  core: ObjectsCore,
  volume: Stored<PersistentVolume>,
  message: string,
): void {
  if (volume.status?.phase === "Failed" && volume.status.message === message) return;
  core.store.put(VOLUMES.collection, {
    ...volume,
    status: { ...volume.status, phase: "Failed", message },
  });
  noteEvent(core, volume, {
    type: "Warning",
    reason: "VolumeFailedDelete",
    message,
    component: COMPONENT,
  });
}
