import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Held by whoever changes node_modules/ or dist/. */
export const SETUP_LOCK = join(ROOT, ".cache", "setup.lock");
