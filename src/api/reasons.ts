// pure

/** The only two types an event may have. */
export type EventType = "Normal" | "Warning";

/**
 * Priority of an event when not everything can be stored or sent. `lifecycle`: a step that happens once and that
 * no other event repeats. `ordinary`: everything else, much of it repeated while a problem lasts.
 */
export type Lane = "lifecycle" | "ordinary";

/** Rules for all events of a reason. */
export interface ReasonRules {
  /** The types it may come with. */
  readonly types: readonly EventType[];
  readonly lane: Lane;
  /** Whether it may be sent seconds later, so that pods that start do not compete with it for the API server. */
  readonly deferrable?: true;
  /** About the node without its UID: the Go kubelet's modules that give these have a reference of their own. */
  readonly withoutNodeUid?: true;
}

const NORMAL = { types: ["Normal"], lane: "ordinary" } as const;
const WARNING = { types: ["Warning"], lane: "ordinary" } as const;
const EITHER = { types: ["Normal", "Warning"], lane: "ordinary" } as const;
const NORMAL_STEP = { types: ["Normal"], lane: "lifecycle" } as const;
const START_STEP = { ...NORMAL_STEP, deferrable: true } as const;
const WARNING_STEP = { types: ["Warning"], lane: "lifecycle" } as const;
/** Enforcement of allocatable, images, eviction, the resolver, the graceful shutdown and the OOM watcher. */
const BARE = { withoutNodeUid: true } as const;

/**
 * Every reason this agent gives in events, with the types it may come with and its lane. Users filter and alert on
 * these, so they are the Go kubelet's own (semantics: `pkg/kubelet/events/event.go`).
 */
export const EVENT_REASONS = {
  // Containers and images.
  Created: START_STEP,
  Started: START_STEP,
  Failed: WARNING,
  Killing: NORMAL_STEP,
  BackOff: EITHER,
  Pulling: NORMAL_STEP,
  Pulled: START_STEP,
  ErrImageNeverPull: WARNING,
  InspectFailed: WARNING,
  FailedPostStartHook: WARNING,
  FailedPreStopHook: WARNING,
  LifecycleHTTPFallback: WARNING,
  Unhealthy: WARNING,
  ProbeWarning: WARNING,
  ExceededGracePeriod: WARNING,
  Preempting: WARNING_STEP,
  // Pods and sandboxes.
  FailedSync: WARNING,
  FailedKillPod: WARNING,
  FailedCreatePodContainer: WARNING,
  NetworkNotReady: WARNING,
  SandboxChanged: NORMAL_STEP,
  FailedCreatePodSandBox: WARNING,
  FailedPodSandBoxStatus: WARNING,
  FailedPrepareDynamicResources: WARNING,
  FailedMount: WARNING,
  FailedMapVolume: WARNING,
  FailedAttachVolume: WARNING,
  SuccessfulMountVolume: NORMAL,
  SuccessfulAttachVolume: NORMAL,
  FileSystemResizeFailed: WARNING,
  FileSystemResizeSuccessful: NORMAL,
  VolumeResizeFailed: WARNING,
  VolumeResizeSuccessful: NORMAL,
  FailedMountOnFilesystemMismatch: WARNING,
  AlreadyMountedVolume: WARNING,
  VolumePermissionChangeInProgress: WARNING,
  VolumeConditionAbnormal: WARNING,
  VolumeAttachmentLimitExceeded: WARNING_STEP,
  InvalidEnvironmentVariableValues: WARNING,
  FailedToRetrieveImagePullSecret: WARNING,
  FailedValidation: WARNING,
  DeadlineExceeded: NORMAL_STEP,
  Evicted: WARNING_STEP,
  ResizeStarted: NORMAL_STEP,
  ResizeCompleted: NORMAL_STEP,
  ResizeDeferred: WARNING,
  ResizeInfeasible: WARNING,
  ResizeError: WARNING,
  DNSConfigForming: WARNING,
  MissingClusterDNS: { ...WARNING, ...BARE },
  HostIPsIPFamilyMismatch: WARNING,
  FailedNodeDeclaredFeaturesCheck: WARNING,
  CertificateExpired: WARNING,
  CertificateOverdueForRefresh: WARNING,
  Denied: WARNING,
  // The node.
  Starting: NORMAL_STEP,
  NodeReady: NORMAL_STEP,
  NodeNotReady: NORMAL_STEP,
  NodeSchedulable: NORMAL_STEP,
  NodeNotSchedulable: NORMAL_STEP,
  NodeHasSufficientMemory: NORMAL_STEP,
  NodeHasInsufficientMemory: NORMAL_STEP,
  NodeHasNoDiskPressure: NORMAL_STEP,
  NodeHasDiskPressure: NORMAL_STEP,
  NodeHasSufficientPID: NORMAL_STEP,
  NodeHasInsufficientPID: NORMAL_STEP,
  Rebooted: WARNING_STEP,
  Shutdown: { ...NORMAL_STEP, ...BARE },
  NodeAllocatableEnforced: { ...NORMAL, ...BARE },
  FailedNodeAllocatableEnforcement: { ...WARNING, ...BARE },
  ContainerGCFailed: WARNING,
  ImageGCFailed: WARNING,
  FreeDiskSpaceFailed: { ...WARNING, ...BARE },
  InvalidDiskCapacity: { ...WARNING, ...BARE },
  InvalidImageID: { ...WARNING, ...BARE },
  EvictionThresholdMet: { ...WARNING, ...BARE },
  KubeletSetupFailed: WARNING,
  CheckLimitsForResolvConf: { ...WARNING, ...BARE },
  PossibleMemoryBackedVolumesOnDisk: WARNING,
  CgroupV1: WARNING,
  SystemOOM: { ...WARNING_STEP, ...BARE },
  // Our own: the Go kubelet says nothing about events that it loses, about device plugins, nor whose memory ran out;
  // of fields it does not know it says nothing either.
  UnknownField: WARNING,
  OOMKilling: WARNING,
  EventsDropped: WARNING_STEP,
  DevicePluginRegistered: NORMAL,
  DevicePluginGone: WARNING,
  DeviceUnhealthy: WARNING,
} as const satisfies Readonly<Record<string, ReasonRules>>;

/** A reason of `EVENT_REASONS`. */
export type EventReason = keyof typeof EVENT_REASONS;

/** Whether a text is a reason this agent gives for things other than admission. */
export const isEventReason = (text: string): text is EventReason =>
  Object.hasOwn(EVENT_REASONS, text);
