/** A node with a CSI driver on which pods come and go and both are killed: what a history of volumes is played on. */
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { CsiWorld } from "../support/csi-world.ts";

/** Longer than the longest pause between two tries, and than a call may take. */
const CALM_MS = 400_000;

interface LivingPod {
  readonly pod: IdentifiedPod;
  stop(): void;
  ending: boolean;
  isMounted: boolean;
}

/** Pods that are to be there, and what must never be (`violations`). */
export class CsiStage {
  readonly #world: CsiWorld;
  readonly #pods = new Map<string, LivingPod>();
  readonly violations: string[] = [];
  /** Nothing fails any more. */
  isCalm = false;
  #agentLives = true;
  #driverLives = true;

  constructor(world: CsiWorld) {
    this.#world = world;
    world.node.subscribe(() => this.check());
  }

  get world(): CsiWorld {
    return this.#world;
  }

  get agentLives(): boolean {
    return this.#agentLives;
  }

  has(id: string): boolean {
    return this.#pods.has(id);
  }

  /** Names of pods that are to run and whose volumes are not all there. */
  get waiting(): readonly string[] {
    return [...this.#pods].flatMap(([id, { ending, isMounted }]) =>
      ending || isMounted ? [] : [id],
    );
  }

  begin(id: string, pod: IdentifiedPod): void {
    const known: LivingPod = { pod, stop: () => {}, ending: false, isMounted: false };
    this.#pods.set(id, known);
    if (this.#agentLives) this.#mount(known);
  }

  #mount(known: LivingPod): void {
    known.isMounted = false;
    const { stop, over } = this.#world.mount(known.pod);
    known.stop = stop;
    void over.then((isMounted) => {
      known.isMounted = isMounted;
    });
  }

  end(id: string): void {
    const known = this.#pods.get(id);
    if (!known || known.ending) return;
    known.stop();
    known.ending = true;
    if (this.#agentLives) this.#unmount(id, known);
  }

  #unmount(id: string, known: LivingPod): void {
    const leave = new AbortController();
    known.stop = () => leave.abort(new Error("the agent was killed"));
    void this.#world.unmount(known.pod, leave.signal).then(() => {
      if (!leave.signal.aborted && this.#pods.get(id) === known) this.#pods.delete(id);
    });
  }

  killAgent(): void {
    if (!this.#agentLives) return;
    this.#agentLives = false;
    this.#world.killAgent();
    for (const { stop } of this.#pods.values()) stop();
  }

  killDriver(): void {
    if (!this.#driverLives) return;
    this.#driverLives = false;
    this.#world.killDriver();
  }

  /** The agent runs again, with the pods that it finds; without a driver unless one has been there all the time. */
  async startAgent(): Promise<void> {
    if (this.#agentLives) return;
    await this.#world.startAgent();
    this.#agentLives = true;
    for (const [id, known] of this.#pods)
      if (known.ending) this.#unmount(id, known);
      else this.#mount(known);
  }

  /** Both run again. */
  async revive(): Promise<void> {
    await this.startAgent();
    if (!this.#driverLives) await this.#world.listenAgain();
    this.#driverLives = true;
    // The registry tries again and again as long as the driver's socket is there.
    for (let tries = 0; tries < (this.isCalm ? 10 : 2) && !this.#isRegistered; tries += 1)
      await this.#world.registerAgain().catch(() => {});
  }

  get #isRegistered(): boolean {
    return this.#world.csi.report().drivers.length > 0;
  }

  /** What holds at every moment. */
  check(): void {
    const { host, node, driver } = this.#world;
    const { mounted } = host.volumes;
    if (new Set(mounted).size !== mounted.length) this.violations.push(`mounted twice: ${mounted}`);
    if (this.#world.options.object?.attachRequired === false) return;
    const inUse = node.get()?.status?.volumesInUse ?? [];
    for (const staged of driver.present.filter((each) => each.startsWith("staged "))) {
      const id = staged.slice("staged ".length);
      if (!inUse.includes(`kubernetes.io/csi/d.csi^${id}`))
        this.violations.push(`${id} may be detached while it is staged`);
    }
  }

  /** With everything at work all pods that are to run have their volumes. */
  async #recover(ms: number): Promise<void> {
    await this.#world.clock.advance(ms);
    const { waiting } = this;
    const problem = this.#world.problems.at(-1);
    if (waiting.length > 0) this.violations.push(`${waiting} wait for volumes: ${problem}`);
  }

  /** Ends all pods with everything at work; then nothing may be left. */
  async finish(recoveryMs = 0): Promise<void> {
    this.isCalm = true;
    await this.revive();
    if (recoveryMs > 0) await this.#recover(recoveryMs);
    for (const id of this.#pods.keys()) this.end(id);
    await this.#world.clock.advance(CALM_MS);
    this.check();
    const { driver, host, csi } = this.#world;
    this.violations.push(...driver.violations);
    if (this.#pods.size > 0) this.violations.push(`pods stay: ${[...this.#pods.keys()]}`);
    if (driver.present.length > 0) this.violations.push(`left: ${driver.present}`);
    if (host.volumes.mounted.length > 0) this.violations.push(`mounted: ${host.volumes.mounted}`);
    const known = csi.volumes.list();
    if (known.length > 0) this.violations.push(`known: ${JSON.stringify(known)}`);
    if (csi.volumesInUse().length > 0) this.violations.push(`in use: ${csi.volumesInUse()}`);
    const folders = (await host.files.list("/r/plugins/kubernetes.io/csi/d.csi")) ?? [];
    if (folders.length > 0) this.violations.push(`folders: ${JSON.stringify(folders)}`);
  }
}
