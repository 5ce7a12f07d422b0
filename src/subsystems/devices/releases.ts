/** Taking devices back: from pods that have ended, and from init containers that are done. */
import { makeDecision } from "../../api/decisions.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import { type Holding, holdingsOf, ownerOf, release, releaseContainers } from "./ledger/ledger.ts";
import { deviceRequests } from "./requests.ts";
import type { DeviceState } from "./state.ts";

interface ReleasesDeps {
  readonly state: DeviceState;
  readonly decisions: Pick<Decisions, "record">;
  /** Devices may be free that others wait for. */
  readonly onFreed: () => void;
}

/** Releases devices and records the decision. */
export class Releases {
  readonly #deps: ReleasesDeps;

  constructor(deps: ReleasesDeps) {
    this.#deps = deps;
  }

  /** Releases all devices of the pod; `rule` is the reason. */
  release(podUid: PodUid, pod: IdentifiedPod | undefined, rule: string): void {
    const { state } = this.#deps;
    const freed = holdingsOf(state.ledger, podUid);
    if (freed.length === 0) return;
    state.setLedger(release(state.ledger, podUid));
    this.#recordRelease(pod, freed, rule);
  }

  /** Takes back what only init containers had; answers whether there was any. Sidecars are not meant. */
  releaseInits(pod: IdentifiedPod): boolean {
    const podUid = pod.metadata.uid;
    const { ledger } = this.#deps.state;
    if (!ledger.pods.has(podUid)) return false;
    const inits = deviceRequests(pod).filter(({ kind }) => kind === "init");
    const names = new Set(inits.map(({ container }) => container));
    const next = releaseContainers(ledger, podUid, names);
    if (next === ledger) return false;
    this.#deps.state.setLedger(next);
    const freed = holdingsOf(ledger, podUid).map((holding) => ({
      ...holding,
      devices: holding.devices.filter(({ id }) => !ownerOf(next, holding.resource, id)),
    }));
    this.#recordRelease(pod, freed, "its init containers are done");
    return true;
  }

  #recordRelease(pod: IdentifiedPod | undefined, freed: readonly Holding[], rule: string): void {
    const names = freed.flatMap(({ resource, devices: list }) =>
      list.map(({ id }) => `${resource} ${id}`),
    );
    const devices = [...new Set(names)];
    if (pod && devices.length > 0)
      this.#deps.decisions.record(
        podSubject(pod),
        makeDecision("releaseDevices", rule, { devices }),
      );
    this.#deps.onFreed();
  }
}
