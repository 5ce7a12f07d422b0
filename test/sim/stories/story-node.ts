// A node on which a story is played, and what `nodelet why` then says of its pod.
import assert from "node:assert/strict";
import type { DecisionRecord } from "../../../src/api/decisions.ts";
import type { CoreEvent, Pod } from "../../../src/api/generated/types.ts";
import { identifyPod } from "../../../src/api/pod-identity.ts";
import { OutsideError } from "../../../src/kit/errors.ts";
import type { RuntimeService } from "../../../src/outside/cri/cri.ts";
import { offNodeReason } from "../../../src/present/why/off-node.ts";
import { shownPods } from "../../../src/server/shown-pods.ts";
import type { StoredObject } from "../fake-api-objects.ts";
import type { FakeApiServer } from "../fake-apiserver.ts";
import type { FakeContainer } from "../fake-runtime-objects.ts";
import { MANIFESTS, World } from "../world.ts";
import { POD, type Story } from "./story.ts";
import { type WhyText, whyTextOf } from "./why-text.ts";

const SEED = 7;
/** The node is ready by then. */
const SETTLED_S = 20;

/** What is done to the journal's records before they are printed. */
export type Change = (records: readonly DecisionRecord[]) => readonly DecisionRecord[];

type Call = (...args: readonly unknown[]) => unknown;

/** One story's world. */
export class StoryNode {
  readonly world: World;
  readonly api: FakeApiServer;
  readonly pod: Pod;
  /** Calls that the runtime refuses, with what it says. */
  readonly refusals = new Map<keyof RuntimeService, string>();
  #records: readonly DecisionRecord[] = [];

  private constructor(story: Story) {
    this.world = new World(SEED, story.runtime, { ...story.options, cluster: true });
    assert.ok(this.world.api);
    this.api = this.world.api;
    this.pod = story.pod ?? ({} as Pod);
    this.world.around = (cri) => ({ ...cri, runtime: this.#refusing(cri.runtime) });
  }

  /** Plays the story; resolves with the node as it is then. */
  static async play(story: Story): Promise<StoryNode> {
    const node = new StoryNode(story);
    const { world } = node;
    await world.host.files.makeDirectory(MANIFESTS, 0o755);
    try {
      world.startAgent();
      await node.pass(SETTLED_S);
      if (story.play) await story.play(node);
      else {
        node.create();
        await node.pass(30);
      }
      node.#records = (await world.agent?.subsystems.journal.read({})) ?? [];
      return node;
    } catch (error) {
      console.log(world.trace.slice(-40).join("\n"));
      throw error;
    }
  }

  async pass(seconds: number): Promise<void> {
    await this.world.advance(seconds * 1000);
  }

  /** Makes the pod in the API, bound to the node. */
  create(pod: Pod = this.pod): void {
    this.put("pods", pod as unknown as Readonly<Record<string, unknown>>);
  }

  /** Makes any object of the namespace `default`. */
  put(collection: string, object: Readonly<Record<string, unknown>>): StoredObject {
    return this.api.objects.create({ collection, namespace: "default" }, object);
  }

  /** Makes a persistent volume and a claim that is bound to it. */
  async bindVolume(
    volume: { readonly metadata: object; readonly spec: object },
    claim: { readonly metadata: { readonly name: string } },
  ): Promise<void> {
    const { metadata } = this.put("persistentvolumeclaims", claim);
    const claimRef = { namespace: "default", name: metadata.name, uid: metadata.uid };
    const object = { apiVersion: "v1", kind: "PersistentVolume", ...volume };
    this.api.objects.create(
      { collection: "persistentvolumes", namespace: undefined },
      { ...object, spec: { ...volume.spec, claimRef } },
    );
  }

  delete(name = POD, options: { readonly gracePeriodSeconds?: number } = {}): void {
    this.api.objects.delete({ collection: "pods", namespace: "default", name }, options);
  }

  /** Changes the pod's object as a client of the API does. */
  patch(body: unknown, status = false, name = POD): void {
    const place = { collection: "pods", namespace: "default", name };
    this.api.objects.patch(place, status, { body, strategic: true });
  }

  /** Asks for other resources of the container `main`. */
  resize(resources: object): void {
    this.patch({
      metadata: { generation: 2 },
      spec: { containers: [{ name: "main", resources }] },
    });
  }

  /** Changes the image of the container `main`. */
  changeImage(image: string): void {
    this.world.runtime.store.add(image);
    this.patch({ spec: { containers: [{ name: "main", image }] } });
  }

  /** The registry answers every pull with this. */
  refusePulls(why: string): void {
    this.world.runtime.store.onPull = () => {
      throw new OutsideError("io", why);
    };
  }

  /** The scheduler reports why it has not assigned the pod to a node. */
  reportUnschedulable(message: string): void {
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    this.patch({ status: { conditions: [condition] } }, true);
  }

  /** Kills the main process of the container that was made last. */
  async killProcess(): Promise<void> {
    this.world.runtime.exitContainer(this.container().id, 137);
  }

  /** The kernel kills the container that was made last, as it takes too much memory. */
  async outOfMemory(): Promise<void> {
    this.world.runtime.exitContainer(this.container().id, 137, "OOMKilled");
  }

  /** What the kernel counts of the pod's own memory limit, which was reached so many times. */
  countLimitHits(times: number): void {
    const { agent, host } = this.world;
    const shown = agent && shownPods(agent, this.world.clock)[0];
    assert.ok(agent && shown);
    const pod = identifyPod(shown);
    const path = agent.subsystems.cgroups.podPath(pod);
    host.cgroups.set(path, "memory.failcnt", `${times}\n`);
    host.cgroups.set(path, "memory.events.local", `low 0\nmax ${times}\noom ${times}\n`);
  }

  async killSandbox(): Promise<void> {
    this.world.runtime.killSandbox(this.container().sandboxId);
  }

  async makeFolder(path: string): Promise<void> {
    await this.world.host.files.makeDirectory(path, 0o755);
  }

  /** The agent is killed, and started again after a while. */
  async restartAgent(): Promise<void> {
    this.world.killAgent();
    await this.pass(5);
    this.world.startAgent();
  }

  /** Deletes the pod as a controller does that says why. */
  disrupt(reason: string): void {
    const condition = { type: "DisruptionTarget", status: "True", reason, message: "reported" };
    this.patch({ status: { conditions: [condition] } }, true);
    this.delete();
  }

  /** Evicts the pod through the API. */
  evict(): void {
    this.disrupt("EvictionByEvictionAPI");
  }

  patchNode(body: unknown): void {
    const place = { collection: "nodes", namespace: undefined, name: "sim" };
    this.api.objects.patch(place, false, { body, strategic: true });
  }

  /** Writes a manifest of a static pod. */
  async manifest(pod: Pod): Promise<void> {
    const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
    const text = JSON.stringify({ ...pod, spec });
    await this.world.host.files.writeAtomic(`${MANIFESTS}/web.json`, text, 0o644);
  }

  async removeManifest(): Promise<void> {
    await this.world.host.files.remove(`${MANIFESTS}/web.json`);
  }

  /** The container of that name that was made last. */
  container(name = "main"): FakeContainer {
    const found = [...this.world.runtime.containers.values()].findLast(
      ({ config }) => config.metadata?.name === name,
    );
    assert.ok(found, `there is a container ${name}`);
    return found;
  }

  /** The runtime, but for calls that it refuses. */
  #refusing(runtime: RuntimeService): RuntimeService {
    const calls = Object.entries(runtime as unknown as Record<string, Call>).map(
      ([name, call]): readonly [string, Call] => [
        name,
        (...args) => {
          const message = this.refusals.get(name as keyof RuntimeService);
          return message === undefined
            ? call(...args)
            : Promise.reject(new OutsideError("io", message));
        },
      ],
    );
    return Object.fromEntries(calls) as unknown as RuntimeService;
  }

  /** What is printed of the pod, after `change` to what the journal has. */
  why(change: Change = (records) => records): WhyText {
    const { agent, clock } = this.world;
    assert.ok(agent);
    const name = this.#name;
    const records = change(this.#records.filter(({ subject }) => subject.name === name));
    const isOwn = ({ involvedObject: { namespace, name: own } }: CoreEvent) =>
      name === `${namespace}/${own}`;
    const events = agent.subsystems.events.list();
    const warnings = events.filter((event) => event.type === "Warning" && isOwn(event));
    const pods = shownPods(agent, clock);
    const own = pods.find(({ metadata }) => `${metadata?.namespace}/${metadata?.name}` === name);
    const inApi = own === undefined ? this.#podInApi() : undefined;
    const pod = inApi ? { ...inApi, blocked: offNodeReason(inApi, "sim") } : own;
    const isOffNode = inApi !== undefined;
    return whyTextOf({ name, decisions: records, warnings, pod, isOffNode }, clock.wall());
  }

  #podInApi(): Pod | undefined {
    const place = { collection: "pods", namespace: "default", name: POD };
    return this.api.objects.find(place) as Pod | undefined;
  }

  get #name(): string {
    const names = new Set(this.#records.map(({ subject }) => subject.name));
    return (
      [`default/${POD}`, `default/${POD}-sim`].find((each) => names.has(each)) ?? `default/${POD}`
    );
  }

  /** What counts as done was done, as the runtime knows it, and nothing was done that is not printed. */
  checkTruth(): void {
    const { actions } = this.world.runtime;
    const own = this.#records.filter(({ subject }) => subject.name === this.#name);
    const uids = new Set(own.map(({ subject }) => subject.uid));
    const done = (kind: string) =>
      own.filter(
        ({ kind: of, outcome }) =>
          of === kind &&
          (outcome?.kind === "done" ||
            (outcome?.kind === "failed" && outcome.reason === "PostStartHookError")),
      ).length;
    const did = (op: string) =>
      actions.filter((action) => action.op === op && uids.has(action.uid)).length;
    assert.equal(done("startContainer"), did("startContainer"), "containers that were started");
    assert.equal(done("startSandbox"), did("runSandbox"), "sandboxes that were made");
    const ended = own.filter(({ kind }) => kind === "containerExited").length;
    const exits = actions.filter(({ op, uid }) => op === "exit" && uids.has(uid)).length;
    const neverStarted = own.filter(
      ({ outcome }) => outcome?.kind === "failed" && outcome.reason === "RunContainerError",
    ).length;
    assert.ok(
      ended <= exits && exits <= ended + neverStarted,
      `${ended} of ${exits} ends are printed`,
    );
  }
}
