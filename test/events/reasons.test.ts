// Every reason of the catalogue has an emitter, or the feature it belongs to does not exist yet.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EVENT_REASONS, type EventReason } from "../../src/api/reasons.ts";
import { NODE_STORIES } from "./node-stories.ts";
import { POD_STORIES } from "./pod-stories.ts";

type Emitter =
  /** A story of `pod-stories.ts` or `node-stories.ts` checks type and text. */
  | "story"
  /** The file of src/ that gives it; tests of its module check it. */
  | { readonly file: string }
  /** Nothing gives it, because this does not exist yet. */
  | { readonly without: string };

const EVICTION = { file: "subsystems/eviction/eviction.ts" };
const RESIZE = { file: "pipeline/pods/resize/resize-text.ts" };
const VOLUME_EVENTS = { file: "subsystems/volumes/kinds/persistent-volume.ts" };
const VOLUME_RESIZE = { file: "subsystems/csi/steps/expand-volume.ts" };
const POD_CERTIFICATES = { file: "subsystems/volumes/pod-certificates/kept-certificate.ts" };
const IMAGE_COLLECTION = { file: "subsystems/images/gc/collector.ts" };
const NODE_STATUS = { file: "node/heartbeat/derive-status.ts" };
const DEVICES = { file: "subsystems/devices/plugins/plugin-side.ts" };

const EMITTERS: Readonly<Record<EventReason, Emitter>> = {
  Created: "story",
  Started: "story",
  Failed: "story",
  Killing: "story",
  BackOff: "story",
  Pulling: "story",
  Pulled: "story",
  ErrImageNeverPull: "story",
  InspectFailed: "story",
  FailedPostStartHook: "story",
  FailedPreStopHook: "story",
  LifecycleHTTPFallback: "story",
  Unhealthy: "story",
  ProbeWarning: "story",
  ExceededGracePeriod: { without: "a limit for the end of evicted pods" },
  Preempting: { file: "pipeline/admission/preempt-pods.ts" },
  FailedSync: "story",
  FailedKillPod: "story",
  FailedCreatePodContainer: "story",
  NetworkNotReady: "story",
  SandboxChanged: "story",
  FailedCreatePodSandBox: "story",
  FailedPodSandBoxStatus: "story",
  FailedPrepareDynamicResources: { file: "subsystems/resource-claims/resource-claims.ts" },
  FailedMount: "story",
  FailedMapVolume: VOLUME_EVENTS,
  FailedAttachVolume: { without: "volumes that are attached" },
  SuccessfulMountVolume: VOLUME_EVENTS,
  SuccessfulAttachVolume: { without: "volumes that are attached" },
  FileSystemResizeFailed: VOLUME_RESIZE,
  FileSystemResizeSuccessful: VOLUME_RESIZE,
  VolumeResizeFailed: VOLUME_RESIZE,
  VolumeResizeSuccessful: { without: "growth without a claim's status" },
  FailedMountOnFilesystemMismatch: VOLUME_EVENTS,
  AlreadyMountedVolume: VOLUME_EVENTS,
  VolumePermissionChangeInProgress: { without: "ownership of volumes by fsGroup" },
  VolumeAttachmentLimitExceeded: { file: "subsystems/volumes/volumes.ts" },
  VolumeConditionAbnormal: { without: "health of CSI volumes" },
  InvalidEnvironmentVariableValues: { file: "subsystems/environment/environment.ts" },
  FailedToRetrieveImagePullSecret: { file: "subsystems/images/pull/ensure.ts" },
  FailedValidation: { file: "pipeline/sources/sources.ts" },
  DeadlineExceeded: "story",
  Evicted: EVICTION,
  ResizeStarted: RESIZE,
  ResizeCompleted: RESIZE,
  ResizeDeferred: RESIZE,
  ResizeInfeasible: RESIZE,
  ResizeError: RESIZE,
  DNSConfigForming: "story",
  MissingClusterDNS: "story",
  HostIPsIPFamilyMismatch: { file: "pipeline/status/status.ts" },
  FailedNodeDeclaredFeaturesCheck: { file: "pipeline/ports/port-events.ts" },
  CertificateExpired: POD_CERTIFICATES,
  CertificateOverdueForRefresh: POD_CERTIFICATES,
  Denied: { file: "subsystems/volumes/pod-certificates/answer.ts" },
  Starting: "story",
  NodeReady: NODE_STATUS,
  NodeNotReady: NODE_STATUS,
  NodeSchedulable: NODE_STATUS,
  NodeNotSchedulable: NODE_STATUS,
  NodeHasSufficientMemory: NODE_STATUS,
  NodeHasInsufficientMemory: NODE_STATUS,
  NodeHasNoDiskPressure: NODE_STATUS,
  NodeHasDiskPressure: NODE_STATUS,
  NodeHasSufficientPID: NODE_STATUS,
  NodeHasInsufficientPID: NODE_STATUS,
  Rebooted: NODE_STATUS,
  Shutdown: { file: "node/shutdown/shutdown.ts" },
  NodeAllocatableEnforced: "story",
  FailedNodeAllocatableEnforcement: { file: "subsystems/cgroups/enforcement.ts" },
  ContainerGCFailed: "story",
  ImageGCFailed: { file: "subsystems/images/images.ts" },
  FreeDiskSpaceFailed: IMAGE_COLLECTION,
  InvalidDiskCapacity: IMAGE_COLLECTION,
  InvalidImageID: { without: "images without an id" },
  EvictionThresholdMet: EVICTION,
  KubeletSetupFailed: { file: "assembly/subsystems/subsystems.ts" },
  CheckLimitsForResolvConf: "story",
  PossibleMemoryBackedVolumesOnDisk: "story",
  CgroupV1: "story",
  SystemOOM: "story",
  OOMKilling: { file: "node/oom/oom.ts" },
  EventsDropped: { file: "subsystems/events/events.ts" },
  DevicePluginRegistered: DEVICES,
  DevicePluginGone: DEVICES,
  DeviceUnhealthy: { file: "subsystems/devices/devices.ts" },
  UnknownField: { file: "pipeline/sources/sources.ts" },
};

const SOURCES = join(import.meta.dirname, "../../src");
const STORY_LINES = [...POD_STORIES, ...NODE_STORIES].flatMap(({ reported }) => reported);

test("every reason has an emitter, or belongs to a feature that does not exist yet", (context) => {
  const without: string[] = [];
  for (const [reason, { types }] of Object.entries(EVENT_REASONS)) {
    const emitter = EMITTERS[reason as EventReason];
    if (emitter === "story") {
      const emitted = STORY_LINES.flatMap((line) => {
        const [, type, of] = /^(\w+) (\w+)/.exec(line) ?? [];
        return of === reason ? [type] : [];
      });
      assert.ok(emitted.length > 0, `no story shows ${reason}`);
      for (const type of emitted)
        assert.ok((types as readonly string[]).includes(type ?? ""), `${reason} as ${type}`);
    } else if ("file" in emitter) {
      const text = readFileSync(join(SOURCES, emitter.file), "utf8");
      assert.match(text, new RegExp(`"${reason}"`), `${emitter.file} does not give ${reason}`);
    } else without.push(`${reason} waits for ${emitter.without}`);
  }
  context.diagnostic(`${without.length} reasons without an emitter:`);
  for (const line of without) context.diagnostic(line);
});

/** Where a reason stands without being given, or the word means something else. */
const NO_EMITTERS =
  /generated|\.test\.ts$|\.vectors\.ts$|api\/reasons\.ts$|events\/lanes\.ts$|^cli\/|grpc\/status\.ts$|certificates\/sign\.ts$|node\/metrics\/pod-metrics\.ts$|^localapi\//;

test("reasons with an emitter are not listed without one", () => {
  const texts = globSync("**/*.ts", { cwd: SOURCES })
    .filter((path) => !NO_EMITTERS.test(path))
    .map((path) => [path, readFileSync(join(SOURCES, path), "utf8")] as const);
  for (const [reason, emitter] of Object.entries(EMITTERS)) {
    if (emitter === "story" || !("without" in emitter)) continue;
    const given = texts.find(([, text]) => text.includes(`"${reason}"`))?.[0];
    assert.equal(given, undefined, `${given} gives ${reason}: say so in EMITTERS`);
  }
});
