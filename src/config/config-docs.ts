// pure
import type { JsonValue } from "../api/generated/types.ts";
import type { Field, FieldType } from "./fields/field-types.ts";
import { countEffects, FIELDS } from "./fields/fields.ts";
import { NODE_FIELDS } from "./fields/fields-node.ts";
import { POD_FIELDS } from "./fields/fields-pods.ts";
import { SERVING_FIELDS } from "./fields/fields-serving.ts";
import { FLAGS } from "./flags/flag-table.ts";
import { REMOVED_FLAGS } from "./flags/removed-flags.ts";
import { ACTIVE_GATES, FEATURE_GATES, type FeatureGate } from "./gates/feature-gate-table.ts";
import { gatesOfRelease } from "./gates/release-gates.ts";

/** Generated parts of `docs/configuration.md` by the name of their marker. */
type DocSection = "fields" | "gates" | "flags";

/** The text between the markers of one generated part, Markdown. */
function renderDocSection(section: DocSection): string {
  switch (section) {
    case "fields":
      return renderFields();
    case "gates":
      return renderGates();
    case "flags":
      return renderFlags();
    default:
      return section satisfies never;
  }
}

/** `document` with every generated part brought up to date. Markers: `<!-- begin NAME -->`, `<!-- end NAME -->`. */
export function withGeneratedSections(document: string): string {
  return document.replace(
    /(<!-- begin (fields|gates|flags) -->\n)[\s\S]*?(<!-- end \2 -->)/g,
    (_, begin: string, name: DocSection, end: string) => `${begin}${renderDocSection(name)}${end}`,
  );
}

const GROUPS: readonly (readonly [title: string, fields: readonly Field[]])[] = [
  ["Serving, access and logging", SERVING_FIELDS],
  ["Pods, images and containers", POD_FIELDS],
  ["Node, resources and eviction", NODE_FIELDS],
];

function renderFields(): string {
  const { active, planned, inert } = countEffects();
  const summary = `${FIELDS.length} fields: ${active} active, ${planned} planned, ${inert} inert.`;
  const tables = GROUPS.map(([title, fields]) =>
    table(
      `### ${title}`,
      ["Field", "Type", "Default", "Effect", "What it does"],
      fields.map((field) => [
        `\`${field.path}\``,
        typeName(field.type),
        field.default === undefined ? "" : code(field.default),
        field.effect,
        field.rule === "" ? field.about : `${field.about} Rule: ${field.rule}.`,
      ]),
    ),
  );
  return [summary, ...tables].join("\n\n").concat("\n");
}

function renderGates(): string {
  const before = new Map(gatesOfRelease("1.36").map((gate) => [gate.name, gate]));
  const rows = FEATURE_GATES.map((gate) => [
    `\`${gate.name}\``,
    gate.stage,
    String(gate.default),
    gate.locked ? "yes" : "",
    changedGate(gate, before.get(gate.name)),
    ACTIVE_GATES.has(gate.name) ? "active" : "",
  ]);
  const now = new Set(FEATURE_GATES.map(({ name }) => name));
  const gone = [...before.values()]
    .filter(({ name }) => !now.has(name))
    .map((gate) => [
      `\`${gate.name}\``,
      gate.stage,
      String(gate.default),
      gate.locked ? "yes" : "",
    ]);
  return [
    table(
      "### Gates of Kubernetes 1.37",
      ["Gate", "Stage", "Default", "Locked", 'With `compat: "1.36"`', "In nodelet"],
      rows,
    ),
    table("### Gates that only 1.36 has", ["Gate", "Stage in 1.36", "Default", "Locked"], gone),
  ]
    .join("\n\n")
    .concat("\n");
}

/** What a gate is with the release before, where that differs. */
function changedGate(now: FeatureGate, before: FeatureGate | undefined): string {
  const isSame =
    before?.stage === now.stage && before.default === now.default && before.locked === now.locked;
  if (before === undefined || isSame) return "";
  return [before.stage, String(before.default), ...(before.locked ? ["locked"] : [])].join(", ");
}

function renderFlags(): string {
  const removed = new Set(REMOVED_FLAGS.map(({ name }) => name));
  const rows = FLAGS.filter(({ name }) => !removed.has(name)).map((flag) => [
    `\`--${flag.name}\``,
    flag.target.kind === "config" ? `\`${flag.target.path}\`` : "flag only",
    flag.deprecated === undefined ? "" : "deprecated",
  ]);
  const gone = REMOVED_FLAGS.map((flag) => [
    `\`--${flag.name}\``,
    treatment(flag.target.kind),
    flag.target.kind === "refused" ? flag.target.instead : (flag.deprecated ?? ""),
  ]);
  return [
    table("### Flags of Kubernetes 1.37", ["Flag", "Field", "State"], sorted(rows)),
    table(
      "### Flags that Kubernetes removed",
      ["Flag", "Treatment", "Why, or what instead"],
      sorted(gone),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function treatment(kind: "config" | "flag" | "ignored" | "refused"): string {
  return kind === "config" || kind === "flag" ? "still works" : kind;
}

function sorted(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return rows.toSorted((a, b) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1));
}

function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [...(title === "" ? [] : [title, ""]), ...lines].join("\n");
}

function code(value: JsonValue): string {
  if (value === "") return "empty";
  if (Array.isArray(value) && value.length === 0) return "none";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text === "{}" ? "none" : `\`${text}\``;
}

function typeName(type: FieldType): string {
  switch (type.kind) {
    case "string":
      return "text";
    case "list":
      return `list of ${typeName(type.of)}`;
    case "map":
      return `map to ${typeName(type.of)}`;
    case "object":
      return `{${Object.keys(type.members).join(", ")}}`;
    case "boolean":
    case "integer":
    case "number":
    case "quantity":
    case "duration":
      return type.kind;
    default:
      return type satisfies never;
  }
}
