"""Reads a run by claude-agent-sdk and says how many messages came, and when the first one did. The CLI is the argument."""

import asyncio
import sys
import time

from claude_agent_sdk import ClaudeAgentOptions, query


async def main():
    count, first, started = 0, 0.0, time.perf_counter()
    async for _ in query(prompt="go", options=ClaudeAgentOptions(cli_path=sys.argv[1])):
        count += 1
        first = first or time.perf_counter() - started
    print(count, round(first * 1e6))


asyncio.run(main())
