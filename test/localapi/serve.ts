// The local API by itself, to be run inside a box: serve.ts FOLDER PORT NODE. Says `serving` and goes on.
import { startLocal } from "./local-api.ts";

const [folder = "", port = "", nodeName = ""] = process.argv.slice(2);
await startLocal({ folder, port: Number(port), nodeName });
console.log("serving");
