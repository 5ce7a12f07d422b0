// pure
/** The manifest of a component, which may be one that a user has damaged. */
import { parseYaml, YamlError, type YamlValue } from "../../api/text/yaml.ts";

/** Its document, or why it cannot be read. */
export function readManifest(
  text: string,
): { readonly document: YamlValue | undefined } | { readonly problem: string } {
  try {
    return { document: parseYaml(text)[0]?.value };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { problem: error.message };
  }
}
