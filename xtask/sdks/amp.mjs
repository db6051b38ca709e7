// Reads a run by Amp's official SDK for TypeScript and says how many messages came, and when the first one did.
import { execute } from "@sourcegraph/amp-sdk";

let count = 0;
let first = 0;
const started = performance.now();
for await (const _ of execute({ prompt: "go" })) {
  count += 1;
  first ||= performance.now() - started;
}
console.log(count, Math.round(first * 1000));
