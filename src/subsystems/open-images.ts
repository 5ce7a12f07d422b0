/** Opens the images room out of configuration, outside and the rooms that keep what it says. */
import type { Pod } from "../api/generated/types.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state-files.ts";
import type { ContainerRuntime } from "../outside/cri/cri.ts";
import type { ObjectSource, ServiceAccountTokens } from "../outside/kube/kube.ts";
import type { Outside } from "../outside/outside.ts";
import type { Events } from "./events/events.ts";
import {
  type ImagePolicy,
  Images,
  imageSettings,
  podAccountsFrom,
  pullSecretsFrom,
} from "./images/images.ts";
import type { Journal } from "./journal/journal.ts";

/** What the owner of the node may say about images beside the KubeletConfiguration. */
export interface OwnImageSettings extends ImagePolicy {
  /** Home of the user that the agent runs as; docker's configuration may be there. */
  readonly home?: string;
  /** `--image-credential-provider-config` and `--image-credential-provider-bin-dir`. */
  readonly credentialPrograms?: { readonly configPath: string; readonly binFolder: string };
}

/** What the room is told. */
export interface OpenImagesOptions {
  readonly config: KubeletConfig;
  readonly rootFolder: string;
  /** Rules for keeping images, and where credentials for registries are. */
  readonly images?: OwnImageSettings;
}

/** What the room stands on; `cri` is counted. */
export interface OpenImagesDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly state: StateFiles;
  readonly metrics: MetricsRegistry;
  readonly cri: ContainerRuntime;
  readonly events: Events;
  readonly journal: Journal;
  /** Where pull secrets are; absent where there is no API server. */
  readonly objects?: ObjectSource;
  /** Tokens for credential programs; as `objects`. */
  readonly tokens?: ServiceAccountTokens;
  /** Pods that have or may get containers: their images stay. */
  readonly wantedPods: () => readonly Pod[];
  /** What a container that waits for its image shows; `undefined` when it waits no more. */
  readonly onImageProgress: (pod: Pod, container: string, message: string | undefined) => void;
}

const DEFAULT_HOME = "/root";

/** Opens the room; throws `UsageError` for credential providers that cannot be used. */
export async function openImages(
  { config, rootFolder, images: own = {} }: OpenImagesOptions,
  deps: OpenImagesDeps,
): Promise<Images> {
  const { outside, scope, state, metrics, cri, events, journal, wantedPods, onImageProgress } =
    deps;
  const { host, net, clock } = outside;
  const log = outside.log.child("images");
  const describe = outside.cri.selfDescription;
  const images = await Images.open(
    {
      ...imageSettings(config, own),
      rootFolder,
      home: own.home ?? DEFAULT_HOME,
      ...(own.credentialPrograms ? { credentialPrograms: own.credentialPrograms } : {}),
    },
    {
      ...{ cri, host, state, net, clock, metrics, log, signal: scope.signal },
      ...(describe ? { describeRuntime: (signal) => describe(signal) } : {}),
      pods: wantedPods,
      pullSecrets: pullSecretsFrom(deps.objects, log),
      accounts: podAccountsFrom(deps.objects, deps.tokens),
      recordEvent: (pod, container, event) => events.ofPod(pod, event, container),
      recordNodeEvent: (event) => events.ofNode(event),
      decide: (name, uid, because) => journal.record({ kind: "image", name, uid }, because),
      onProgress: onImageProgress,
    },
  );
  scope.defer("images", () => images.flush());
  return images;
}
