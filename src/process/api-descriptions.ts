/** The texts of the Kubernetes API reference, as the package ships them. */
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { Descriptions } from "../localapi/openapi/definitions.ts";
import { readPackageFile } from "./package-root.ts";

const FILE = "assets/api-descriptions.json.br";

/**
 * Texts of types and fields, by type. Read each time and never kept: few clients ask, and the texts would take
 * more memory than the rest of the API. Rejects when the file is missing or damaged.
 */
export async function readApiDescriptions(): Promise<Descriptions> {
  // Not before: the first use of a name loads Node's module (tools/lazy-modules.mjs).
  const bytes = await promisify(brotliDecompress)(readPackageFile(FILE));
  return JSON.parse(bytes.toString("utf8")) as Descriptions;
}
