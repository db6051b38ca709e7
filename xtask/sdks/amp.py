"""Reads a run by Amp's official SDK for Python and says how many messages came, and when the first one did."""

import asyncio
import time

from amp_sdk import execute


async def main():
    count, first, started = 0, 0.0, time.perf_counter()
    async for _ in execute("go"):
        count += 1
        first = first or time.perf_counter() - started
    print(count, round(first * 1e6))


asyncio.run(main())
