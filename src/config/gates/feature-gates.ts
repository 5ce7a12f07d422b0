// pure

import { didYouMean } from "../../api/text/nearest.ts";
import { invariant } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import type { ConfigProblem } from "../problem.ts";
import { forbiddenField, invalidValue, plain } from "../problem.ts";
import { LATEST_RELEASE, RELEASES, type Release, releaseOf } from "../release.ts";
import { ACTIVE_GATES, type FeatureGate } from "./feature-gate-table.ts";
import { gateNeeds } from "./gate-needs.ts";
import { gatesOfRelease } from "./release-gates.ts";

/** Switches every alpha gate that is not set by name. */
const ALL_ALPHA = "AllAlpha";
/** Switches every beta gate that is not set by name. */
const ALL_BETA = "AllBeta";

/** Gates as they were set, by name. */
export type GateSettings = { readonly [name: string]: boolean };

/** Which features are on. */
export interface FeatureGates {
  /** Whether the feature is on. A name that is no gate is an `InvariantError`. */
  isEnabled(name: string): boolean;
  /** Every gate with its state, sorted by name. */
  readonly all: readonly { readonly gate: FeatureGate; readonly enabled: boolean }[];
}

/** The gates after `settings`, their problems, and warnings for the user. */
interface ResolvedGates {
  readonly gates: FeatureGates;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/**
 * Applies `settings` (of files and flags together) to the gates of a release. Never throws. Of a configuration that is
 * complete, `gatesInForce` gives the gates.
 */
export function resolveGates(
  settings: GateSettings,
  release: Release = LATEST_RELEASE,
): ResolvedGates {
  const table = gatesOfRelease(release);
  const byName = new Map(table.map((gate) => [gate.name, gate]));
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const chosen = new Map<string, boolean>();
  for (const [name, value] of Object.entries(settings)) {
    if (name === ALL_ALPHA || name === ALL_BETA) continue;
    const gate = byName.get(name);
    if (gate === undefined) {
      problems.push(unknownGate(name, release));
    } else if (gate.locked && value !== gate.default) {
      problems.push(lockedGate(gate, value));
    } else {
      chosen.set(name, value);
      appendAll(warnings, warningsOf(gate, value));
    }
  }
  const enabled = new Map(table.map((gate) => [gate.name, stateOf(gate, chosen, settings)]));
  appendAll(problems, missingNeeds(enabled, release));
  return { gates: gatesOf(table, enabled), problems, warnings };
}

/** The gates of a complete configuration: those of the release that it follows, with what it sets. */
export function gatesInForce(config: Pick<KubeletConfig, "compat" | "featureGates">): FeatureGates {
  return resolveGates(config.featureGates, releaseOf(config.compat)).gates;
}

/** The gates with nothing set. */
export const DEFAULT_GATES: FeatureGates = resolveGates({}).gates;

function stateOf(
  gate: FeatureGate,
  chosen: ReadonlyMap<string, boolean>,
  settings: GateSettings,
): boolean {
  const all = gate.stage === "alpha" ? ALL_ALPHA : gate.stage === "beta" ? ALL_BETA : undefined;
  const byStage =
    all !== undefined && !gate.locked && Object.hasOwn(settings, all) ? settings[all] : undefined;
  return chosen.get(gate.name) ?? byStage ?? gate.default;
}

function gatesOf(
  table: readonly FeatureGate[],
  enabled: ReadonlyMap<string, boolean>,
): FeatureGates {
  return {
    isEnabled(name) {
      const state = enabled.get(name);
      invariant(state !== undefined, `unknown feature gate ${name}`);
      return state;
    },
    all: table.map((gate) => ({ gate, enabled: enabled.get(gate.name) ?? gate.default })),
  };
}

function unknownGate(name: string, release: Release): ConfigProblem {
  return plain(
    `featureGates[${name}]`,
    `unrecognized feature gate: ${name}`,
    removedGateFix(name, release) ?? misspelledGateFix(name, release),
  );
}

/** What to do about a gate that an older release still has. */
function removedGateFix(name: string, release: Release): string | undefined {
  for (const older of RELEASES.slice(0, RELEASES.indexOf(release))) {
    const gate = gatesOfRelease(older).find((each) => each.name === name);
    if (gate === undefined) continue;
    const now = gate.default ? "its feature is always on" : "there is no such feature";
    return `remove it: since Kubernetes ${release} ${now}; --compat=${older} still takes it`;
  }
  return undefined;
}

function misspelledGateFix(name: string, release: Release): string {
  const names = gatesOfRelease(release).map((gate) => gate.name);
  const near = didYouMean(name, [...names, ALL_ALPHA, ALL_BETA].sort());
  return near === "" ? `remove it: Kubernetes ${release} has no such gate` : near;
}

function lockedGate(gate: FeatureGate, value: boolean): ConfigProblem {
  return invalidValue(
    `featureGates[${gate.name}]`,
    value,
    `cannot set feature gate ${gate.name} to ${value}, feature is locked to ${gate.default}`,
    "remove it",
  );
}

function warningsOf(gate: FeatureGate, value: boolean): readonly string[] {
  const warnings: string[] = [];
  if (gate.stage === "GA") {
    warnings.push(
      `Setting GA feature gate ${gate.name}=${value}. It will be removed in a future release.`,
    );
  }
  if (gate.stage === "deprecated") {
    warnings.push(
      `Setting deprecated feature gate ${gate.name}=${value}. It will be removed in a future release.`,
    );
  }
  if (!gate.locked && !ACTIVE_GATES.has(gate.name)) {
    warnings.push(`feature gate ${gate.name} has no effect in nodelet`);
  }
  return warnings;
}

function missingNeeds(
  enabled: ReadonlyMap<string, boolean>,
  release: Release,
): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [name, needs] of gateNeeds(release)) {
    const missing = needs.filter((need) => enabled.get(need) !== true);
    if (enabled.get(name) !== true || missing.length === 0) continue;
    problems.push(
      forbiddenField(
        `featureGates[${name}]`,
        `${name} is enabled, but depends on features that are disabled: [${missing.join(" ")}]`,
        `enable ${missing.join(" and ")}, or disable ${name}`,
      ),
    );
  }
  return problems;
}
