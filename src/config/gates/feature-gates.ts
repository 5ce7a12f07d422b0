// pure

import { didYouMean } from "../../api/text/nearest.ts";
import { invariant } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { ConfigProblem } from "../problem.ts";
import { forbiddenField, invalidValue, plain } from "../problem.ts";
import { ACTIVE_GATES, FEATURE_GATES, type FeatureGate, GATE_NEEDS } from "./feature-gate-table.ts";

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

const BY_NAME: ReadonlyMap<string, FeatureGate> = new Map(
  FEATURE_GATES.map((gate) => [gate.name, gate]),
);

/** Every name that may be set: the gates, `AllAlpha` and `AllBeta`. */
const GATE_NAMES: readonly string[] = [...BY_NAME.keys(), ALL_ALPHA, ALL_BETA].sort();

/** Applies `settings` (of files and flags together) to the gates of Kubernetes 1.36. Never throws. */
export function resolveGates(settings: GateSettings): ResolvedGates {
  const problems: ConfigProblem[] = [];
  const warnings: string[] = [];
  const chosen = new Map<string, boolean>();
  for (const [name, value] of Object.entries(settings)) {
    if (name === ALL_ALPHA || name === ALL_BETA) continue;
    const gate = BY_NAME.get(name);
    if (gate === undefined) {
      problems.push(unknownGate(name));
    } else if (gate.locked && value !== gate.default) {
      problems.push(lockedGate(gate, value));
    } else {
      chosen.set(name, value);
      appendAll(warnings, warningsOf(gate, value));
    }
  }
  const enabled = new Map(
    FEATURE_GATES.map((gate) => [gate.name, stateOf(gate, chosen, settings)]),
  );
  appendAll(problems, missingNeeds(enabled));
  return { gates: gatesOf(enabled), problems, warnings };
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

function gatesOf(enabled: ReadonlyMap<string, boolean>): FeatureGates {
  return {
    isEnabled(name) {
      const state = enabled.get(name);
      invariant(state !== undefined, `unknown feature gate ${name}`);
      return state;
    },
    all: FEATURE_GATES.map((gate) => ({ gate, enabled: enabled.get(gate.name) ?? gate.default })),
  };
}

function unknownGate(name: string): ConfigProblem {
  const near = didYouMean(name, GATE_NAMES);
  return plain(
    `featureGates[${name}]`,
    `unrecognized feature gate: ${name}`,
    near === "" ? "remove it: Kubernetes 1.36 has no such gate" : near,
  );
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

function missingNeeds(enabled: ReadonlyMap<string, boolean>): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [name, needs] of GATE_NEEDS) {
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
