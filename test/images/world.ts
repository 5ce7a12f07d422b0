// The images module on virtual time, with a runtime and a machine in memory.
import type { Decision } from "../../src/api/decisions.ts";
import type { EventText } from "../../src/api/event-text.ts";
import type { ImageOutcome } from "../../src/api/image-outcome.ts";
import type { IdentifiedPod, PodUid } from "../../src/api/pod-identity.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { type Log, silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import type { Host } from "../../src/outside/host/host.ts";
import {
  type ImagePolicy,
  Images,
  imageSettings,
  type PodAccountPort,
  type PullSecretPort,
  podAccountsFrom,
} from "../../src/subsystems/images/images.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { FAKE_IMAGE_FOLDER } from "../sim/fake-images.ts";
import { FakeRuntime } from "../sim/fake-runtime.ts";
import type { FakeRuntimeOptions } from "../sim/fake-runtime-objects.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { factsOf } from "../support/pod-facts.ts";

const ROOT = "/var/lib/kubelet";

/** What a test may say about its world. */
export interface ImageWorldOptions {
  readonly seed?: number;
  readonly config?: Partial<KubeletConfig>;
  readonly policy?: ImagePolicy;
  readonly runtime?: Partial<FakeRuntimeOptions>;
  readonly pullSecrets?: PullSecretPort;
  readonly accounts?: PodAccountPort;
  readonly runProgram?: NonNullable<Host["runProgram"]>;
  readonly credentialPrograms?: { readonly configPath: string; readonly binFolder: string };
  /** Registries that answer. */
  readonly reachable?: readonly string[];
}

/** One module and its events. */
export class ImageWorld {
  readonly clock = new SimClock();
  readonly runtime: FakeRuntime;
  readonly host: FakeHost;
  readonly events: (EventText & { readonly container: string })[] = [];
  readonly nodeEvents: EventText[] = [];
  readonly decisions: { readonly name: string; readonly decision: Decision }[] = [];
  readonly progress: (string | undefined)[] = [];
  readonly warnings: string[] = [];
  readonly signal = new AbortController().signal;
  pods: readonly IdentifiedPod[] = [];
  metrics = new MetricsRegistry();
  images!: Images;
  readonly #options: ImageWorldOptions;

  constructor(options: ImageWorldOptions = {}) {
    this.#options = options;
    const seed = options.seed ?? 1;
    this.runtime = new FakeRuntime(this.clock, createSeededRandom(seed), options.runtime);
    this.runtime.store.all.clear();
    this.host = new FakeHost({ clock: this.clock });
  }

  /** Opens the module, again for another life of the agent. */
  async open(): Promise<this> {
    await this.host.files.makeDirectory(FAKE_IMAGE_FOLDER, 0o755);
    const { config, policy, pullSecrets, accounts, runProgram, credentialPrograms, reachable } =
      this.#options;
    this.metrics = new MetricsRegistry();
    const { files } = this.host;
    this.images = await Images.open(
      {
        ...imageSettings({ ...DEFAULT_CONFIG, ...config }, policy),
        rootFolder: ROOT,
        home: "/root",
        ...(credentialPrograms ? { credentialPrograms } : {}),
      },
      {
        cri: this.runtime,
        host: {
          files,
          diskUsage: (path) => this.host.diskUsage(path),
          ...(runProgram ? { runProgram } : {}),
        },
        net: {
          tcpConnect: async (host) =>
            reachable?.includes(host)
              ? { kind: "connected" }
              : { kind: "failure", message: "refused" },
        },
        state: new StateFiles({ files, clock: this.clock, log: this.#log() }),
        clock: this.clock,
        log: this.#log(),
        metrics: this.metrics,
        signal: this.signal,
        pods: factsOf(() => this.pods),
        accounts: accounts ?? podAccountsFrom(undefined, undefined),
        pullSecrets: pullSecrets ?? (() => Promise.resolve({ secrets: [], missing: [] })),
        events: {
          ofPod: (_, event, container = "") => this.events.push({ ...event, container }),
          ofNode: (event) => this.nodeEvents.push(event),
        },
        decisions: {
          record: ({ name }, decision) => this.decisions.push({ name, decision }),
        },
        news: {
          publish: (news) => news.kind === "progress" && this.progress.push(news.message),
        },
      },
    );
    return this;
  }

  /** Asks for an image and lets time pass until it is there or refused. */
  async ensure(image: string, more: Partial<{ policy: string; pod: IdentifiedPod }> = {}) {
    const { policy = "IfNotPresent", pod = podOf(image) } = more;
    return await this.run(this.images.ensure({ pod, container: "c", image, policy }, this.signal));
  }

  /** Lets time pass until `work` is done. */
  async run<T>(work: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let done = false;
    const finish = () => {
      done = true;
    };
    work.then(finish, finish);
    await this.clock.runUntil(() => done, limitMs);
    return await work;
  }

  /** Fills the disk to a percentage. */
  fill(percent: number): void {
    const capacityBytes = 100_000;
    this.host.disk = {
      ...this.host.disk,
      capacityBytes,
      availableBytes: Math.round((capacityBytes * (100 - percent)) / 100),
    };
  }

  /** What was reported in events, `Reason message`. */
  get reported(): readonly string[] {
    return this.events.map(({ reason, message }) => `${reason} ${message}`);
  }

  #log(): Log {
    return {
      ...silentLog,
      warn: (message) => this.warnings.push(message),
      error: (message) => this.warnings.push(message),
      child: () => this.#log(),
    };
  }
}

/** A pod with one container of the image. */
export function podOf(
  image: string,
  more: Partial<IdentifiedPod["spec"]> = {},
  uid = "uid-1",
): IdentifiedPod {
  return {
    metadata: { name: "web", namespace: "default", uid: uid as PodUid },
    spec: { containers: [{ name: "c", image }], ...more },
  };
}

/** The answer when it must be there; its hold is let go. */
export function present(answer: ImageOutcome): string {
  if (answer.kind !== "present") throw new Error(`refused: ${answer.reason}: ${answer.message}`);
  answer.release();
  return answer.image.ref;
}
