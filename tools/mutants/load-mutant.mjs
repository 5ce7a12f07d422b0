// Loads one source file changed: NODELET_MUTANT names it and where its changed text is. Preloaded into tests and, by
// NODE_OPTIONS, into the processes that they start.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const { url, text } = JSON.parse(process.env.NODELET_MUTANT ?? "{}");

if (url !== undefined)
  registerHooks({
    load: (asked, context, nextLoad) =>
      asked === url
        ? { format: "module-typescript", source: readFileSync(text, "utf8"), shortCircuit: true }
        : nextLoad(asked, context),
  });
