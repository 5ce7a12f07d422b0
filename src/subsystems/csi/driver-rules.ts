import type { CSIDriver } from "../../api/generated/types.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import { CSI_DRIVERS, type ObjectSource } from "../../outside/kube/kube.ts";
import { transient } from "./csi-error.ts";

/** Rules of the cluster for a driver (`CSIDriver`); without an object those that hold then. */
export interface DriverRules {
  readonly attachRequired: boolean;
  readonly podInfo: boolean;
  readonly republishes: boolean;
  readonly tokens: NonNullable<CSIDriver["spec"]["tokenRequests"]>;
  /** Tokens are given as secrets, and not in the context of the volume. */
  readonly tokensInSecrets: boolean;
  /** `undefined` of an object that says none, which no API server stores. */
  readonly groupPolicy: string | undefined;
  /** `undefined` without an object. */
  readonly modes: readonly string[] | undefined;
  /** Volumes may be mounted with the SELinux label of their pod. */
  readonly mountsLabels: boolean;
  /** How often the driver is asked again how many volumes it can have. */
  readonly allocatableSeconds: number | undefined;
}

/** Objects of drivers, followed from the first question about each. */
export class DriverRuleBook {
  readonly #objects: ObjectSource | undefined;
  readonly #changes = new Cell(0);
  readonly #followed = new Map<string, () => void>();
  readonly #known = new Map<string, DriverRules>();

  constructor(objects: ObjectSource | undefined) {
    this.#objects = objects;
  }

  /** Rises whenever the rules for a driver may have changed. */
  get changes(): Reading<number> {
    return this.#changes;
  }

  /** The rules as they were last answered; for what asks often. */
  known(driver: string): DriverRules | undefined {
    return this.#known.get(driver);
  }

  /** The rules. Throws a transient `CsiError` when they cannot be had. */
  async of(driver: string, signal: AbortSignal): Promise<DriverRules> {
    const objects = this.#objects;
    if (!objects) return rulesOf(undefined);
    const place = { namespace: "", name: driver };
    if (!this.#followed.has(driver))
      this.#followed.set(
        driver,
        objects.follow(CSI_DRIVERS, place, (object) => {
          this.#known.set(driver, rulesOf(object));
          this.#changes.set(this.#changes.get() + 1);
        }),
      );
    try {
      const rules = rulesOf(await objects.get(CSI_DRIVERS, place, signal));
      this.#known.set(driver, rules);
      return rules;
    } catch (error) {
      signal.throwIfAborted();
      throw transient(
        `error getting CSIDriver object for driver ${driver}: ${messageOf(error)}`,
        error,
      );
    }
  }
}

function rulesOf(object: CSIDriver | undefined): DriverRules {
  const spec = object?.spec;
  return {
    attachRequired: spec?.attachRequired ?? true,
    podInfo: spec?.podInfoOnMount ?? false,
    republishes: spec?.requiresRepublish ?? false,
    tokens: spec?.tokenRequests ?? [],
    tokensInSecrets: spec?.serviceAccountTokenInSecrets ?? false,
    groupPolicy: object ? spec?.fsGroupPolicy : "ReadWriteOnceWithFSType",
    modes: object ? (spec?.volumeLifecycleModes ?? ["Persistent"]) : undefined,
    mountsLabels: spec?.seLinuxMount ?? false,
    allocatableSeconds: spec?.nodeAllocatableUpdatePeriodSeconds,
  };
}
