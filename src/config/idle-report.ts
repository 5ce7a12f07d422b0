// pure
import type { IdleSetting } from "./assemble.ts";
import { formatOrigin } from "./origins.ts";

/** Lines for the log at start about settings that change nothing; empty when there are none. */
export function reportIdleSettings(settings: readonly IdleSetting[]): readonly string[] {
  const named = (effect: IdleSetting["effect"]) =>
    settings
      .filter((setting) => setting.effect === effect)
      .map(({ path, origin }) => `${path} (${formatOrigin(origin)})`)
      .join(", ");
  const planned = named("planned");
  const inert = named("inert");
  return [
    ...(planned === "" ? [] : [`these settings have no effect in nodelet yet: ${planned}`]),
    ...(inert === "" ? [] : [`these settings have no effect in any kubelet: ${inert}`]),
  ];
}
