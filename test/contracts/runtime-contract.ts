// What the agent relies on in a container runtime. The same suite runs against real containerd and
// against the fake of the simulation, so that the fake cannot drift.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutside } from "../../src/kit/errors.ts";
import type {
  ContainerRuntime,
  DeepPartial,
  PodSandboxConfig,
  RuntimeEvent,
} from "../../src/outside/cri/cri.ts";
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
} from "../../src/outside/cri/generated/api.ts";
import { commandOf, type Program } from "../sim/programs.ts";

/** A runtime to test, and how time passes there. */
export interface RuntimeUnderTest extends AsyncDisposable {
  readonly cri: ContainerRuntime;
  readonly image: string;
  /** Folder for container logs. */
  readonly logs: string;
  /** Lets time pass until `work` is done. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Lets `ms` pass. */
  pass(ms: number): Promise<void>;
}

const NAMESPACES = {
  network: NamespaceMode.POD,
  pid: NamespaceMode.CONTAINER,
  ipc: NamespaceMode.POD,
};

const SIGNAL = new AbortController().signal;

let pods = 0;

function podSandbox(logs: string): DeepPartial<PodSandboxConfig> {
  pods += 1;
  const uid = `contract-${process.pid}-${pods}`;
  return {
    metadata: { name: `pod-${pods}`, namespace: "contract", uid, attempt: 0 },
    hostname: `pod-${pods}`,
    logDirectory: `${logs}/${uid}`,
    labels: { "io.kubernetes.pod.uid": uid, tier: "contract" },
    annotations: { note: "kept as given" },
    linux: { securityContext: { namespaceOptions: NAMESPACES } },
  };
}

/** Declares the suite for the runtime that `make` provides. */
export function runtimeContract(name: string, make: () => Promise<RuntimeUnderTest>): void {
  const contract = (criterion: string, check: (given: Bench) => Promise<void>) =>
    test(`${name}: ${criterion}`, async () => {
      await using under = await make();
      await check(new Bench(under));
    });

  contract(
    "a sandbox is ready with an address and carries its labels and annotations",
    async (bench) => {
      const { id, config } = await bench.sandbox();
      const [listed] = await bench.run(
        bench.runtime.listSandboxes({ labelSelector: { tier: "contract" } }, SIGNAL),
      );
      assert.equal(listed?.id, id);
      assert.equal(listed?.state, PodSandboxState.SANDBOX_READY);
      assert.equal(listed?.annotations["note"], "kept as given");
      const status = await bench.run(bench.runtime.sandboxStatus(id, SIGNAL));
      assert.match(status.network?.ip ?? "", /^\d+\.\d+\.\d+\.\d+$/);
      assert.equal(status.metadata?.uid, config.metadata?.uid);
    },
  );

  contract("the same attempt of a pod cannot have two sandboxes", async (bench) => {
    const { config } = await bench.sandbox();
    await assert.rejects(bench.run(bench.runtime.runSandbox(config, "", SIGNAL)));
  });

  contract("a container goes from created to running to exited with its code", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.container(sandbox, { kind: "exit", code: 3, afterMs: 200 });
    assert.equal((await bench.status(id)).state, ContainerState.CONTAINER_CREATED);
    await bench.run(bench.runtime.startContainer(id, SIGNAL));
    const running = await bench.status(id);
    assert.equal(running.state, ContainerState.CONTAINER_RUNNING);
    assert.ok(running.startedAt > 0n);
    const ended = await bench.until(id, ContainerState.CONTAINER_EXITED);
    assert.equal(ended.exitCode, 3);
    assert.equal(ended.reason, "Error");
    assert.ok(ended.finishedAt >= ended.startedAt);
  });

  contract("a container that ended well says Completed", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "exit", code: 0, afterMs: 50 });
    assert.equal((await bench.until(id, ContainerState.CONTAINER_EXITED)).reason, "Completed");
  });

  contract("an ended container cannot be started again", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "exit", code: 0, afterMs: 50 });
    await bench.until(id, ContainerState.CONTAINER_EXITED);
    await assert.rejects(bench.run(bench.runtime.startContainer(id, SIGNAL)));
  });

  contract("stopping asks first, and the container's own code is kept", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "sleep" });
    await bench.pass(300);
    await bench.run(bench.runtime.stopContainer(id, 20, SIGNAL));
    const ended = await bench.status(id);
    assert.equal(ended.state, ContainerState.CONTAINER_EXITED);
    assert.equal(ended.exitCode, 143);
  });

  contract("a container that does not listen is killed when its grace is over", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "stubborn" });
    await bench.pass(300);
    await bench.run(bench.runtime.stopContainer(id, 2, SIGNAL));
    const ended = await bench.status(id);
    assert.equal(ended.state, ContainerState.CONTAINER_EXITED);
    assert.equal(ended.exitCode, 137);
  });

  contract("stopping an ended container is no error", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "exit", code: 0, afterMs: 50 });
    await bench.until(id, ContainerState.CONTAINER_EXITED);
    await bench.run(bench.runtime.stopContainer(id, 1, SIGNAL));
  });

  contract("a command that does not exist leaves an exited container", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.container(sandbox, ["/does/not/exist"]);
    await assert.rejects(bench.run(bench.runtime.startContainer(id, SIGNAL)));
    const status = await bench.status(id);
    assert.equal(status.state, ContainerState.CONTAINER_EXITED);
    assert.equal(status.exitCode, 128);
  });

  contract("stopping a sandbox ends its containers and is idempotent", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "stubborn" });
    await bench.run(bench.runtime.stopSandbox(sandbox.id, SIGNAL));
    await bench.run(bench.runtime.stopSandbox(sandbox.id, SIGNAL));
    assert.equal((await bench.status(id)).state, ContainerState.CONTAINER_EXITED);
    const [listed] = await bench.run(
      bench.runtime.listSandboxes({ labelSelector: { tier: "contract" } }, SIGNAL),
    );
    assert.equal(listed?.state, PodSandboxState.SANDBOX_NOTREADY);
  });

  contract("removing a sandbox removes its containers and is idempotent", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "sleep" });
    await bench.run(bench.runtime.stopSandbox(sandbox.id, SIGNAL));
    await bench.run(bench.runtime.removeSandbox(sandbox.id, SIGNAL));
    await bench.run(bench.runtime.removeSandbox(sandbox.id, SIGNAL));
    await assert.rejects(bench.status(id), (error: unknown) => isOutside(error, "notFound"));
    assert.deepEqual(await bench.run(bench.runtime.listSandboxes({}, SIGNAL)), []);
  });

  contract("a container that runs takes other resources and stays what it is", async (bench) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "sleep" });
    const resources = { cpuShares: 204n, cpuPeriod: 100_000n, cpuQuota: 40_000n };
    await bench.run(bench.runtime.updateContainer(id, resources, SIGNAL));
    const status = await bench.status(id);
    assert.equal(status.state, ContainerState.CONTAINER_RUNNING);
    await bench.run(bench.runtime.stopContainer(id, 2, SIGNAL));
    await bench.until(id, ContainerState.CONTAINER_EXITED);
    // One that has ended meanwhile is no error: nothing runs that could have the wrong ones.
    await bench.run(bench.runtime.updateContainer(id, resources, SIGNAL));
    await assert.rejects(
      bench.run(bench.runtime.updateContainer("nosuchcontainer", resources, SIGNAL)),
      (error: unknown) => isOutside(error, "notFound"),
    );
  });

  contract("unknown ids are notFound", async (bench) => {
    const unknown = (error: unknown) => isOutside(error, "notFound");
    await assert.rejects(bench.status("nosuchcontainer"), unknown);
    await assert.rejects(bench.run(bench.runtime.sandboxStatus("nosuchsandbox", SIGNAL)), unknown);
    await assert.rejects(
      bench.run(bench.runtime.startContainer("nosuchcontainer", SIGNAL)),
      unknown,
    );
  });

  contract("containers are listed by the pod's label", async (bench) => {
    const first = await bench.sandbox();
    const second = await bench.sandbox();
    const id = await bench.container(first, { kind: "sleep" });
    await bench.container(second, { kind: "sleep" });
    const labelSelector = { "io.kubernetes.pod.uid": first.config.metadata?.uid ?? "" };
    const listed = await bench.run(bench.runtime.listContainers({ labelSelector }, SIGNAL));
    assert.deepEqual(
      listed.map((container) => container.id),
      [id],
    );
    assert.equal(listed[0]?.podSandboxId, first.id);
    assert.equal(listed[0]?.annotations["attempt"], "0");
  });

  contract("starts and ends come as events", async (bench) => {
    const leave = new AbortController();
    const seen: RuntimeEvent[] = [];
    const reading = (async () => {
      for await (const event of bench.runtime.events(leave.signal)) seen.push(event);
    })().catch(() => {});
    await bench.pass(300);
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, { kind: "exit", code: 1, afterMs: 200 });
    await bench.until(id, ContainerState.CONTAINER_EXITED);
    await bench.pass(300);
    leave.abort(new Error("seen enough"));
    await reading;
    const kinds = seen.filter(({ containerId }) => containerId === id).map(({ kind }) => kind);
    assert.ok(kinds.includes("started"), `events of the container: ${kinds}`);
    assert.ok(kinds.includes("stopped"), `events of the container: ${kinds}`);
  });

  contract("an image that is not there is undefined, one that is has an id", async (bench) => {
    assert.equal(
      await bench.run(bench.cri.images.imageStatus("nodelet.test/nothing:1", SIGNAL)),
      undefined,
    );
    const image = await bench.run(bench.cri.images.imageStatus(bench.image, SIGNAL));
    assert.ok(image?.id.startsWith("sha256:"));
    const names = (await bench.run(bench.cri.images.listImages(SIGNAL))).flatMap(
      ({ repoTags }) => repoTags,
    );
    assert.ok(names.includes(bench.image));
  });
}

interface MadeSandbox {
  readonly id: string;
  readonly config: DeepPartial<PodSandboxConfig>;
}

/** The runtime under test with the few moves every test makes. */
/** Shorthands for making and watching containers of a runtime under test. */
export class Bench {
  readonly #under: RuntimeUnderTest;

  constructor(under: RuntimeUnderTest) {
    this.#under = under;
  }

  get cri(): ContainerRuntime {
    return this.#under.cri;
  }

  get runtime(): ContainerRuntime["runtime"] {
    return this.#under.cri.runtime;
  }

  get image(): string {
    return this.#under.image;
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.#under.run(work);
  }

  pass(ms: number): Promise<void> {
    return this.#under.pass(ms);
  }

  async sandbox(): Promise<MadeSandbox> {
    const config = podSandbox(this.#under.logs);
    return { id: await this.run(this.runtime.runSandbox(config, "", SIGNAL)), config };
  }

  async container(sandbox: MadeSandbox, what: Program | readonly string[]): Promise<string> {
    const command = "kind" in what ? commandOf(what) : what;
    const image = await this.run(this.cri.images.imageStatus(this.#under.image, SIGNAL));
    const config = {
      metadata: { name: "main", attempt: 0 },
      image: { image: image?.id ?? "" },
      command: [...command],
      labels: { ...sandbox.config.labels, "io.kubernetes.container.name": "main" },
      annotations: { attempt: "0" },
      logPath: "main/0.log",
      linux: { securityContext: { namespaceOptions: NAMESPACES } },
    };
    return this.run(this.runtime.createContainer(sandbox.id, config, sandbox.config, SIGNAL));
  }

  async started(sandbox: MadeSandbox, program: Program): Promise<string> {
    const id = await this.container(sandbox, program);
    await this.run(this.runtime.startContainer(id, SIGNAL));
    return id;
  }

  status(id: string): ReturnType<ContainerRuntime["runtime"]["containerStatus"]> {
    return this.run(this.runtime.containerStatus(id, SIGNAL));
  }

  async until(
    id: string,
    state: number,
  ): ReturnType<ContainerRuntime["runtime"]["containerStatus"]> {
    for (let tries = 0; tries < 100; tries += 1) {
      const status = await this.status(id);
      if (status.state === state) return status;
      await this.pass(50);
    }
    throw new Error(`container ${id} did not reach state ${state}`);
  }
}
