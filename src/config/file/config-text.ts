// pure
import { parseYamlDocument, YamlError } from "../../api/text/yaml.ts";
import { plain } from "../problem.ts";
import { type DecodedConfig, decodeConfig } from "./decode-config.ts";
import { fieldLines, lineOfField } from "./field-lines.ts";

/** A configuration has at most some KiB; more is a mistake. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

const LIMITS = {
  maxBytes: MAX_CONFIG_BYTES,
  maxDocuments: 2,
  maxDepth: 32,
  maxNodes: 50_000,
};

/** A file's text with its path. */
export interface ConfigText {
  readonly path: string;
  readonly text: string;
}

/** A file, checked, with the lines its fields stand on. */
interface DecodedText extends DecodedConfig {
  readonly lineOf: (path: string) => number | undefined;
}

/** Reads and checks one YAML or JSON file, see `decodeConfig`. Never throws for invalid text. */
export function decodeConfigText(file: ConfigText, keepNull: boolean): DecodedText {
  const source = file.path;
  const lines = fieldLines(file.text);
  const lineOf = (path: string) => lineOfField(lines, path);
  if (file.text.trim() === "") {
    return { ...decodeConfig(null, { source, keepNull }), lineOf };
  }
  try {
    const { value } = parseYamlDocument(file.text, LIMITS);
    return { ...decodeConfig(value, { source, keepNull, lineOf }), lineOf };
  } catch (thrown) {
    if (!(thrown instanceof YamlError)) throw thrown;
    const place = thrown.line === 0 ? { source } : { source, line: thrown.line };
    return { fields: {}, problems: [{ ...plain("", thrown.message), place }], lineOf };
  }
}
