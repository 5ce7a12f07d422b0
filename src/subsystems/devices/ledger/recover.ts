// pure
/**
 * Recovers the ledger after a start: the checkpoint, corrected by the containers that run. These
 * carry a note of their devices (`container-parts.ts`), which takes precedence over the checkpoint.
 */

import type { PodUid } from "../../../api/observation.ts";
import { appendAll } from "../../../kit/limits/lists.ts";
import { readNote } from "./container-parts.ts";
import {
  allHoldings,
  EMPTY_LEDGER,
  type Holding,
  holdingsOf,
  type Ledger,
  ownerOf,
  releaseContainers,
  withHolding,
} from "./ledger.ts";

/** A container with a living process. */
export interface RunningContainer {
  readonly podUid: PodUid;
  readonly container: string;
  /** Its note; `undefined` when it has none. */
  readonly note: string | undefined;
}

/** A ledger, and what had to be set right for it. */
interface Recovered {
  readonly ledger: Ledger;
  /** Differences between what was written down and what runs, for people. */
  readonly differences: readonly string[];
}

/** The ledger of a checkpoint. A device with two pods is kept for the first. */
export function ledgerOf(holdings: readonly Holding[]): Recovered {
  const differences: string[] = [];
  let ledger = EMPTY_LEDGER;
  for (const holding of holdings) {
    const { podUid, resource, devices } = holding;
    const taken = devices.filter(({ id }) => (ownerOf(ledger, resource, id) ?? podUid) !== podUid);
    if (taken.length > 0)
      differences.push(
        `${resource} ${idsOf(taken)} is in the checkpoint for two pods, one is ${podUid}`,
      );
    else ledger = withHolding(ledger, holding);
  }
  return { ledger, differences };
}

/** Sets the ledger right by the notes of what runs. */
export function reconcileRunning(written: Ledger, running: readonly RunningContainer[]): Recovered {
  const differences: string[] = [];
  const alive = new Set(running.map(({ podUid, container }) => `${podUid} ${container}`));
  let ledger = written;
  for (const { podUid, container, note } of running) {
    const noted = note === undefined ? [] : (readNote(note) ?? []);
    for (const { resource, devices } of noted) {
      const known = holdingsOf(ledger, podUid).find(
        (holding) => holding.container === container && holding.resource === resource,
      );
      if (known && sameIds(known.devices, devices)) continue;
      const freed = freeFrom({ ledger, podUid, resource, devices, alive });
      ledger = freed.ledger;
      appendAll(differences, freed.differences);
      if (freed.left.length === 0) continue;
      differences.push(
        `pod ${podUid} runs ${container} with ${resource} ${idsOf(freed.left)}, which is not in the checkpoint`,
      );
      ledger = withHolding(ledger, {
        podUid,
        container,
        resource,
        devices: freed.left,
        answer: undefined,
        state: "granted",
        since: undefined,
      });
    }
  }
  return { ledger, differences };
}

/** Takes devices that run elsewhere from pods that do not run them; what another one runs too stays with it. */
function freeFrom(claim: {
  readonly ledger: Ledger;
  readonly podUid: PodUid;
  readonly resource: string;
  readonly devices: Holding["devices"];
  readonly alive: ReadonlySet<string>;
}): { readonly ledger: Ledger; readonly left: Holding["devices"]; readonly differences: string[] } {
  const { podUid, resource, devices, alive } = claim;
  const differences: string[] = [];
  const left: Holding["devices"][number][] = [];
  let ledger = claim.ledger;
  for (const device of devices) {
    const owner = ownerOf(ledger, resource, device.id);
    if (owner === undefined || owner === podUid) {
      left.push(device);
      continue;
    }
    const claims = holdingsOf(ledger, owner).filter(
      (holding) =>
        holding.resource === resource && holding.devices.some(({ id }) => id === device.id),
    );
    if (claims.some(({ container }) => alive.has(`${owner} ${container}`))) {
      differences.push(`${resource} ${device.id} runs in two pods: ${owner} and ${podUid}`);
      continue;
    }
    differences.push(
      `${resource} ${device.id} is in the checkpoint for pod ${owner}, but runs in ${podUid}`,
    );
    ledger = releaseContainers(ledger, owner, new Set(claims.map(({ container }) => container)));
    left.push(device);
  }
  return { ledger, left, differences };
}

/** Containers that may run with unrecorded devices, by pod: checked as soon as their specs are known. */
export function unaccountedContainers(
  ledger: Ledger,
  running: readonly RunningContainer[],
): ReadonlyMap<PodUid, ReadonlySet<string>> {
  const noted = new Set(
    allHoldings(ledger).map(({ podUid, container }) => `${podUid} ${container}`),
  );
  const open = running.filter(
    ({ podUid, container, note }) => note === undefined && !noted.has(`${podUid} ${container}`),
  );
  return new Map(
    [...Map.groupBy(open, ({ podUid }) => podUid)].map(([podUid, list]) => [
      podUid,
      new Set(list.map(({ container }) => container)),
    ]),
  );
}

function sameIds(a: Holding["devices"], b: Holding["devices"]): boolean {
  return a.length === b.length && a.every(({ id }, i) => b[i]?.id === id);
}

function idsOf(devices: Holding["devices"]): string {
  return devices.map(({ id }) => id).join(", ");
}
