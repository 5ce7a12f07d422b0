// pure

import { FIELDS } from "../config/fields/fields.ts";
import { encodeConfig } from "../config/file/encode-config.ts";
import type { HardeningFinding } from "../config/hardening.ts";
import type { LoadedConfig } from "../config/load.ts";
import { formatOrigin, type Origin } from "../config/origins.ts";
import type { ReleaseChange } from "../config/release-review.ts";
import { getAt } from "../config/tree.ts";
import { renderTable, type TableOptions } from "./tables/table.ts";

/** One field with its value and where that came from. */
interface FieldView {
  readonly field: string;
  readonly value: unknown;
  /** `default`, `file:line`, or `--flag`. */
  readonly origin: string;
}

/** Every field that has a value, in the order of the documentation. */
export function fieldViews({ config, origins }: LoadedConfig): readonly FieldView[] {
  const encoded = encodeConfig(config);
  return FIELDS.flatMap(({ path }) => {
    const value = getAt(encoded, path);
    if (value === undefined) return [];
    return [{ field: path, value, origin: originText(origins.get(path)) }];
  });
}

function originText(origin: Origin | undefined): string {
  if (origin === undefined) return "default";
  const line = "line" in origin && origin.line !== undefined ? `:${origin.line}` : "";
  return `${formatOrigin(origin)}${line}`;
}

/** The fields as a table; what is not a default stands out. */
export function renderFieldViews(
  views: readonly FieldView[],
  options: TableOptions,
): readonly string[] {
  const style = ({ origin }: FieldView) => (origin === "default" ? undefined : "bold");
  return renderTable(
    [
      { title: "FIELD", value: ({ field }) => field, style },
      { title: "VALUE", value: ({ value }) => valueText(value), style },
      { title: "ORIGIN", value: ({ origin }) => origin, style },
    ],
    views,
    options,
  );
}

const HOLDS_STYLE = { yes: "green", no: "yellow", "n/a": "dim" } as const;

/** Recommendations with what to do where one is not followed. */
export function renderFindings(
  findings: readonly HardeningFinding[],
  options: TableOptions,
): readonly string[] {
  return renderTable<HardeningFinding>(
    [
      { title: "CHECK", value: ({ id }) => id },
      {
        title: "HOLDS",
        value: ({ holds }) => holds,
        style: ({ holds }) => HOLDS_STYLE[holds],
      },
      { title: "RECOMMENDED", value: ({ advice }) => advice },
    ],
    findings,
    options,
  );
}

/** What changes from one release to the next. */
export function renderChanges(
  changes: readonly ReleaseChange[],
  options: TableOptions,
): readonly string[] {
  if (changes.length === 0) return ["Nothing changes from Kubernetes 1.36 to 1.37."];
  return renderTable<ReleaseChange>(
    [
      { title: "SETTING", value: ({ setting }) => setting },
      { title: "1.36", value: ({ in136 }) => in136 },
      { title: "1.37", value: ({ in137 }) => in137 },
      { title: "EFFECT", value: ({ effect }) => effect },
    ],
    changes,
    options,
  );
}

function valueText(value: unknown): string {
  if (value === "") return '""';
  return typeof value === "string" ? value : JSON.stringify(value);
}
