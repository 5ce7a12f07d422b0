import { sha256Base64 } from "../../outside/digest.ts";
import { HttpProblem } from "../http-problem.ts";

/** Reads a file of the page by its name. */
export type ReadAsset = (name: string) => Promise<Uint8Array>;

/** The document of the page, and the policy under which a browser runs it. */
export interface PageDocument {
  readonly plain: Uint8Array;
  readonly brotli: Uint8Array;
  readonly policy: string;
}

/** Content security policy: what the agent itself serves, no frames, no script or style. */
const BASE_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The policy of every answer but the document. */
export const POLICY = BASE_POLICY.join("; ");

/** The document as it was built, read once. */
export function documentReader(readAsset: ReadAsset): () => Promise<PageDocument> {
  let read: Promise<PageDocument> | undefined;
  return async () => {
    read ??= readDocument(readAsset);
    try {
      return await read;
    } catch (error) {
      read = undefined;
      throw error;
    }
  };
}

async function readDocument(readAsset: ReadAsset): Promise<PageDocument> {
  const [plain, brotli] = await Promise.all(["index.html", "index.html.br"].map(readAsset));
  if (plain === undefined || brotli === undefined) throw new HttpProblem(404, "no page");
  return { plain, brotli, policy: documentPolicy(new TextDecoder().decode(plain)) };
}

/** Allows the script and the styles that stand in the document, by their hashes, and no others. */
export function documentPolicy(html: string): string {
  const [, styles = ""] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
  const [, script = ""] = /<script type="module">([\s\S]*?)<\/script>/.exec(html) ?? [];
  return [
    ...BASE_POLICY,
    `script-src 'sha256-${sha256Base64(script)}'`,
    `style-src 'sha256-${sha256Base64(styles)}'`,
  ].join("; ");
}

/** Whether a browser takes Brotli (RFC 9110, 12.5.3). */
export function acceptsBrotli(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? "").split(",").some((each) => {
    const [coding = "", weight = ""] = each.split(";").map((part) => part.trim());
    return coding === "br" && !/^q=0(\.0*)?$/.test(weight);
  });
}
