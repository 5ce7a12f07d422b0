// pure
/** Format of an answer that the client accepts (the Accept header). */
import { notAcceptable } from "../status-error.ts";

/** A form of answers about objects. */
export interface Form {
  readonly as: "object" | "table" | "metadata";
  /** Of `meta.k8s.io` for tables and metadata: `v1` or `v1beta1`. */
  readonly version: string;
  readonly encoding: "json" | "yaml";
}

/** One entry of an Accept header. */
interface MediaType {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

const PLAIN: Form = { as: "object", version: "v1", encoding: "json" };
const MAX_TYPES = 32;

/** The entries of an Accept header, highest quality first. */
export function mediaTypes(header: string | undefined): readonly MediaType[] {
  const types = (header ?? "")
    .split(",")
    .slice(0, MAX_TYPES)
    .flatMap((entry): readonly MediaType[] => {
      const [type = "", ...rest] = entry.split(";").map((part) => part.trim());
      if (type === "") return [];
      const pairs = rest.map((part) => {
        const [name = "", ...value] = part.split("=");
        return [
          name.trim().toLowerCase(),
          value
            .join("=")
            .trim()
            .replace(/^"(.*)"$/, "$1"),
        ];
      });
      const parameters = Object.fromEntries(pairs) as Readonly<Record<string, string>>;
      return [
        { type: type.toLowerCase(), parameters, quality: Number(parameters["q"] ?? "1") || 0 },
      ];
    });
  return types.toSorted((a, b) => b.quality - a.quality);
}

const FORMS: Readonly<Record<string, Form["as"]>> = {
  Table: "table",
  PartialObjectMetadata: "metadata",
  PartialObjectMetadataList: "metadata",
};

function formOf({ type, parameters }: MediaType): Form | undefined {
  if (type === "*/*" || type === "application/*") return PLAIN;
  const encoding =
    type === "application/json" ? "json" : type === "application/yaml" ? "yaml" : undefined;
  if (!encoding) return undefined;
  const { as: requested, v: version = "v1", g: group } = parameters;
  if (requested === undefined) return { ...PLAIN, encoding };
  const as = FORMS[requested];
  if (!as || group !== "meta.k8s.io" || !["v1", "v1beta1"].includes(version)) return undefined;
  return { as, version, encoding };
}

/** The form to answer in. Throws `StatusError` NotAcceptable. */
export function chooseForm(accept: string | undefined): Form {
  const requested = mediaTypes(accept);
  if (requested.length === 0) return PLAIN;
  for (const type of requested) {
    const form = formOf(type);
    if (form) return form;
  }
  throw notAcceptable(["application/json", "application/yaml"]);
}
