// pure

import { renderTable } from "../../present/tables/table.ts";
import type { Paint, Style } from "../../present/text.ts";
import { type Check, summarizeChecks } from "./checks.ts";

const STYLE: Readonly<Record<Check["level"], Style>> = { ok: "green", warn: "yellow", fail: "red" };

/** The verdicts on the machine, what to do below each that is not `ok`, and their sum. */
export function renderChecks(checks: readonly Check[], paint: Paint): readonly string[] {
  const lines = renderTable<Check>(
    [
      { title: "", value: ({ level }) => level, style: ({ level }) => STYLE[level] },
      { title: "", value: ({ name }) => name },
      { title: "", value: ({ found }) => found },
    ],
    checks,
    { paint, headers: false },
  );
  const indented = lines.flatMap((line, i) => {
    const fix = checks[i]?.fix ?? "";
    return fix === "" ? [line] : [line, paint("dim", `       ${fix}`)];
  });
  return [...indented, paint("bold", summarizeChecks(checks))];
}
