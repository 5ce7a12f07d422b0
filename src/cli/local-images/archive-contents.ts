// pure
/** Names of the images in an archive, out of the file that lists them. */
import { normalImageName } from "../../api/text/image-reference.ts";
import { CliError } from "../../present/cli-error.ts";

/** The list of images: an OCI image index (image-spec), or docker's manifest.json. */
export type ArchiveContents =
  | { readonly kind: "oci"; readonly index: unknown }
  | { readonly kind: "docker"; readonly manifest: unknown };

/** Full names of images in an OCI index: containerd's own annotation, and the one of the image spec. */
const FULL_NAME = "io.containerd.image.name";
const REF_NAME = "org.opencontainers.image.ref.name";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];

/** The images in the order of the list, `undefined` for one without a name. Throws `CliError` when there is none. */
export function entryNames(contents: ArchiveContents): readonly (string | undefined)[] {
  const names =
    contents.kind === "oci"
      ? manifestsOf(contents.index).map(ociName)
      : listOf(contents.manifest).flatMap(dockerNames);
  if (names.length === 0) throw new CliError("the archive contains no images");
  return names;
}

/** Manifests of images; what is attached to an image (attestations, signatures) is none. */
function manifestsOf(index: unknown): readonly Fields[] {
  return listOf(fieldsOf(index)["manifests"]).filter(
    ({ annotations }) => fieldsOf(annotations)["vnd.docker.reference.type"] === undefined,
  );
}

function ociName({ annotations }: Fields): string | undefined {
  const { [FULL_NAME]: full, [REF_NAME]: ref } = fieldsOf(annotations);
  if (typeof full === "string" && full !== "") return full;
  // A bare tag names no image.
  return typeof ref === "string" && /[/:@]/.test(ref) ? ref : undefined;
}

function dockerNames({ RepoTags: tags }: Fields): readonly (string | undefined)[] {
  const names = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  return names.length === 0 ? [undefined] : names.map(normalImageName);
}

/** The list with its only image renamed. */
export function namedContents(
  contents: ArchiveContents,
  name: string,
): { readonly list: string; readonly content: Uint8Array } {
  const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  if (contents.kind === "docker") {
    const manifest = listOf(contents.manifest).map((each) => ({ ...each, RepoTags: [name] }));
    return { list: "manifest.json", content: bytes(manifest) };
  }
  const index = fieldsOf(contents.index);
  const images = manifestsOf(index);
  const manifests = listOf(index["manifests"]).map((each) =>
    images.includes(each)
      ? { ...each, annotations: { ...fieldsOf(each["annotations"]), [FULL_NAME]: name } }
      : each,
  );
  return { list: "index.json", content: bytes({ ...index, manifests }) };
}
