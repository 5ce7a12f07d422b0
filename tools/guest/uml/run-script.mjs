// Runs a script with arguments that came as one word: base64 of the JSON list of its path and its arguments.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [script, ...words] = JSON.parse(Buffer.from(process.argv[2], "base64").toString());
const path = resolve(script);
process.argv.splice(1, process.argv.length, path, ...words);
await import(pathToFileURL(path).href);
