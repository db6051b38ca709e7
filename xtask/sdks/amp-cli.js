// The CLI of the SDK for TypeScript, which starts a program for node out of the package beside itself: plays a recording.
require("node:child_process").spawnSync("cat", [process.env.BENCH_RECORDING], { stdio: ["ignore", "inherit", "inherit"] });
