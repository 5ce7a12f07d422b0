/**
 * systemd as the keeper of cgroups: slices made, limited and removed by name. `connect-systemd.ts`
 * speaks to it by D-Bus; tests bring their own.
 */

/** One property of a unit, with its D-Bus type: number, text, flag, list of texts or bytes. */
export type UnitProperty =
  | { readonly name: string; readonly type: "t"; readonly value: bigint }
  | { readonly name: string; readonly type: "s"; readonly value: string }
  | { readonly name: string; readonly type: "b"; readonly value: boolean }
  | { readonly name: string; readonly type: "as"; readonly value: readonly string[] }
  | { readonly name: string; readonly type: "ay"; readonly value: readonly number[] };

/**
 * Units of systemd. Every call may throw `OutsideError`: `notFound` for a unit that systemd does not know,
 * `denied`, `invalid` for a property it does not take, `unavailable` when it cannot be reached.
 */
export interface SystemdUnits {
  /** The major version, e.g. 252. */
  version(): Promise<number>;
  /** Starts a transient unit and waits until it is active. One that is there is left as it is. */
  start(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Changes properties of a loaded unit until the next boot. */
  setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Ends all processes of the unit and forgets it; one that is not there is fine. */
  stop(unit: string): Promise<void>;
}
